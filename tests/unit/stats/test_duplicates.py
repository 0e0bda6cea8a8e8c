"""Rows held against earlier ones: found exactly, in order, however much memory there is."""

import hashlib
import itertools
import math
import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import IO, Any, NamedTuple

import pytest
from depth import deep, examples
from each import each
from hypothesis import given
from hypothesis import strategies as st
from rows import REPORTERS, Row, bounded, bytes_of, line_of, reported, sound_rows, write_run

import evalstream
from evalstream.engine import row_pass
from evalstream.model.row_record import ABSENT, RECORD_BYTES, RowRecords, pack
from evalstream.parsing.native.binding import library
from evalstream.stats import coverage, duplicate_index
from evalstream.stats.coverage import MOST_MARKS, Coverage, ResultCoverage
from evalstream.stats.duplicate_index import BYTES_PER_KEY, BYTES_PER_ROW, DuplicateIndex
from evalstream.stats.duplicates import DuplicateKind, DuplicateMatch


class Entry(NamedTuple):
    """A row in a test: what its record is made of, and how many blank lines come before."""

    sample: bytes
    input: bytes
    output: int
    mark: int
    result: int
    place: int
    name: int
    score: float
    variant: int
    blank: int

    @property
    def key(self) -> bytes:
        """What tells the sample, whatever the evaluation_name."""
        return self.sample[8:]

    @property
    def scored(self) -> tuple[str, int] | None:
        """What tells the result: the one that is joined, else the id."""
        if self.place >= 0:
            return "place", self.place
        return ("id", self.result) if self.result else None

    @property
    def content(self) -> int:
        """The digest of the row's bytes, which everything but the blank lines goes into."""
        return int.from_bytes(hashlib.md5(repr(self[:-1]).encode()).digest()[:8])


HALVES = [bytes(8), b"\1" * 8, b"\1" * 7 + b"\2", bytes(7) + b"\1"]
"""Halves of digests, so that whole digests often share one half and not the other."""

DIGESTS = st.builds(bytes.__add__, st.sampled_from(HALVES), st.sampled_from(HALVES))
SMALL = st.integers(0, 2)
ENTRIES = st.lists(
    st.builds(
        Entry,
        sample=DIGESTS,
        input=st.one_of(st.just(ABSENT), DIGESTS),
        output=SMALL,
        mark=SMALL,
        result=SMALL,
        place=st.integers(-1, 2),
        name=SMALL,
        score=st.sampled_from([0.0, 1.0, 0.1, -5e-324, 1e308, math.nan]),
        variant=st.integers(0, 1),
        blank=SMALL,
    ),
    max_size=25,
)


def naive(entries: Sequence[Entry]) -> list[DuplicateMatch]:
    """Find what is odd by comparing each row with all earlier ones."""
    notices: list[DuplicateMatch] = []
    earlier: list[tuple[int, Entry]] = []
    line = 0
    for entry in entries:
        line += 1 + entry.blank
        offset = 10 * line
        for kind, before in odd(entry, earlier):
            notices.append(DuplicateMatch(line, kind, offset, before))
        earlier.append((line, entry))
    return sorted(notices)


def odd(entry: Entry, earlier: list[tuple[int, Entry]]) -> list[tuple[DuplicateKind, int]]:
    """Say what is odd about one row, as the rules' documentation tells it."""
    found: list[tuple[DuplicateKind, int]] = []
    shown = [(line, other) for line, other in earlier if other.input == entry.input != ABSENT]
    found += shared(entry, shown)
    same = [(line, other) for line, other in earlier if other.sample == entry.sample]
    bytes_too = [line for line, other in same if other.content == entry.content]
    if bytes_too:
        return [*found, (DuplicateKind.SAME_BYTES, bytes_too[0])]
    if not same:
        return found
    if ABSENT not in (entry.input, same[0][1].input) and entry.input != same[0][1].input:
        found.append((DuplicateKind.OTHER_INPUT, same[0][0]))
    repeats = [
        line for line, other in same if (other.scored, other.mark) == (entry.scored, entry.mark)
    ]
    if repeats:
        kind = DuplicateKind.SAME_REPEAT if entry.mark else DuplicateKind.UNMARKED_REPEAT
        return [*found, (kind, repeats[0])]
    copies = [(line, other) for line, other in same if other.mark == entry.mark]
    if copies and entry.output and copies[0][1].output not in (0, entry.output):
        found.append((DuplicateKind.OTHER_OUTPUT, copies[0][0]))
    return found


