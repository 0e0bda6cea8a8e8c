"""Repeated rows: found exactly, in order, however much memory there is."""

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import REPORTERS, Row, bounded, bytes_of, line_of, reported, sound_rows, write_run

import evalstream
from evalstream import run_check
from evalstream.identities import BYTES_PER_ROW, Identities, IdentityIndex
from evalstream.spill import Repeat

Entry = tuple[bytes, bytes, int, bool]
"""Key, content, how many blank lines come before, and whether a repeat mark took part."""

HALVES = [bytes(8), b"\1" * 8, b"\1" * 7 + b"\2", bytes(7) + b"\1"]
"""Halves of digests, so that whole digests often share one half and not the other."""

DIGESTS = st.builds(bytes.__add__, st.sampled_from(HALVES), st.sampled_from(HALVES))
ENTRIES = st.lists(st.tuples(DIGESTS, DIGESTS, st.integers(0, 2), st.booleans()), max_size=25)


def naive(entries: Sequence[Entry]) -> list[Repeat]:
    """Find repeats by looking each row up in plain dicts."""
    first: dict[bytes, int] = {}
    contents: dict[tuple[bytes, bytes], int] = {}
    repeats, line = [], 0
    for key, content, blank, marked in entries:
        line += 1 + blank
        if key in first:
            same = contents.get((key, content))
            earlier = first[key] if same is None else same
            repeats.append(Repeat(line, 10 * line, earlier, same is not None, marked))
        first.setdefault(key, line)
        contents.setdefault((key, content), line)
    return repeats


def indexed(
    entries: Sequence[Entry], sizes: Sequence[int], limit: int
) -> tuple[list[Repeat], bool]:
    """Find repeats block by block; say also whether that took the disk."""
    index, repeats, shift = IdentityIndex(limit), [], 0
    rest = list(entries)
    for size in [*sizes, len(rest)]:
        block, rest = rest[:size], rest[size:]
        lines, line = array("Q"), 0
        for _, _, blank, _ in block:
            line += 1 + blank
            lines.append(line)
        identities = Identities(
            b"".join(key for key, _, _, _ in block),
            b"".join(content for _, content, _, _ in block),
            lines,
            array("Q", [10 * (shift + line) for line in lines]),
            bytes(marked for _, _, _, marked in block),
        )
        repeats.extend(index.add(identities, shift))
        shift += line
    repeats.extend(index.late())
    index.close()
    return repeats, index.spilled


@given(entries=ENTRIES, sizes=st.lists(st.integers(0, 9), max_size=6), rows=st.integers(0, 30))
@bounded(max_examples=120)
def test_exactly_the_repeats_are_found(entries: list[Entry], sizes: list[int], rows: int) -> None:
    found, spilled = indexed(entries, sizes, max(1, rows * BYTES_PER_ROW))
    assert found == naive(entries)
    assert spilled == (len(entries) > max(1, rows))


@given(entries=ENTRIES, sizes=st.lists(st.integers(0, 9), max_size=6))
@bounded(max_examples=60)
def test_without_a_bound_nothing_goes_to_disk(entries: list[Entry], sizes: list[int]) -> None:
    assert indexed(entries, sizes, 1 << 28) == (naive(entries), False)


def test_many_rows_on_disk_are_still_in_order() -> None:
    entries = [
        (bytes([number % 97]) * 16, bytes([number % 7]) * 16, 0, True) for number in range(3000)
    ]
    found, spilled = indexed(entries, [100] * 29, 50 * BYTES_PER_ROW)
    assert spilled
    assert found == naive(entries)


def _repeats() -> bytes:
    rows = sound_rows(count=12)
    unmarked = [{**row, "metadata": {}} for row in rows]
    changed = [{**row, "output": {"raw": "another"}} for row in rows[:2]]
    unmarked_changed = [{**row, "output": {"raw": "another"}} for row in unmarked[:4]]
    pieces = [rows, unmarked, changed, rows[:3], unmarked_changed, rows[5:7]]
    return b"".join(map(bytes_of, pieces)) + b"\n{torn\n"


