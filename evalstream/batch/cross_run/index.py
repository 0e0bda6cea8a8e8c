"""Index of the links of all runs of a check, added in any order and compared at the end."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from evalstream.batch.cross_run.compare import TABLES, CrossRunKind, CrossRunMatch, find_matches
from evalstream.formats.registry import main_format
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Violation
from evalstream.stats.run_links import (
    GREATEST_HASH64,
    MOST_GROUPS,
    LinkGroup,
    LinkKey,
    RunLinks,
    decode_words,
    encode_words,
    unpack_element_position,
)

BATCH: Final = 32
"""How many rows wait to be written together."""

CACHE_KIBIBYTES: Final = 2048
"""Size of the database in memory; the rest is in a temporary file."""


class CrossRunFinding(NamedTuple):
    """A violation between runs: the number of the run that it is reported for, and its position."""

    number: int
    file: str
    line: int | None
    offset: int | None
    violation: Violation


class CrossRunIndex:
    """Compares runs with each other: ES903 to ES908.

    Runs may be added in any order, and the result does not depend on it, nor on the machine that
    checked a run: `parts` of one index can be added to another. Memory does not depend on the
    number of runs and rows. The caller closes it. Raises CannotCheck where the temporary database
    cannot be written.
    """

    def __init__(self) -> None:
        self._format = main_format()
        self._rules = self._format.cross_run
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._waiting: dict[str, list[tuple[Any, ...]]] = {}
        try:
            with self._translate_errors():
                self._base.executescript(
                    f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                    f" PRAGMA temp_store = FILE; PRAGMA cache_size = -{CACHE_KIBIBYTES};"
                    f" {TABLES} BEGIN;"
                )
        except BaseException:
            self.close()
            raise

    def add(self, number: int, file: str | None, aggregate: str | None, links: RunLinks) -> None:
        """Add a run, once: its names in reports, and the digests that link it to other runs."""
        evaluation = None if links.evaluation is None else _to_signed(links.evaluation)
        fields = (links.record, evaluation, int(links.is_array), int(links.is_cut))
        with self._translate_errors():
            self._add_run(number, file, aggregate, *fields)
            for place, group in enumerate(links.groups()):
                set_id, is_first = self._add_group(number, place, group)
                if is_first:
                    for part, words in enumerate(links.chunks(group.link_key)):
                        self._add_words(set_id, part, words)

    def violations(self, enabled: Collection[str]) -> Iterator[CrossRunFinding]:
        """Compare all runs; return the violations of enabled codes by run, as in a report."""
        with self._translate_errors():
            codes = self._rules.codes().items()
            wanted = {compared for compared, code in codes if code in enabled}
            self._write()
            for found in find_matches(self._base, wanted):
                run = self._find_names(found.run)
                line = None if found.line is None else run.place(found.line)[0]
                name, violation = run.choose_name(found.is_aggregate), self._violation(found, run)
                yield CrossRunFinding(found.run, name, line, found.offset, violation)

    def parts(self) -> Iterator[dict[str, Any]]:
        """Iterate over everything in the index, as small JSON objects for `add_part`."""
        with self._translate_errors():
            self._write()
            for number, *fields in self._base.execute(_RUNS):
                named = dict(zip(_FIELDS, fields, strict=True))
                yield {"run": number, **named, "groups": self._groups(number)}
            sets = self._base.execute("SELECT id, run, place FROM sets ORDER BY run, place")
            for set_id, number, place in sets:
                for part, words in self._base.execute(
                    "SELECT part, words FROM chunks WHERE set_id = ? ORDER BY part", (set_id,)
                ):
                    yield {"of": [number, place, part], "words": encode_words(words)}

    def add_part(self, part: Mapping[str, Any]) -> None:
        """Add what `parts` returned, in order. Raises KeyError, TypeError or ValueError."""
        try:
            with self._translate_errors():
                if "run" in part:
                    number = part["run"]
                    self._add_run(number, *(part[name] for name in _FIELDS))
                    for place, (evaluation, result, benchmark, *sums) in enumerate(part["groups"]):
                        key = LinkKey(evaluation, result, benchmark)
                        self._add_group(number, place, LinkGroup(key, *sums))
                else:
                    self._add_part_words(part)
                self._write()
        except OverflowError as error:
            raise ValueError("a number is out of range") from error

    def close(self) -> None:
        """Close the database."""
        self._base.close()

    def _add_run(self, number: int, file: Any, aggregate: Any, *fields: Any) -> None:
        uuid = None if aggregate is None else self._format.read_uuid(aggregate)
        row = (number, file, aggregate, *fields, uuid)
        self._insert("INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _add_group(self, number: int, place: int, group: LinkGroup) -> tuple[int, bool]:
        """Add a group of rows; return its set, and whether it is the first group with that set."""
        link_key = group.link_key
        sums = (link_key.benchmark, group.samples, group.inputs)
        key = (*map(_to_signed, sums), group.rows)
        row = (None, *key, number, place)
        # Few sets are met again, and one statement is quicker than to look first.
        cursor = self._base.execute("INSERT OR IGNORE INTO sets VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        if cursor.rowcount:
            set_id, is_first = int(cursor.lastrowid or 0), True
        else:
            found = self._base.execute(
                "SELECT id, run, place FROM sets"
                " WHERE benchmark = ? AND samples = ? AND inputs = ? AND rows = ?",
                key,
            ).fetchone()
            set_id, is_first = found[0], (number, place) < (found[1], found[2])
            if is_first:
                self._write()
                change = (number, place, set_id)
                self._base.execute("UPDATE sets SET run = ?, place = ? WHERE id = ?", change)
                self._base.execute("DELETE FROM chunks WHERE set_id = ?", (set_id,))
        ids = _to_signed(link_key.evaluation), _to_signed(link_key.result)
        member = (number, place, *ids, set_id)
        self._insert("INSERT OR IGNORE INTO members VALUES (?, ?, ?, ?, ?)", member)
        return set_id, is_first

    def _add_part_words(self, part: Mapping[str, Any]) -> None:
        number, place, chunk = part["of"]
        words = decode_words(part["words"])
        found = self._base.execute(
            "SELECT id FROM members AS m JOIN sets AS s ON id = set_id"
            " WHERE m.run = ? AND m.place = ? AND s.run = m.run AND s.place = m.place",
            (number, place),
        ).fetchone()
        # Otherwise another run is the first with this set.
        if found is not None:
            self._add_words(found[0], chunk, words)

    def _add_words(self, set_id: int, part: int, words: bytes) -> None:
        row = (set_id, part, words)
        self._insert("INSERT OR IGNORE INTO chunks VALUES (?, ?, ?)", row)

    def _insert(self, statement: str, row: tuple[Any, ...]) -> None:
        """Write a row, with some others at a time: most of the time goes into each statement."""
        waiting = self._waiting.setdefault(statement, [])
        waiting.append(row)
        if len(waiting) >= BATCH:
            self._write()

    def _write(self) -> None:
        """Write what waits, all of which still waits after an error."""
        for statement, rows in self._waiting.items():
            if rows:
                self._base.executemany(statement, rows)
                rows.clear()

    def _groups(self, number: int) -> list[list[int]]:
        groups = self._base.execute(
            "SELECT evaluation, result, benchmark, rows, samples, inputs"
            " FROM members AS m JOIN sets ON id = set_id WHERE m.run = ? ORDER BY m.place",
            (number,),
        )
        return [[word & GREATEST_HASH64 for word in group] for group in groups]

    def _violation(self, found: CrossRunMatch, run: _RunNames) -> Violation:
        if found.path is not None and found.earlier_path is not None:
            return self._rules.colliding_path(found.path, found.earlier_path)
        if found.earlier is None:
            return self._rules.unlinked_rows(MOST_GROUPS)
        earlier, count = self._find_names(found.earlier), found.count or 0
        other = earlier.choose_name(found.is_aggregate)
        if found.line is not None:
            return self._rules.drifted_sample(
                run.place(found.line)[1],
                is_array=bool(run.is_array),
                earlier=other,
                earlier_number=earlier.place(found.earlier_line or 0)[1],
                was_array=bool(earlier.is_array),
            )
        of_samples: dict[str, Callable[[int, str], Violation]] = {
            CrossRunKind.ROWS: partial(self._rules.overlapping_rows, several=bool(found.several)),
            CrossRunKind.LIKE: self._rules.drifted_like,
            CrossRunKind.LOG: self._rules.drifted_log,
            CrossRunKind.NEAR: self._rules.shared_answers,
        }
        of_files = {
            CrossRunKind.ANSWERS: self._rules.repeated_answers,
            CrossRunKind.RECORD: self._rules.repeated_record,
            CrossRunKind.CLAIM: self._rules.repeated_claim,
            CrossRunKind.UUID: self._rules.reused_uuid,
        }
        kind = CrossRunKind(found.kind)
        return of_samples[kind](count, other) if kind in of_samples else of_files[kind](other)

    def _find_names(self, number: int) -> _RunNames:
        row = self._base.execute(
            "SELECT file, aggregate, is_array FROM runs WHERE number = ?", (number,)
        )
        return _RunNames(*row.fetchone())

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            message = f"cannot compare the runs with each other: {error}"
            raise CannotCheck(message) from error


class _RunNames(NamedTuple):
    """The names of a run in reports."""

    file: str | None
    aggregate: str | None
    is_array: int

    def choose_name(self, is_aggregate: int) -> str:
        return (self.aggregate if is_aggregate else self.file) or ""

    def place(self, word: int) -> tuple[int, int]:
        """Return the line of a row, and its number in messages."""
        return unpack_element_position(word) if self.is_array else (word, word)


_RUNS: Final = """
SELECT number, file, aggregate, record, evaluation, is_array, is_cut FROM runs ORDER BY number
"""
_FIELDS: Final = ("file", "aggregate", "record", "evaluation", "array", "cut")


def _to_signed(word: int) -> int:
    """Return a 64-bit number as a signed one, as SQLite stores it."""
    return word - (GREATEST_HASH64 + 1) if word > GREATEST_HASH64 >> 1 else word
