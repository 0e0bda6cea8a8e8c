"""Sorted records: any number of them, in any memory, with and without the compiled library."""

import os
import random
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_reference import cut, without_library

from evalstream.stats.samples.record_sorter import FAN_IN, RecordSorter

WORDS = st.one_of(st.integers(0, 2), st.integers(0, 2**64 - 1), st.integers(2**62, 2**62 + 99))


def packed(records: Sequence[Sequence[int]]) -> bytes:
    return b"".join(struct.pack(f"={len(record)}Q", *record) for record in records)


def result(records: bytes, words: int, limit: int, places: Sequence[int] = ()) -> bytes:
    sorter = RecordSorter(words, limit)
    try:
        for chunk in cut(records, 8 * words, places):
            sorter.add(chunk)
        sorter.finish()
        assert sorter.count == len(records) // (8 * words)
        first = b"".join(sorter.chunks())
        assert b"".join(sorter.chunks()) == first
    finally:
        sorter.close()
    return first


@given(st.data(), st.integers(1, 5), st.sampled_from([1, 300, 1000, 1 << 20]))
def test_records_are_sorted_as_numbers(data: st.DataObject, words: int, limit: int) -> None:
    records = data.draw(st.lists(st.tuples(*[WORDS] * words), max_size=80))
    places = data.draw(st.lists(st.integers(1, 9), max_size=3))
    expected = packed(sorted(records))
    assert result(packed(records), words, limit, places) == expected
    with without_library():
        assert result(packed(records), words, limit, places) == expected


@pytest.mark.parametrize("distinct", [1, 2, 5, 300, 2**63])
@pytest.mark.parametrize("order", ["random", "rising", "falling"])
def test_many_records_are_sorted(distinct: int, order: str) -> None:
    numbers = random.Random(distinct)
    records = [(numbers.randrange(distinct), numbers.randrange(50), at) for at in range(5000)]
    expected = packed(sorted(records))
    if order != "random":
        records.sort(reverse=order == "falling")
    assert result(packed(records), 3, 1 << 22) == expected
    assert result(packed(records), 3, 1 << 14) == expected


@pytest.mark.parametrize("pieces", [FAN_IN, FAN_IN + 1, FAN_IN * FAN_IN + FAN_IN + 7])
def test_thousands_of_pieces_are_merged(pieces: int) -> None:
    numbers = random.Random(1)
    records = [(numbers.randrange(100), at) for at in range(pieces)]
    expected = packed(sorted(records))
    assert result(packed(records), 2, 1) == expected
    with without_library():
        assert result(packed(records[:500]), 2, 1) == packed(sorted(records[:500]))


def test_nothing_is_sorted() -> None:
    assert result(b"", 3, 1000) == b""
    with without_library():
        assert result(b"", 3, 1000) == b""


def test_two_readers_do_not_disturb_each_other() -> None:
    sorter = RecordSorter(1, 1 << 12)
    sorter.add(packed([(number,) for number in range(100_000, 0, -1)]))
    sorter.finish()
    both = list(zip(sorter.chunks(), sorter.chunks(), strict=True))
    sorter.close()
    assert len(both) > 1
    assert all(one == other for one, other in both)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_few_files_are_open_and_all_are_closed() -> None:
    before = descriptors()
    sorter = RecordSorter(1, 1)
    sorter.add(packed([(number,) for number in range(3 * FAN_IN)]))
    sorter.finish()
    chunks = sorter.chunks()
    next(chunks)
    assert descriptors() == before + 1
    sorter.close()
    assert descriptors() == before


def test_the_temporary_folder_is_honoured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    sorter = RecordSorter(1, 1)
    with pytest.raises(FileNotFoundError):
        sorter.add(packed([(1,)]))
    sorter.close()


def test_a_file_that_was_cut_is_noticed() -> None:
    sorter = RecordSorter(1, 1 << 10)
    sorter.add(packed([(number,) for number in range(1000)]))
    sorter.finish()
    assert sorter._file is not None
    os.ftruncate(sorter._file._file.fileno(), 100)
    with pytest.raises(OSError, match="shorter"):
        list(sorter.chunks())
    sorter.close()