@pytest.mark.parametrize("form", sorted(REPORTERS))
@pytest.mark.parametrize("most", [0, 1, 3, 100])
def test_a_report_is_the_same_with_any_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, most: int
) -> None:
    rows, aggregate = write_run(tmp_path, _repeats())
    monkeypatch.setattr(run_check, "BLOCK_BYTES", 5000)
    plenty = reported(rows, tmp_path, form, aggregate, max_findings=most, jobs=1)
    for limit in (1, 10 * BYTES_PER_ROW, 30 * BYTES_PER_ROW):
        little = reported(
            rows, tmp_path, form, aggregate, max_findings=most, memory_limit=limit, jobs=1
        )
        assert little == plenty
    assert b"ES408" in plenty[1]
    assert b"ES409" in plenty[1]


def repeats(folder: Path, rows: list[Row]) -> list[tuple[str, str, int | None]]:
    """Check rows without an aggregate; return the repeats found."""
    path = folder / "rows.jsonl"
    path.write_bytes(b"".join(map(line_of, rows)))
    report = evalstream.check(path, select=("ES408", "ES409"))
    return [(finding.code, finding.severity.label, finding.line) for finding in report]


def twice(first: dict[str, Any], second: dict[str, Any], **changes: Any) -> list[Row]:
    """Return a row twice, with other metadata and other changes in the second."""
    row = sound_rows(count=1)[0]
    return [{**row, "metadata": first}, {**row, "metadata": second, **changes}]


def test_the_very_same_bytes_are_a_repeated_row(tmp_path: Path) -> None:
    assert repeats(tmp_path, twice({}, {})) == [("ES408", "error", 2)]
    assert repeats(tmp_path, twice({"epoch": 1}, {"epoch": 1})) == [("ES408", "error", 2)]


@pytest.mark.parametrize("mark", ["epoch", "repeat", "trial", "seed"])
@pytest.mark.parametrize("value", [0, 1, "1", "", False])
def test_the_same_repeat_mark_with_other_contents_is_an_error(
    tmp_path: Path, mark: str, value: Any
) -> None:
    rows = twice({mark: value}, {mark: value}, output={"raw": "another"})
    assert repeats(tmp_path, rows) == [("ES409", "error", 2)]


@pytest.mark.parametrize("mark", ["epoch", "repeat", "trial", "seed"])
def test_another_repeat_mark_tells_repeats_apart(tmp_path: Path, mark: str) -> None:
    assert repeats(tmp_path, twice({mark: 1}, {mark: 2})) == []
    assert repeats(tmp_path, twice({mark: "1"}, {mark: "2"}, output={"raw": "another"})) == []


def test_two_marks_count_together(tmp_path: Path) -> None:
    assert repeats(tmp_path, twice({"epoch": 1, "seed": 1}, {"epoch": 1, "seed": 2})) == []


@pytest.mark.parametrize("metadata", [{}, {"epoch": None}, {"subject": "arithmetic"}])
def test_without_a_mark_other_contents_are_a_warning(
    tmp_path: Path, metadata: dict[str, Any]
) -> None:
    rows = twice(metadata, metadata, output={"raw": "another"})
    assert repeats(tmp_path, rows) == [("ES409", "warning", 2)]


@pytest.mark.parametrize(
    "changes",
    [
        {"sample_id": "other"},
        {"evaluation_id": "other"},
        {"evaluation_name": "other"},
        {"evaluation_result_id": "other"},
    ],
)
def test_another_identity_is_no_repeat(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert repeats(tmp_path, twice({}, {}, **changes)) == []


def test_a_number_is_not_the_text_of_it(tmp_path: Path) -> None:
    one, other = twice({}, {}, sample_id="7")
    assert repeats(tmp_path, [{**one, "sample_id": 7}, other]) == []


def test_lines_that_cannot_be_read_are_no_repeats(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"{torn\n\n{torn\n[]\n[]\n")
    report = evalstream.check(path, select=("ES103", "ES109", "ES408", "ES409"))
    assert report.counts == {"ES103": 2, "ES109": 2}


def test_blank_lines_never_repeat(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n\n \n \n" + line_of(sound_rows(count=1)[0]))
    assert list(evalstream.check(path, select=("ES408", "ES409"))) == []
