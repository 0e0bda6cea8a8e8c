"""Mergeable counts over rows, the same for any cut of the bytes into blocks."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeVar

from evalstream.model.data_class import DataClass, field
from evalstream.stats.score_sums import ScoreSums

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
            entry = self.get(key)
            if entry is None:
                self[key] = [count, line + shift]
            else:
                entry[0] += count

    def count(self, key: Key) -> int:
        """Return the number of occurrences of `key`."""
        entry = self.get(key)
        return entry[0] if entry else 0

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