def shared(entry: Entry, shown: list[tuple[int, Entry]]) -> list[tuple[DuplicateKind, int]]:
    """Say what is odd about a row in the light of earlier ones that show the same input."""
    found: list[tuple[DuplicateKind, int]] = []
    named = [line for line, other in shown if other.name == entry.name]
    scored = [(line, other) for line, other in shown if other.scored == entry.scored is not None]
    if entry.sample not in [other.sample for _, other in shown]:
        if named:
            found.append((DuplicateKind.SAME_INPUT, named[0]))
        elif scored and scored[0][1].key != entry.key:
            found.append((DuplicateKind.SAME_INPUT, scored[0][0]))
    repeats = [
        (line, other)
        for line, other in scored
        if (other.key, other.mark) == (entry.key, entry.mark)
    ]
    if repeats and repeats[0][1].sample != entry.sample:
        line, other = repeats[0]
        is_copy = not entry.mark and other.score != entry.score
        found.append(
            (DuplicateKind.RENAMED_COPY if is_copy else DuplicateKind.RENAMED_REPEAT, line)
        )
        return found
    alike = [(line, other) for line, other in scored if other.key == entry.key]
    if alike and alike[0][1].sample != entry.sample:
        found.append((DuplicateKind.RENAMED_COPY, alike[0][0]))
    return found


