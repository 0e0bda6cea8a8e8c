"""Collect the sketch of a run: any cut into blocks, in any order, gives the same one.

A block does not know the number of its first line, so it keeps a summary of each line,
of a few bytes; a total puts these into bins.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evalstream.model.data_class import DataClass, NamedTuple, field
from evalstream.model.finding import Severity
from evalstream.model.sketch import LINEAR, LOG, Histogram, Sketch, Strip
from evalstream.stats.tally import FRACTION_BITS, fixed_point

MOST_BINS: Final = 36
"""Bins of a histogram at most: with two to the power of -5 they cover the scores from 0 to 1."""

LARGEST: Final = 1e100
"""Numbers beyond this size are left out as infinite ones are: their sums would not be numbers."""

SMALLEST: Final = 1 / LARGEST
"""Positive numbers below this size are left out of a logarithmic scale: few digits remain there."""

_FINEST: Final = {LINEAR: -10, LOG: -2}
"""The finest width as a power of two: of the width itself, or of the octaves in it."""

_MOST_INDEX: Final = 1 << 48
"""Bins of a higher index are joined; so their edges are exact as numbers of 64 bits."""

_QUARTERS: Final = tuple(2.0 ** (part / 4) for part in range(4))
"""The lower edges of the finest bins of a logarithmic scale from 1 to 2."""


def sketchable(value: object) -> float | None:
    """Return a value that a sketch takes: a number of a usual size; None for anything else.

    True counts as 1 and false as 0.
    """
    if not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if -LARGEST <= number <= LARGEST else None


class Bins(DataClass):
    """Counts by bin; `doublings` says how often the bins of the finest width were joined by two.

    The bins are aligned at 0 (on a logarithmic scale at 1), and joined as long as they are more
    than MOST_BINS from the lowest to the highest number. So the width depends on these two alone.
    `zeros` counts the zeros of a logarithmic scale, which has no place for negative numbers.
    """

    scale: str
    doublings: int = 0
    counts: dict[int, int] = field(default_factory=dict)
    zeros: int = 0

    def add(self, numbers: Mapping[float, int]) -> None:
        """Add numbers, each with how often it occurs; those of no usual size are left out."""
        index, least = (_linear_index, -LARGEST) if self.scale == LINEAR else (_log_index, SMALLEST)
        for number, times in numbers.items():
            if number == 0 and self.scale == LOG:
                self.zeros += times
            if not least <= number <= LARGEST:
                continue
            place = index(number) >> self.doublings
            self.counts[place] = self.counts.get(place, 0) + times
            if len(self.counts) > MOST_BINS or abs(place) > _MOST_INDEX:
                self._join()
        self._join()

    def merge(self, other: Bins) -> None:
        """Add the counts of other numbers on the same scale."""
        if self.doublings < other.doublings:
            self._double(other.doublings - self.doublings)
        shift = self.doublings - other.doublings
        for place, times in other.counts.items():
            self.counts[place >> shift] = self.counts.get(place >> shift, 0) + times
        self.zeros += other.zeros
        self._join()

    def histogram(self) -> Histogram | None:
        """Return the histogram, or None if there is no number in it."""
        if not (self.counts or self.zeros):
            return None
        width = 2.0 ** (self.doublings + _FINEST[self.scale])
        if self.scale == LOG:
            width = 2.0**width
        if not self.counts:
            return Histogram(self.scale, width, 0, (), self.zeros)
        low, high = min(self.counts), max(self.counts)
        counts = tuple(self.counts.get(place, 0) for place in range(low, high + 1))
        return Histogram(self.scale, width, low, counts, self.zeros)

    def _join(self) -> None:
        if not self.counts:
            return
        low, high, times = min(self.counts), max(self.counts), 0
        while high - low >= MOST_BINS or max(high, -low) > _MOST_INDEX:
            low, high, times = low >> 1, high >> 1, times + 1
        if times:
            self._double(times)

    def _double(self, times: int) -> None:
        joined: dict[int, int] = {}
        for place, count in self.counts.items():
            joined[place >> times] = joined.get(place >> times, 0) + count
        self.counts, self.doublings = joined, self.doublings + times


def _linear_index(number: float) -> int:
    return math.floor(math.ldexp(number, -_FINEST[LINEAR]))


def _log_index(number: float) -> int:
    mantissa, exponent = math.frexp(number)
    return 4 * (exponent - 1) + bisect_right(_QUARTERS, 2 * mantissa) - 1


MOST_COLUMNS: Final = 120
"""Columns of a strip at most; from the second line on there are at least half as many."""

TOKENS: Final = ("input", "output", "total", "reasoning", "cache_read", "cache_write")
"""The kinds of tokens."""

_SCORES: Final = "scores"
_LATENCY: Final = "latency"
_AMOUNTS: Final = (_LATENCY, *TOKENS)
"""The names of the bins: of scores, of milliseconds, and of each kind of token."""

DIGITS: Final = 9
"""Significant digits of a sum of scores."""

_MOST_AT_ONCE: Final = 255
"""The most findings that a byte counts; a line with more is listed."""


RowFigures = tuple[Any, ...]
"""The figures of a row, each of any JSON type: its score, its milliseconds and its tokens.

