"""Rows of one sample under one result, reduced to their mean: rows in, samples out."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple, Protocol

from evalstream.model.sample_record import ROW_WORDS, SAMPLE_WORDS, SampleFlag
from evalstream.parsing.native import sample_layouts, samples
from evalstream.stats.samples.record_order import Record, pack_records, unpack_records

Buffer = bytes | memoryview

_JUDGED: Final = SampleFlag.RIGHT | SampleFlag.WRONG
_FAILED: Final = int(SampleFlag.FAILED)
_AMBIGUOUS: Final = int(SampleFlag.AMBIGUOUS)
_SEVERAL_PROMPTS: Final = int(SampleFlag.SEVERAL_PROMPTS)
_FLAGS: Final = 7
_NO_GROUP: Final = (1 << 64) - 1
_NAN: Final = 0x7FF8000000000000
_DOUBLE: Final = struct.Struct("=d")
_WORD: Final = struct.Struct("=Q")


class GroupCount(NamedTuple):
    """How many rows a group of a run has, how many samples, and how many of these are repeated."""

    rows: int
    samples: int
    repeated: int


class KeptRow(NamedTuple):
    """A row as it is sorted: the score comes before the line.

    Rows that are shuffled have the same scores in the same order, so that the mean is the same to
    the bit. All members are words, the score as its bits.
    """

    high: int
    low: int
    sample: int
    group: int
    score: int
    line: int
    offset: int
    flags: int
    question: int
    input: int
    prompt: int
    cluster: int


class Keeper(Protocol):
    """Keeps rows that have an identity."""

    @property
    def groups(self) -> int:
        """Number above those of all groups so far."""

    def keep(self, rows: bytes, shift: int, numbers: Sequence[int]) -> Buffer:
        """Return the rows that have an identity, as they are sorted, until the next call.

        Their lines are raised by `shift`. Groups get their number in `numbers`, if there are any,
        and too large a number if it is not there.
        """


class Reducer(Protocol):
    """Reduces sorted rows to samples.

    Each sample is as `SampleScore` says. The mean and the spread are those of Welford's method in
    the order of the scores. A sample is RIGHT or WRONG if all its rows are, and has
    SEVERAL_PROMPTS if two known prompts of its rows differ.
    """

    @property
    def samples(self) -> int:
        """The number of distinct identities with their sample ids so far."""

    def reduce(self, rows: bytes, *, is_last: bool) -> bytes:
        """Reduce the next rows, and return samples that are complete."""

    def groups(self) -> list[tuple[int, int, int]]:
        """Return the counts of each group so far."""


def new_keeper() -> Keeper:
    """Return what keeps the rows of one run."""
    loaded = sample_layouts.sample_joiners()
    return samples.CompiledKeeper(loaded) if loaded is not None else _PythonKeeper()


def new_reducer(groups: int) -> Reducer:
    """Return what reduces the rows of one run, whose groups are below `groups`."""
    loaded = sample_layouts.sample_joiners()
    if loaded is not None:
        return samples.CompiledReducer(loaded, groups)
    return _PythonReducer(groups)


class _PythonKeeper:
    def __init__(self) -> None:
        self.groups = 0

    def keep(self, rows: bytes, shift: int, numbers: Sequence[int]) -> bytes:
        """Return the rows that have an identity, as they are sorted."""
        kept = []
        for row in unpack_records(rows, ROW_WORDS):
            if row[0] or row[1]:
                group = row[3]
                if numbers:
                    group = numbers[group] if group < len(numbers) else _NO_GROUP
                head = (*row[:3], group, row[6], row[4] + shift, row[5])
                kept.append(KeptRow._make((*head, *row[7:])))
        self.groups = max(self.groups, *(row.group + 1 for row in kept), 0)
        return pack_records(kept, ROW_WORDS)


class _PythonReducer:
    def __init__(self, groups: int) -> None:
        self.samples = 0
        self._counts = [[0, 0, 0] for _ in range(groups)]
        # The rows of the last record, and all records of its sample before it.
        self._rows: list[KeptRow] = []
        self._held: list[Record] = []
        self._last: tuple[int, int, int] | None = None
        self._is_ambiguous = False

    def reduce(self, rows: bytes, *, is_last: bool) -> bytes:
        """Reduce the next rows, and return samples that are complete."""
        done: list[Record] = []
        in_order = map(KeptRow._make, unpack_records(rows, ROW_WORDS))
        for key, same in groupby(in_order, lambda row: row[:4]):
            if self._rows and self._rows[0][:4] != key:
                self._close_record()
            if self._last != key[:3]:
                done += self._open_sample((key[0], key[1], key[2]))
            self._rows += same
        if is_last and self._rows:
            self._close_record()
            done += self._release()
        return pack_records(done, SAMPLE_WORDS)

    def groups(self) -> list[tuple[int, int, int]]:
        """Return the counts of each group so far."""
        return [(rows, samples, repeated) for rows, samples, repeated in self._counts]

    def _close_record(self) -> None:
        record = _reduced(self._rows)
        counts = self._counts[record[3]]
        counts[0] += len(self._rows)
        counts[1] += 1
        counts[2] += len(self._rows) > 1
        self._held.append(record)
        self._rows = []

    def _open_sample(self, sample: tuple[int, int, int]) -> list[Record]:
        """Begin the next sample, and return what is known of those before it."""
        self.samples += 1
        is_same = self._last is not None and self._last[:2] == sample[:2]
        self._last = sample
        self._is_ambiguous |= is_same
        done = self._release()
        self._is_ambiguous = is_same
        return done

    def _release(self) -> list[Record]:
        held, self._held = self._held, []
        if self._is_ambiguous:
            return [(*record[:_FLAGS], record[_FLAGS] | _AMBIGUOUS, *record[8:]) for record in held]
        return held


def _reduced(rows: list[KeptRow]) -> Record:
    """Return the record of rows with the same identity, sample id and group."""
    first = min(rows, key=lambda row: (row.line, row.offset))
    judged, failed = int(_JUDGED), 0
    for row in rows:
        judged &= row.flags
        failed += bool(row.flags & _FAILED)
    flags = judged | (_FAILED if failed else 0)
    if len({row.prompt for row in rows if row.prompt}) > 1:
        flags |= _SEVERAL_PROMPTS
    mean, spread, scored = _moments(rows)
    head = (*first[:4], first.line, first.offset, _bits(mean), flags, *first[8:])
    return *head, len(rows), scored, _bits(spread), failed


def _moments(rows: list[KeptRow]) -> tuple[float, float, int]:
    """Return the mean, the sum of squared deviations and the number of the scores."""
    mean, spread, scored = math.nan, 0.0, 0
    for score in _scores(rows):
        scored += 1
        if scored == 1:
            mean = score
            continue
        before = score - mean
        mean += before / scored
        spread += before * (score - mean)
    return mean, spread, scored


def _scores(rows: list[KeptRow]) -> Iterator[float]:
    for row in rows:
        (score,) = _DOUBLE.unpack(_WORD.pack(row.score))
        if not math.isnan(score):
            yield score


def _bits(number: float) -> int:
    """Return the bits of a number, those of one NaN for each."""
    if math.isnan(number):
        return _NAN
    bits: int = _WORD.unpack(_DOUBLE.pack(number))[0]
    return bits