def naive_cover(entries: Sequence[Entry]) -> dict[int, ResultCoverage]:
    """Count the samples under each place, and what else is told of them."""
    grouped: dict[int, dict[bytes, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    first_seen: dict[bytes, int] = {}
    repeats: dict[tuple[int, bytes], int] = defaultdict(int)
    earlier: list[tuple[int, Entry]] = []
    for entry in entries:
        is_again = AGAIN & {kind for kind, _ in odd(entry, earlier)}
        repeats[entry.place, entry.sample] += not (is_again and grouped[entry.place][entry.sample])
        grouped[entry.place][entry.sample].append(entry)
        first_seen.setdefault(entry.sample, entry.place)
        earlier.append((len(earlier), entry))
    return {
        place: ResultCoverage(
            len(samples),
            sum(first == place for first in first_seen.values()),
            sum(int.from_bytes(sample[:8], "little") for sample in samples) % (1 << 64),
            sum(repeats[place, sample] for sample in samples),
            sum(repeats[place, sample] ** 2 for sample in samples),
            products(list(samples.values())),
            dict(Counter(entry.mark for rows in samples.values() for entry in rows)),
        )
        for place, samples in grouped.items()
    }


def products(samples: Sequence[Sequence[Entry]]) -> int | None:
    """Sum up the products of the scores of all pairs of rows of one sample, in 2**-2148."""
    pairs = [pair for rows in samples for pair in itertools.combinations(rows, 2)]
    if any(math.isnan(row.score) for pair in pairs for row in pair):
        return None
    exact = sum(Fraction(one.score) * Fraction(other.score) for one, other in pairs)
    return int(exact * 2**2148)


AGAIN = {DuplicateKind.SAME_BYTES, DuplicateKind.SAME_REPEAT, DuplicateKind.UNMARKED_REPEAT}
Found = tuple[list[DuplicateMatch], dict[int, ResultCoverage], bool]


def indexed(entries: Sequence[Entry], sizes: Sequence[int], limit: int) -> Found:
    """Find what is odd block by block; say also what is covered, and whether it took the disk.

    The compiled table and the dict must say the same, whatever memory each takes, and wherever the
    records are.
    """
    with pytest.MonkeyPatch.context() as patched:
        for module in (coverage, duplicate_index):
            patched.setattr(module, "WORTH_A_TABLE", 1 << 60)
        found = indexed_once(entries, sizes, limit)
        for module in (coverage, duplicate_index):
            patched.setattr(module, "WORTH_A_TABLE", 0)
        assert indexed_once(entries, sizes, limit)[:2] == found[:2]
        assert indexed_once(entries, sizes, limit, expected=2 * len(entries))[:2] == found[:2]
        # Even the first records go to the file, and then to parts where the tables are too large.
        patched.setattr(duplicate_index, "RECORDS_SHARE", 1 << 60)
        assert indexed_once(entries, sizes, limit)[:2] == found[:2]
    return found


def indexed_once(
    entries: Sequence[Entry], sizes: Sequence[int], limit: int, expected: int = 0
) -> Found:
    """Find what is odd in one of both ways."""
    index, notices, shift = DuplicateIndex(limit), [], 0
    index.expect(expected)
    rest = list(entries)
    for size in [*sizes, len(rest)]:
        block, rest = rest[:size], rest[size:]
        data, line = bytearray(), 0
        for entry in block:
            line += 1 + entry.blank
            data += pack(
                line, entry.sample, entry.input, entry.content, entry.output, entry.mark,
                entry.result, entry.place, 10 * (shift + line), entry.name, entry.score,
            )  # fmt: skip
        notices.extend(index.add(RowRecords(bytes(data)), shift))
        shift += line
    notices.extend(index.late_matches())
    covers = index.coverage.covers
    index.close()
    return notices, covers, index.is_spilled


@given(entries=ENTRIES, sizes=st.lists(st.integers(0, 9), max_size=6), rows=st.integers(0, 30))
@bounded(max_examples=examples(200))
def test_exactly_what_is_odd_is_found(entries: list[Entry], sizes: list[int], rows: int) -> None:
    limit = max(1, rows * BYTES_PER_ROW)
    found, covers, spilled = indexed(entries, sizes, limit)
    assert found == naive(entries)
    assert covers == naive_cover(entries)
    # Records may be in a file; what finds equal ones is in memory.
    assert spilled or 2 * BYTES_PER_KEY * len(entries) <= limit


def test_records_stay_in_memory_where_no_file_can_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[None] = []

    def refuse() -> IO[bytes]:
        tried.append(None)
        raise PermissionError

    monkeypatch.setattr(duplicate_index, "open_temporary_file", refuse)
    monkeypatch.setattr(duplicate_index, "RECORDS_SHARE", 1 << 60)
    entries = [
        Entry(bytes([n % 5]) * 16, bytes([n]) * 16, n, 0, 0, 0, 0, 1.0, 0, 0) for n in range(20)
    ]
    found, covers, is_spilled = indexed_once(entries, [4] * 4, 1 << 20)
    assert (found, covers, is_spilled) == (naive(entries), naive_cover(entries), False)
    assert found
    assert len(tried) == 1


@given(entries=ENTRIES, sizes=st.lists(st.integers(0, 9), max_size=6))
@bounded(max_examples=examples(100))
def test_without_a_bound_nothing_goes_to_disk(entries: list[Entry], sizes: list[int]) -> None:
    assert indexed(entries, sizes, 1 << 28) == (naive(entries), naive_cover(entries), False)


@pytest.mark.parametrize("samples", [5, deep(1), deep(3000)])
def test_many_rows_on_disk_are_still_in_order(samples: int) -> None:
    # All digests end alike, so that parts have to be split again and again.
    entries = [
        Entry(
            sample=(number % samples).to_bytes(4, "little") + b"\7" * 12,
            input=bytes([number % 11 + 1]) * 16,
            output=number % 3,
            mark=number % 2,
            result=number % 5,
            place=number % 2,
            name=number % 3,
            score=number % 4 / 3,
            variant=number % 7,
            blank=0,
        )
        for number in range(1500 if samples > 5 else 500)
    ]
    found, covers, spilled = indexed(entries, [100] * 14, 50 * BYTES_PER_ROW)
    assert spilled
    assert covers == naive_cover(entries)
    assert found == indexed(entries, [1], 1 << 30)[0]
    assert found == naive(entries)


@pytest.mark.parametrize(
    ("samples", "inputs", "contents"),
    [deep(1, 8_000, 8_000), deep(8_000, 1, 8_000), (1, 1, 8_000), deep(1, 1, 1)],
)
def test_memory_is_bounded_whatever_rows_have_in_common(
    samples: int, inputs: int, contents: int
) -> None:
    def records(start: int) -> bytes:
        return b"".join(
            pack(
                line, digest(number % samples), digest(number % inputs + 1), number % contents,
                0, 0, 1, 0, 10 * number, 1, 0.5,
            )
            for line, number in enumerate(range(start, start + 500), 1)
        )  # fmt: skip

    def digest(number: int) -> bytes:
        return hashlib.md5(str(number).encode()).digest()

    index = DuplicateIndex(1 << 18)
    tracemalloc.start()
    for start in range(0, 8_000, 500):
        index.add(RowRecords(records(start)), start)
    for _ in index.late_matches():
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    index.close()
    assert peak < 4 << 20


@pytest.mark.skipif(library() is None, reason="no scanner")
def test_records_in_a_file_are_not_in_memory_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicate_index, "WORTH_A_TABLE", 0)
    index = DuplicateIndex(1 << 20)
    tracemalloc.start()
    for start in range(0, 8_000, 500):
        records = [
            pack(line, digest.ljust(16), digest.ljust(16), line, 0, 0, 1, 0, line, 1, 0.5)
            for line in range(start + 1, start + 501)
            for digest in [str(line).encode()]
        ]
        assert not index.add(RowRecords(b"".join(records)), 0)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not index.is_spilled
    index.close()
    assert kept < 8_000 * RECORD_BYTES / 4


def test_digests_of_samples_wrap_as_those_of_compiled_code() -> None:
    coverage = Coverage()
    coverage.add_firsts([0, 0, 0], [1 << 63, 1 << 63, 5])
    assert coverage.covers[0].digest == 5


@pytest.mark.skipif(library() is None, reason="the tables are not compiled")
def test_room_is_made_for_no_more_rows_than_the_limit_allows() -> None:
    for limit, is_room in ((1 << 20, True), (1 << 18, False)):
        index = DuplicateIndex(limit)
        index.expect(10_000)
        assert (index._samples.size(0) > 100_000) is is_room
        assert index._samples.size(0) + index._inputs.size(0) < limit // 2


def test_rows_of_few_samples_go_to_disk_earlier() -> None:
    def spills(samples: int, limit: int) -> bool:
        data = b"".join(
            pack(
                line, (line % samples).to_bytes(16, "little"), line.to_bytes(16, "little"), line,
                0, line, 1, 0, 10 * line, 1, 0.5,
            )
            for line in range(1, 201)
        )  # fmt: skip
        index = DuplicateIndex(limit)
        for start in range(2):
            index.add(RowRecords(data[start * len(data) // 2 :][: len(data) // 2]), 0)
        index.close()
        return index.is_spilled

    enough = next(limit for limit in range(0, 1 << 20, 1 << 10) if not spills(1000, limit))
    assert spills(1, enough)


def _repeats() -> bytes:
    rows = sound_rows(count=12)
    unmarked = [{**row, "metadata": {}} for row in rows]
    changed = [{**row, "output": {"raw": "another"}} for row in rows[:2]]
    unmarked_changed = [{**row, "output": {"raw": "another"}} for row in unmarked[:4]]
    pieces = [rows, unmarked, changed, rows[:3], unmarked_changed, rows[5:7]]
    return b"".join(map(bytes_of, pieces)) + b"\n{torn\n"


@each(
    ("form", "most"),
    [
        (form, most) if most == 3 or (form, most) == ("jsonl", 0) else deep(form, most)
        for form in sorted(REPORTERS)
        for most in (0, 1, 3, 100)
    ],
)
def test_a_report_is_the_same_with_any_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, most: int
) -> None:
    rows, aggregate = write_run(tmp_path, _repeats())
    monkeypatch.setattr(row_pass, "BLOCK_BYTES", 5000)
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
@each("value", [0, 1, "1", "", False])
def test_the_same_repeat_mark_with_other_contents_is_an_error(
    tmp_path: Path, mark: str, value: Any
) -> None:
    rows = twice({mark: value}, {mark: value}, output={"raw": "another"})
    assert repeats(tmp_path, rows) == [("ES409", "error", 2)]


@each("mark", ["epoch", "repeat", "trial", "seed"])
def test_another_repeat_mark_tells_repeats_apart(tmp_path: Path, mark: str) -> None:
    assert repeats(tmp_path, twice({mark: 1}, {mark: 2})) == []
    assert repeats(tmp_path, twice({mark: "1"}, {mark: "2"}, output={"raw": "another"})) == []


def test_two_marks_count_together(tmp_path: Path) -> None:
    assert repeats(tmp_path, twice({"epoch": 1, "seed": 1}, {"epoch": 1, "seed": 2})) == []


@each("metadata", [{}, {"epoch": None}, {"subject": "arithmetic"}])
def test_without_a_mark_other_contents_are_a_warning(
    tmp_path: Path, metadata: dict[str, Any]
) -> None:
    rows = twice(metadata, metadata, output={"raw": "another"})
    assert repeats(tmp_path, rows) == [("ES409", "warning", 2)]


@each(
    "changes",
    [
        {"sample_id": "other"},
        {"evaluation_id": "other"},
        {"evaluation_name": "other", "input": {"raw": "another", "reference": ["input"]}},
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


def test_many_different_marks_are_not_counted() -> None:
    cover = ResultCoverage()
    for mark in range(MOST_MARKS):
        cover.count_marks({mark: 2})
    assert cover.marks == dict.fromkeys(range(MOST_MARKS), 2)
    cover.count_marks({0: 1})
    assert cover.marks is not None
    cover.count_marks({MOST_MARKS: 1})
    assert cover.marks is None
    cover.count_marks({0: 1})
    assert cover.marks is None
    other = ResultCoverage()
    other.merge(cover)
    assert other.marks is None
