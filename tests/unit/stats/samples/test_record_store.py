"""The store of records: all of them, part by part, in memory or on disk."""

import errno
import os
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstream.stats.samples.record_store import PARTS, RecordStore, read_together, sort_rows

TYPE = np.dtype([("key", "u8"), ("place", "u8")])
KEYS = st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**63, 2**64 - 1]), max_size=40)


def store_of(keys: list[int], limit: int, size: int = 3) -> RecordStore:
    store = RecordStore(TYPE, "key", limit)
    records = np.array([(key, place) for place, key in enumerate(keys)], TYPE)
    for start in range(0, len(records), size):
        store.add(records[start : start + size])
    store.finish()
    return store


@given(KEYS, st.sampled_from([1, 100, 1 << 20]))
def test_each_part_has_its_records(keys: list[int], limit: int) -> None:
    store = store_of(keys, limit)
    assert store.count == len(keys)
    for part in range(PARTS):
        found = sorted(store.read(part, part + 1)["place"].tolist())
        assert found == [place for place, key in enumerate(keys) if key >> 56 == part]
    assert len(store.read(0, PARTS)) == len(keys)
    store.close()


@given(st.lists(KEYS, min_size=1, max_size=3), st.sampled_from([1, 200, 1 << 20]))
def test_equal_keys_of_several_stores_are_read_together(runs: list[list[int]], most: int) -> None:
    stores = [store_of(keys, 100) for keys in runs]
    seen: set[int] = set()
    counts = [0] * len(runs)
    for parts in read_together(stores, most):
        keys = {key for part in parts for key in part["key"].tolist()}
        assert not keys & seen
        seen |= keys
        counts = [count + len(part) for count, part in zip(counts, parts, strict=True)]
        assert sum(part.nbytes for part in parts) <= most or len({key >> 56 for key in keys}) == 1
    assert counts == [len(keys) for keys in runs]
    for store in stores:
        store.close()


def test_records_beyond_the_limit_are_on_disk_until_the_end() -> None:
    before = len(os.listdir("/dev/fd"))
    store = store_of([*range(1000)], 100)
    assert len(os.listdir("/dev/fd")) == before + 1
    store.close()
    assert len(os.listdir("/dev/fd")) == before


def test_a_store_that_is_dropped_closes_its_file() -> None:
    before = len(os.listdir("/dev/fd"))
    store_of([*range(1000)], 100)
    assert len(os.listdir("/dev/fd")) == before


def test_a_file_that_was_cut_is_an_error() -> None:
    store = store_of([1 << 63] * 1000, 100)
    os.ftruncate(store._fd, 50)
    with pytest.raises(OSError, match="shorter"):
        store.read(0, PARTS)
    store.close()


def test_records_are_whole_after_short_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
    store = store_of([5, 1 << 63, 7], 1)
    assert sorted(store.read(0, PARTS)["key"].tolist()) == [5, 7, 1 << 63]
    store.close()


def test_a_full_disk_is_an_error_and_the_file_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_fd: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = len(os.listdir("/dev/fd"))
    monkeypatch.setattr(os, "write", fail)
    store = RecordStore(TYPE, "key", 1)
    with pytest.raises(OSError, match="No space"):
        store.add(np.zeros(3, TYPE))
    store.close()
    assert len(os.listdir("/dev/fd")) == before


def test_records_that_are_added_take_twice_the_limit() -> None:
    wide, limit = np.dtype([("key", "u8"), ("rest", "u8", (11,))]), 1 << 22
    records = np.zeros(1000, wide)
    tracemalloc.start()
    try:
        store = RecordStore(wide, "key", limit)
        for _ in range(200):
            store.add(records)
        _, peak = tracemalloc.get_traced_memory()
        assert peak < 2.5 * limit
        store.finish()
        held, _ = tracemalloc.get_traced_memory()
        assert held < limit / 10
    finally:
        tracemalloc.stop()
    assert store.count == len(store.read(0, PARTS)) == 200_000
    store.close()


@given(st.lists(st.tuples(*(st.integers(0, 3) for _ in range(3)))), st.booleans())
def test_rows_are_sorted_by_all_their_values(rows: list[tuple[int, ...]], is_mixed: bool) -> None:
    columns = np.array(rows, np.uint64).reshape(len(rows), 3).T
    order = sort_rows(*columns, is_mixed=is_mixed).tolist()
    assert order == sorted(range(len(rows)), key=lambda row: (rows[row], row))
