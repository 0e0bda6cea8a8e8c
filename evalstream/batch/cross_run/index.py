"""The links of all runs of a check: taken in any order, and compared at the end."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from evalstream.batch.cross_run.compare import TABLES, CrossRunKind, CrossRunMatch, Wanted, compare
from evalstream.formats.registry import main_format
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Violation
from evalstream.model.report import RunSummary
from evalstream.stats.link_keys import GREATEST_HASH64, LinkKey, element_of
from evalstream.stats.run_links import MOST_GROUPS, Group, decode_words, encode_words

CACHE_KIBIBYTES: Final = 8192
"""How much of the database is in memory; the rest is in a temporary file."""


class CrossRunFinding(NamedTuple):
    """A violation that runs have together: the number of the run it is told of, and its place."""

    number: int
    file: str
    line: int | None
    offset: int | None
    violation: Violation


class CrossRunIndex:
    """Compares runs with each other: ES903 to ES906, and ES908.

    Runs come in any order, and what is found does not depend on it, nor on which machine took
    which run: `parts` of one may be taken by another. Memory stays the same for any number of
    runs and rows. To be closed. Raises CannotCheck where the temporary database cannot be kept.
    """

    def __init__(self) -> None:
        self._format = main_format()
        self._rules = self._format.cross_run
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        try:
            with self._kept():
                self._base.executescript(
                    f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                    f" PRAGMA temp_store = FILE; PRAGMA cache_size = -{CACHE_KIBIBYTES};"
                    f" {TABLES} BEGIN;"
                )
        except BaseException:
            self.close()
            raise

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
                    for part, words in enumerate(links.chunks(group.link_key)):
                        self._take_words(set_id, part, words)

    def violations(self, enabled: Collection[str]) -> Iterator[CrossRunFinding]:
        """Compare all runs, and return what is wrong under the enabled codes.

        The order is that of the runs, for each of them that of a report: the rows by their
        lines, the file of rows as a whole, the aggregate.
        """
        with self._kept():
            codes = self._rules.codes().items()
            wanted = Wanted(**{compared: code in enabled for compared, code in codes})
            for one in compare(self._base, wanted):
                yield self._linked(one)

    def parts(self) -> Iterator[dict[str, Any]]:
        """Iterate over everything that was taken, as small JSON objects for `take_part`."""
        with self._kept():
            for number, *about in self._base.execute(_RUNS):
                named = dict(zip(_ABOUT, about, strict=True))
                yield {"run": number, **named, "groups": self._groups(number)}
            sets = self._base.execute("SELECT id, run, place FROM sets ORDER BY run, place")
            for set_id, number, place in sets:
                for part, words in self._base.execute(
                    "SELECT part, words FROM chunks WHERE set_id = ? ORDER BY part", (set_id,)
                ):
                    yield {"of": [number, place, part], "words": encode_words(words)}

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

    def _take_run(self, number: int, file: Any, aggregate: Any, *about: Any) -> None:
        uuid = None if aggregate is None else self._format.uuid_of(aggregate)
        row = (number, file, aggregate, *about, uuid)
        self._base.execute("INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _take_group(self, number: int, place: int, group: Group) -> tuple[int, bool]:
        """Take a group of rows; return its set, and whether it is the first that has the set."""
        link_key = group.link_key
        sums = (link_key.benchmark, group.samples, group.inputs)
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
        member = (number, place, _signed(link_key.evaluation), _signed(link_key.result), set_id)
        self._base.execute("INSERT OR IGNORE INTO members VALUES (?, ?, ?, ?, ?)", member)
        return set_id, is_first

    def _take_part_run(self, part: Mapping[str, Any]) -> None:
        number = part["run"]
        self._take_run(number, *(part[name] for name in _ABOUT))
        for place, (evaluation, result, benchmark, rows, *sums) in enumerate(part["groups"]):
            group = Group(LinkKey(evaluation, result, benchmark), rows, *sums)
            self._take_group(number, place, group)

    def _take_part_words(self, part: Mapping[str, Any]) -> None:
        number, place, chunk = part["of"]
        words = decode_words(part["words"])
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
                evaluation & GREATEST_HASH64,
                result & GREATEST_HASH64,
                benchmark & GREATEST_HASH64,
                rows,
                samples & GREATEST_HASH64,
                inputs & GREATEST_HASH64,
            ]
            for evaluation, result, benchmark, rows, samples, inputs in self._base.execute(
                "SELECT evaluation, result, benchmark, rows, samples, inputs"
                " FROM members AS m JOIN sets ON id = set_id WHERE m.run = ? ORDER BY m.place",
                (number,),
            )
        ]

    def _linked(self, found: CrossRunMatch) -> CrossRunFinding:
        """Put what was found into words."""
        run = self._named(found.run)
        line = None
        if found.line is not None:
            line, _ = run.place(found.line)
        name = run.called(found.is_aggregate)
        return CrossRunFinding(found.run, name, line, found.offset, self._violation(found, run))

    def _violation(self, found: CrossRunMatch, run: _Named) -> Violation:
        if found.here is not None and found.there is not None:
            return self._rules.colliding_path(found.here, found.there)
        if found.earlier is None:
            return self._rules.unlinked_rows(MOST_GROUPS)
        earlier, count = self._named(found.earlier), found.count or 0
        other = earlier.called(found.is_aggregate)
        if found.line is not None:
            return self._rules.drifted_sample(
                run.place(found.line)[1],
                is_array=bool(run.is_array),
                earlier=other,
                earlier_number=earlier.place(found.earlier_line or 0)[1],
                was_array=bool(earlier.is_array),
            )
        if found.told == CrossRunKind.ROWS:
            return self._rules.overlapping_rows(count, other, several=bool(found.several))
        if found.told == CrossRunKind.LIKE:
            return self._rules.drifted_like(count, other)
        of_aggregates = {
            CrossRunKind.RECORD: self._rules.repeated_record,
            CrossRunKind.CLAIM: self._rules.repeated_claim,
            CrossRunKind.UUID: self._rules.reused_uuid,
        }
        return of_aggregates[CrossRunKind(found.told)](other)

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

    def called(self, is_aggregate: int) -> str:
        """Return the name of its aggregate or of its rows."""
        return (self.aggregate if is_aggregate else self.file) or ""

    def place(self, word: int) -> tuple[int, int]:
        """Return the line of a row, and the number by which it is spoken of."""
        return element_of(word) if self.is_array else (word, word)


_RUNS: Final = """
SELECT number, file, aggregate, record, evaluation, is_array, is_cut FROM runs ORDER BY number
"""
_ABOUT: Final = ("file", "aggregate", "record", "evaluation", "array", "cut")


def _signed(word: int) -> int:
    """Return a word as a number with a sign: the database has no others."""
    return word - (GREATEST_HASH64 + 1) if word > GREATEST_HASH64 >> 1 else word
