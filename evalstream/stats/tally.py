"""Mergeable counts over rows and exact sums of their scores, the same for any cut into blocks."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Any, Final, TypeVar

from evalstream.model.data_class import DataClass, field

FRACTION_BITS: Final = 1074
"""Every finite double is a whole number of units of 2**-1074 (IEEE 754)."""

_LARGEST: Final = sys.float_info.max

FEW_VALUES: Final = 4096
"""Number of different scores above which they are counted only where a formula needs them."""

MOST_VALUES: Final = 1 << 20
"""Number of different scores above which they are not counted at all."""

MOST_SUBTASKS: Final = 1000
"""Number of evaluation_names above which no mean over subtasks is computed."""


class ScoreSums(DataClass):
    """Sums over the rows that join one result.

    `rows` counts rows with a finite score, `unscored` the others; `total` and `squares` are in
    units of 2**-1074 and 2**-2148. `sound_rows`, `sound_total` and `sound_squares` leave out rows
    with an error. `judged` counts rows with is_correct, `correct` those where it is true.
    `subtasks` holds rows and total by evaluation_name, None above MOST_SUBTASKS. `least` and `most`
    are the extreme scores. `called` has a bit for each of 0 and 1 called wrong and right, in that
    order, in rows without an error. `values` counts each different score, None above `most_values`
    of them.
    """

    rows: int = 0
    unscored: int = 0
    total: int = 0
    squares: int = 0
    sound_rows: int = 0
    sound_total: int = 0
    sound_squares: int = 0
    judged: int = 0
    correct: int = 0
    subtasks: dict[str, tuple[int, int]] | None = field(default_factory=dict)
    least: float | None = None
    most: float | None = None
    called: int = 0
    values: dict[float, int] | None = field(default_factory=dict)
    most_values: int = FEW_VALUES

    @property
    def joined_rows(self) -> int:
        """Number of rows that join the result."""
        return self.rows + self.unscored

    def add(self, name: Any, score: Any, correct: Any, *, failed: bool, times: int) -> None:
        """Add `times` rows with the same values."""
        if correct.__class__ is bool:
            self.judged += times
            self.correct += times * correct
            if score in (0, 1) and not failed:
                self.called |= 1 << (2 * int(score) + correct)
        units = fixed_point(score)
        if units is None:
            self.unscored += times
            return
        total, squares = times * units, times * _square(units)
        self.rows += times
        self.total += total
        self.squares += squares
        if abs(score) > _LARGEST:
            # No formula can compute with it; its bounds then refute nothing.
            score, self.values = (math.inf if score > 0 else -math.inf), None
        self._add_extremes(score, score)
        self._count_values({score: times})
        if not failed:
            self.sound_rows += times
            self.sound_total += total
            self.sound_squares += squares
        if name.__class__ is str and self.subtasks is not None:
            self._add_subtasks({name: (times, total)})

    def merge(self, other: ScoreSums) -> None:
        """Add the sums of other rows."""
        self.rows += other.rows
        self.unscored += other.unscored
        self.total += other.total
        self.squares += other.squares
        self.sound_rows += other.sound_rows
        self.sound_total += other.sound_total
        self.sound_squares += other.sound_squares
        self.judged += other.judged
        self.correct += other.correct
        self.called |= other.called
        self.most_values = max(self.most_values, other.most_values)
        self._add_extremes(other.least, other.most)
        if other.values is None:
            self.values = None
        else:
            self._count_values(other.values)
        if other.subtasks is None:
            self.subtasks = None
        elif self.subtasks is not None:
            self._add_subtasks(other.subtasks)

    def mean(self) -> Fraction | None:
        """Return the mean of the scores, or None without scores."""
        return _mean(self.total, self.rows)

    def mean_without_errors(self) -> Fraction | None:
        """Return the mean of the scores of rows without an error."""
        return _mean(self.sound_total, self.sound_rows)

    def share_correct(self) -> Fraction | None:
        """Return the share of correct rows among the rows with is_correct."""
        return Fraction(self.correct, self.judged) if self.judged else None

    def mean_over_subtasks(self) -> Fraction | None:
        """Return the mean of the means by evaluation_name, or None for fewer than two names."""
        if self.subtasks is None or len(self.subtasks) < 2:
            return None
        means = [_mean(total, rows) or Fraction(0) for rows, total in self.subtasks.values()]
        return sum(means, Fraction(0)) / len(means)

    def variance(self, *, sample: bool) -> Fraction | None:
        """Return the variance, over n-1 with `sample`, else over n; None with too few rows."""
        return _variance(self.rows, self.total, self.squares, is_sample=sample)

    def variance_without_errors(self, *, sample: bool) -> Fraction | None:
        """Return the variance of the scores of rows without an error."""
        return _variance(self.sound_rows, self.sound_total, self.sound_squares, is_sample=sample)

    def _add_extremes(self, least: float | None, most: float | None) -> None:
        if least is not None and (self.least is None or least < self.least):
            self.least = least
        if most is not None and (self.most is None or most > self.most):
            self.most = most

    def _count_values(self, more: Mapping[float, int]) -> None:
        values = self.values
        if values is None:
            return
        for value, times in more.items():
            values[value] = values.get(value, 0) + times
        if len(values) > self.most_values:
            self.values = None

    def _add_subtasks(self, more: Mapping[str, tuple[int, int]]) -> None:
        subtasks = self.subtasks if self.subtasks is not None else {}
        for name, (rows, total) in more.items():
            before = subtasks.get(name, (0, 0))
            subtasks[name] = (before[0] + rows, before[1] + total)
        if len(subtasks) > MOST_SUBTASKS:
            self.subtasks = None


def fixed_point(score: Any) -> int | None:
    """Return a finite number as a whole number of units of 2**-1074, or None for anything else."""
    if not isinstance(score, (int, float)) or (
        score.__class__ is float and not math.isfinite(score)
    ):
        return None
    numerator, denominator = score.as_integer_ratio()
    return (numerator << FRACTION_BITS) // denominator


def _mean(total: int, rows: int) -> Fraction | None:
    return _fraction(total, rows, FRACTION_BITS) if rows else None


def _variance(rows: int, total: int, squares: int, *, is_sample: bool) -> Fraction | None:
    divisor = rows - is_sample
    if divisor < 1:
        return None
    return _fraction(squares * rows - _square(total), rows * divisor, 2 * FRACTION_BITS)


def _square(units: int) -> int:
    """Return the square; the thousand binary zeros that most totals end with are not multiplied."""
    zeros = (units & -units).bit_length() - 1 if units else 0
    return (units >> zeros) ** 2 << 2 * zeros


def _fraction(total: int, count: int, bits: int) -> Fraction:
    """Return a total in units of 2**-bits divided by a count; most totals are whole numbers."""
    zeros = min((total & -total).bit_length() - 1, bits) if total else bits
    return Fraction(total >> zeros, count << (bits - zeros))


Key = TypeVar("Key", bound=Hashable)


class FirstSeenCounter(dict[Key, list[int]]):
    """Counts of keys, each with the line of its first occurrence; false where it has none."""

    __slots__ = ()

    def add(self, key: Key, line: int, times: int = 1) -> None:
        """Count more occurrences of `key`, the first of which is on `line`."""
        entry = self.get(key)
        if entry is None:
            self[key] = [times, line]
        else:
            entry[0] += times
            entry[1] = min(entry[1], line)

    def merge(self, later: FirstSeenCounter[Key], shift: int) -> None:
        """Add the counts of rows that come `shift` lines later."""
        for key, (count, line) in later.items():
            self.add(key, line + shift, count)

    def count(self, key: Key) -> int:
        """Return the number of occurrences of `key`."""
        entry = self.get(key)
        return entry[0] if entry else 0

    def first(self, key: Key) -> int:
        """Return the line of the first occurrence of `key`. Raises KeyError if it has none."""
        return self[key][1]

    def total(self) -> int:
        """Return the number of occurrences of all keys."""
        return sum([count for count, _ in self.values()]) if self else 0

    def entries(self) -> list[tuple[Key, int, int]]:
        """Return (key, count, first line) of each key, in the order of first lines."""
        entries = [(key, count, line) for key, (count, line) in self.items()]
        return sorted(entries, key=_place) if len(entries) > 1 else entries


def _place(entry: tuple[Any, int, int]) -> tuple[int, str]:
    return entry[2], repr(entry[0])


class Tally(DataClass):
    """Counts over the lines of a block, or of a whole file once merged.

    `lines` counts all lines, `rows` those that are not blank, `unread` the rows that cannot be
    parsed, `doubtful` those that name another evaluation or no sample, or whose ids have a finding
    of their own. Keys of `recipes` are the sets of recipes that give a row's hash; an empty set
    means that no recipe does. Keys of `hash_forms` are the unusual forms of a hash: `absent`, or
    `dressed` (in capitals or with a prefix), and whether other hashes of the input agree. Keys of
    `fitting` are the versions whose schema accepts a row that its own version refuses. Keys of
    `notices` are code, message and pointer of violations that are reported once per file.

    `scores` sums up the rows that join a result, by the result's index in the aggregate.
    `without_result` counts rows without an evaluation_result_id, `unjoined` those that join no
    result and have no finding about their ids, `unlisted` those whose sample is not in the
    sample_ids of their result, by its index; `noise` counts lines that were skipped. Keys of
    `habits` are what rows of a file usually have in common, and whether a row has it. Lines count
    from 1 within the tallied rows.
    """

    lines: int = 0
    rows: int = 0
    unread: int = 0
    doubtful: int = 0
    carriage_returns: FirstSeenCounter[None] = field(default_factory=FirstSeenCounter)
    versions: FirstSeenCounter[str] = field(default_factory=FirstSeenCounter)
    recipes: FirstSeenCounter[frozenset[str]] = field(default_factory=FirstSeenCounter)
    hash_forms: FirstSeenCounter[str] = field(default_factory=FirstSeenCounter)
    fitting: FirstSeenCounter[frozenset[str]] = field(default_factory=FirstSeenCounter)
    without_result: FirstSeenCounter[None] = field(default_factory=FirstSeenCounter)
    notices: FirstSeenCounter[tuple[str, str, str]] = field(default_factory=FirstSeenCounter)
    unlisted: FirstSeenCounter[int] = field(default_factory=FirstSeenCounter)
    unjoined: FirstSeenCounter[None] = field(default_factory=FirstSeenCounter)
    noise: FirstSeenCounter[None] = field(default_factory=FirstSeenCounter)
    habits: FirstSeenCounter[tuple[str | int, ...]] = field(default_factory=FirstSeenCounter)
    scores: dict[int, ScoreSums] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether all rows were read and belong to the aggregate.

        Where every row names another evaluation, their sets of samples can still be compared.
        """
        return self.rows > 0 and not self.unread and self.doubtful in (0, self.rows)

    def merge(self, later: Tally) -> None:
        """Add the tally of the rows that follow directly."""
        for name, counts in vars(later).items():
            if isinstance(counts, FirstSeenCounter) and counts:
                getattr(self, name).merge(counts, self.lines)
        for place, scores in later.scores.items():
            self.scores.setdefault(place, ScoreSums()).merge(scores)
        self.lines += later.lines
        self.rows += later.rows
        self.unread += later.unread
        self.doubtful += later.doubtful
