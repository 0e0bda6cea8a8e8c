"""The links of all runs of a check: taken in any order, and held against each other at the end."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from evalstream.comparing import TABLES, Found, Told, compare
from evalstream.errors import CannotCheck
from evalstream.links import MOST_GROUPS, Group, packed_words, unpacked_words
from evalstream.model import Fault, RunSummary
from evalstream.rules import corpus
from evalstream.ties import WORD, Ties, element_of

CACHE_KIBIBYTES: Final = 8192
"""How much of the database is in memory; the rest is in a temporary file."""


class Linked(NamedTuple):
    """A fault that runs have together: the number of the run it is told of, and its place."""

    number: int
    file: str
    line: int | None
    offset: int | None
    fault: Fault


class Across:
    """Holds runs against each other: ES903, ES904 and ES905.

    Runs come in any order, and what is found does not depend on it, nor on which machine took
    which run: `parts` of one may be taken by another. Memory stays the same for any number of
    runs and rows. Raises CannotCheck where the temporary database cannot be kept.
    """

    def __init__(self) -> None:
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        with self._kept():
            self._base.executescript(
                f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = FILE;"
                f" PRAGMA cache_size = -{CACHE_KIBIBYTES}; {TABLES} BEGIN;"
            )

    def add(self, number: int, summary: RunSummary) -> None:
        """Take the links of a run, once; a run without any is left out."""
        links = summary.links
        if links is None:
            return
        evaluation = None if links.evaluation is None else _signed(links.evaluation)
        about = (links.record, evaluation, links.is_array, links.is_cut)
        with self._kept():
            self._take_run(number, summary.file, summary.aggregate, *about)
            for place, group in enumerate(links.groups()):
                set_id, is_first = self._take_group(number, place, group)
                if is_first:
                    for part, words in enumerate(links.chunks(group.ties)):
                        self._take_words(set_id, part, words)

    def faults(self, enabled: Collection[str]) -> Iterator[Linked]:
        """Compare all runs, and return what is wrong under the enabled codes.

        The order is that of the runs, for each of them that of a report: the rows by their
        lines, the file of rows as a whole, the aggregate.
        """
        with self._kept():
            found = compare(
                self._base,
                records=corpus.ES903.code in enabled,
                files=corpus.ES904.code in enabled,
                samples=corpus.ES905.code in enabled,
            )
            for one in found:
                yield self._linked(one)

    def parts(self) -> Iterator[dict[str, Any]]:
        """Iterate over everything that was taken, as small JSON objects for `take_part`."""
        with self._kept():
            for number, *about in self._base.execute("SELECT * FROM runs ORDER BY number"):
                named = dict(zip(_ABOUT, about, strict=True))
                yield {"run": number, **named, "groups": self._groups(number)}
            sets = self._base.execute("SELECT id, run, place FROM sets ORDER BY run, place")
            for set_id, number, place in sets:
                for part, words in self._base.execute(
                    "SELECT part, words FROM chunks WHERE set_id = ? ORDER BY part", (set_id,)
                ):
                    yield {"of": [number, place, part], "words": packed_words(words)}

    def take_part(self, part: Mapping[str, Any]) -> None:
        """Take what `parts` returned, in its order.

        Raises KeyError, TypeError or ValueError for anything else.
        """
        try:
            with self._kept():
                if "run" in part:
                    self._take_part_run(part)
                else:
                    self._take_part_words(part)
        except OverflowError as error:
            raise ValueError("a number that is none of a run's") from error

    def close(self) -> None:
        """Let go of the database."""
        self._base.close()

    def _take_run(self, *about: Any) -> None:
        self._base.execute("INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)", about)

    def _take_group(self, number: int, place: int, group: Group) -> tuple[int, bool]:
        """Take a group of rows; return its set, and whether it is the first that has the set."""
        ties = group.ties
        sums = (ties.benchmark, group.samples, group.inputs)
        key = (*map(_signed, sums), group.rows)
        found = self._base.execute(
            "SELECT id, run, place FROM sets"
            " WHERE benchmark = ? AND samples = ? AND inputs = ? AND rows = ?",
            key,
        ).fetchone()
        if found is None:
            row = (None, *key, number, place)
            made = self._base.execute("INSERT INTO sets VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            set_id, is_first = int(made.lastrowid or 0), True
        else:
            set_id, is_first = found[0], (number, place) < (found[1], found[2])
            if is_first:
                change = (number, place, set_id)
                self._base.execute("UPDATE sets SET run = ?, place = ? WHERE id = ?", change)
                self._base.execute("DELETE FROM chunks WHERE set_id = ?", (set_id,))
        member = (number, place, _signed(ties.evaluation), _signed(ties.result), set_id)
        self._base.execute("INSERT OR IGNORE INTO members VALUES (?, ?, ?, ?, ?)", member)
        return set_id, is_first

    def _take_part_run(self, part: Mapping[str, Any]) -> None:
        number = part["run"]
        self._take_run(number, *(part[name] for name in _ABOUT))
        for place, (evaluation, result, benchmark, rows, *sums) in enumerate(part["groups"]):
            group = Group(Ties(evaluation, result, benchmark), rows, *sums)
            self._take_group(number, place, group)

    def _take_part_words(self, part: Mapping[str, Any]) -> None:
        number, place, chunk = part["of"]
        words = unpacked_words(part["words"])
        found = self._base.execute(
            "SELECT id FROM members AS m JOIN sets AS s ON id = set_id"
            " WHERE m.run = ? AND m.place = ? AND s.run = m.run AND s.place = m.place",
            (number, place),
        ).fetchone()
        # Else another run is the first with this set.
        if found is not None:
            self._take_words(found[0], chunk, words)

    def _take_words(self, set_id: int, part: int, words: bytes) -> None:
        row = (set_id, part, words)
        self._base.execute("INSERT OR IGNORE INTO chunks VALUES (?, ?, ?)", row)

    def _groups(self, number: int) -> list[list[int]]:
        return [
            [
                evaluation & WORD,
                result & WORD,
                benchmark & WORD,
                rows,
                samples & WORD,
                inputs & WORD,
            ]
            for evaluation, result, benchmark, rows, samples, inputs in self._base.execute(
                "SELECT evaluation, result, benchmark, rows, samples, inputs"
                " FROM members AS m JOIN sets ON id = set_id WHERE m.run = ? ORDER BY m.place",
                (number,),
            )
        ]

    def _linked(self, found: Found) -> Linked:
        """Put what was found into words."""
        run, count = self._named(found.run), found.count or 0
        name = (run.aggregate if found.is_aggregate else run.file) or ""
        if found.earlier is None:
            return Linked(found.run, name, None, None, corpus.unlinked_rows(MOST_GROUPS))
        earlier = self._named(found.earlier)
        other = (earlier.aggregate if found.is_aggregate else earlier.file) or ""
        line: int | None = None
        if found.line is not None:
            line, number = run.place(found.line)
            fault = corpus.drifted_sample(
                number,
                is_array=bool(run.is_array),
                earlier=other,
                earlier_number=earlier.place(found.earlier_line or 0)[1],
                was_array=bool(earlier.is_array),
            )
        elif found.told == Told.RECORD:
            fault = corpus.repeated_record(other)
        elif found.told == Told.CLAIM:
            fault = corpus.repeated_claim(other)
        elif found.told == Told.ROWS:
            fault = corpus.overlapping_rows(count, other, several=bool(found.several))
        else:
            fault = corpus.drifted_like(count, other)
        return Linked(found.run, name, line, found.offset, fault)

    def _named(self, number: int) -> _Named:
        row = self._base.execute(
            "SELECT file, aggregate, is_array FROM runs WHERE number = ?", (number,)
        )
        return _Named(*row.fetchone())

    @contextmanager
    def _kept(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            message = f"the runs could not be held against each other: {error}"
            raise CannotCheck(message) from error


class _Named(NamedTuple):
    """What a run is called in reports."""

    file: str | None
    aggregate: str | None
    is_array: int

    def place(self, word: int) -> tuple[int, int]:
        """Return the line of a row, and the number by which it is spoken of."""
        return element_of(word) if self.is_array else (word, word)


_ABOUT: Final = ("file", "aggregate", "record", "evaluation", "array", "cut")


def _signed(word: int) -> int:
    """Return a word as a number with a sign: the database has no others."""
    return word - (WORD + 1) if word > WORD >> 1 else word