The tokens are in the order of TOKENS; None is what it does not say, and the end may be left out.
"""


class BlockSketch(NamedTuple):
    """The profile of the lines of a block; lines count from 0 within the block.

    `rows` has a 1 for each line that is a row, else a 0. `found` counts findings by line for each
    severity that occurs, and `many` lists severity, line and count beside that. `scored` are the
    lines with a score, ascending, and `scores` their scores.
    """

    rows: bytes
    found: Mapping[Severity, bytes]
    many: Sequence[tuple[Severity, int, int]]
    scored: array[int]
    scores: array[float]
    bins: Mapping[str, Bins]


class BlockSketcher:
    """Collects the sketch of a block; lines count from 1."""

    def __init__(self) -> None:
        self._rows = bytearray()
        self._unsure = bytearray()
        self._found: dict[Severity, bytearray] = {}
        self._many: list[tuple[Severity, int, int]] = []
        self._scored, self._scores = array("Q"), array("d")
        self._amounts: list[list[float]] = [[] for _ in _AMOUNTS]

    def note(self, line: int, severity: Severity, times: int) -> None:
        """Count findings of a line."""
        found = self._counts_for(severity, line)
        if found[line - 1] + times > _MOST_AT_ONCE:
            self._many.append((severity, line - 1, times))
        else:
            found[line - 1] += times

    def note_only(self, lines: range, severity: Severity) -> None:
        """Count one finding of each of many lines that have no other."""
        found = self._counts_for(severity, lines.stop - 1)
        found[lines.start - 1 : lines.stop - 1] = b"\1" * len(lines)

    def doubt(self, line: int) -> None:
        """Note that the figures of a line are unknown or uncertain."""
        _reach(self._unsure, line)
        self._unsure[line - 1] = 1

    def is_certain(self, line: int) -> bool:
        """Tell whether nothing is in doubt about the figures of a line."""
        return line > len(self._unsure) or not self._unsure[line - 1]

    def row(self, line: int, figures: RowFigures | None) -> None:
        """Add a row, after those before it; None stands for figures that are not known."""
        _reach(self._rows, line)
        self._rows[line - 1] = 1
        if figures is None:
            return
        score = sketchable(figures[0])
        if score is not None:
            self._scored.append(line - 1)
            self._scores.append(score)
        for numbers, value in zip(self._amounts, figures[1:], strict=False):
            # True and false are not amounts.
            if value.__class__ is int or value.__class__ is float:
                numbers.append(value)

    def _counts_for(self, severity: Severity, line: int) -> bytearray:
        found = self._found.get(severity)
        if found is None:
            found = self._found[severity] = bytearray()
        _reach(found, line)
        return found

    def block(self, lines: int) -> BlockSketch:
        """Return the sketch of the block, which has so many lines."""
        bins = {_SCORES: Bins(LINEAR), **{name: Bins(LOG) for name in _AMOUNTS}}
        for numbers, some in zip((self._scores, *self._amounts), bins.values(), strict=True):
            some.add(Counter(numbers))
        bins = {name: some for name, some in bins.items() if some.histogram() is not None}
        found = {severity: _whole(counts, lines) for severity, counts in self._found.items()}
        rows = _whole(self._rows, lines)
        return BlockSketch(rows, found, self._many, self._scored, self._scores, bins)


def _reach(counts: bytearray, line: int) -> None:
    """Make room for a line; the room at least doubles, so that this is done rarely."""
    if line > len(counts):
        counts.extend(bytes(line))


def _whole(counts: bytearray, lines: int) -> bytes:
    """Return the counts of a block with so many lines."""
    return bytes(counts[:lines]).ljust(lines, b"\0")


class SketchTotal:
    """The sketch of a run while its blocks come, in any order; bounded for any number of rows.

    Sums of scores are whole numbers of a tiny unit, so that they are exact.
    """

    def __init__(self) -> None:
        self.lines = 0
        self._has_blocks = False
        self._doublings = 0
        self._columns: list[list[int]] = [[] for _ in _COLUMNS]
        self._bins: dict[str, Bins] = {}

    def take(self, block: BlockSketch, before: int) -> None:
        """Add a block that begins after so many lines."""
        end = before + len(block.rows)
        if end == before:
            return
        self._has_blocks = True
        self._reach(end)
        for column in range(before >> self._doublings, ((end - 1) >> self._doublings) + 1):
            start = max(column << self._doublings, before) - before
            stop = min((column + 1) << self._doublings, end) - before
            self._add(column, block, start, stop)
        for severity, line, times in block.many:
            self._columns[_OF[severity]][(before + line) >> self._doublings] += times
        for name, bins in block.bins.items():
            self._bins.setdefault(name, Bins(bins.scale)).merge(bins)

    def note(self, line: int, severity: Severity, times: int) -> None:
        """Count findings of a line that a block cannot know; lines count from 1."""
        self._reach(line)
        self._columns[_OF[severity]][(line - 1) >> self._doublings] += times

    def sketch(self) -> Sketch | None:
        """Return the sketch so far, or None if there was no block with a line."""
        if not self._has_blocks:
            return None
        rows, scored, scores, errors, warnings, infos = map(tuple, self._columns)
        sums = tuple(float(f"{one / (1 << FRACTION_BITS):.{DIGITS}g}") for one in scores)
        width, total = 1 << self._doublings, self.lines
        strip = Strip(width, rows, scored, sums, errors, warnings, infos, total)
        shown = {name: bins.histogram() for name, bins in self._bins.items()}
        tokens = {name: one for name in TOKENS if (one := shown.get(name)) is not None}
        return Sketch(strip, shown.get(_SCORES), tokens, shown.get(_LATENCY))

    def _add(self, column: int, block: BlockSketch, start: int, stop: int) -> None:
        first, last = (bisect_left(block.scored, place) for place in (start, stop))
        columns = self._columns
        columns[_ROWS][column] += block.rows.count(1, start, stop)
        columns[_SCORED][column] += last - first
        for score, times in Counter(block.scores[first:last]).items():
            columns[_SUMS][column] += (fixed_point(score) or 0) * times
        for severity, found in block.found.items():
            columns[_OF[severity]][column] += sum(found[start:stop])

    def _reach(self, lines: int) -> None:
        """Make columns for so many lines, and join them as long as there are too many."""
        self.lines = max(self.lines, lines)
        while (self.lines - 1) >> self._doublings >= MOST_COLUMNS:
            self._doublings += 1
            for column in self._columns:
                odd = [*column[1::2], 0]
                column[:] = [one + odd[place] for place, one in enumerate(column[::2])]
        missing = ((self.lines - 1) >> self._doublings) + 1 - len(self._columns[_ROWS])
        for column in self._columns:
            column.extend([0] * missing)


_COLUMNS: Final = ("rows", "scored", "scores", "errors", "warnings", "infos")
_ROWS, _SCORED, _SUMS = range(3)
_OF: Final = {Severity.ERROR: 3, Severity.WARNING: 4, Severity.INFO: 5}
"""The places of the columns of a strip."""
