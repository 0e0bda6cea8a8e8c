"""What became of many runs: it comes in any order, and is told in that of the runs."""

from __future__ import annotations

import pickle
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, overload

from evalstream.model.finding import Finding
from evalstream.model.report import RunSummary

CHUNK: Final = 500
"""How many findings are kept together."""

Told = Callable[[int, RunSummary, int], None]
"""Hears of a run whose findings were all shown: its number, its summary, how many they were."""


class ResultStore:
    """Takes runs by their numbers, and shows their findings in the order of the numbers.

    What cannot be shown yet is kept on disk, in a database of this process alone. `numbers` are
    those of all runs that are to come, in order.
    """

    def __init__(
        self, numbers: Iterable[int], show: Callable[[Finding], None], told: Told | None = None
    ) -> None:
        self._show, self._told = show, told
        self._numbers = iter(numbers)
        self._next = next(self._numbers, None)
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._runs = Runs(self._base)
        self._base.executescript(
            """
            PRAGMA journal_mode = OFF;
            PRAGMA synchronous = OFF;
            CREATE TABLE runs (number INTEGER PRIMARY KEY, summary BLOB, note INTEGER);
            CREATE TABLE findings (number INTEGER, chunk INTEGER, some BLOB,
                PRIMARY KEY (number, chunk)) WITHOUT ROWID;
            BEGIN;
            """
        )

    def take(self, number: int, summary: RunSummary, findings: Iterable[Finding]) -> None:
        """Take what became of a run, once."""
        self._keep(number, summary)
        if number == self._next:
            self._tell(number, summary, findings)
            self._advance()
            return
        found = iter(findings)
        for chunk, some in enumerate(iter(lambda: list(islice(found, CHUNK)), [])):
            kept = pickle.dumps([tuple(finding) for finding in some])
            self._base.execute("INSERT INTO findings VALUES (?, ?, ?)", (number, chunk, kept))

    def finish(self) -> None:
        """Tell of the runs that waited for others which will not come any more."""
        while self._next is not None:
            self._advance()

    def has(self, number: int) -> bool:
        """Tell whether a run was taken."""
        found = self._base.execute("SELECT 1 FROM runs WHERE number = ?", (number,))
        return found.fetchone() is not None

    def amend(self, number: int, change: Callable[[RunSummary], None]) -> None:
        """Change what is said of a run that was taken."""
        (kept,) = self._base.execute(
            "SELECT summary FROM runs WHERE number = ?", (number,)
        ).fetchone()
        summary: RunSummary = pickle.loads(kept)  # noqa: S301 - our own temporary database
        change(summary)
        self._keep(number, summary)

    def runs(self) -> Runs:
        """Return all runs that were taken, in order, without what is only noted."""
        return self._runs

    @property
    def count(self) -> int:
        """How many runs and notes were taken."""
        (count,) = self._base.execute("SELECT count(*) FROM runs").fetchone()
        return int(count)

    def taken(self) -> Iterator[RunSummary]:
        """Iterate over everything that was taken, in order."""
        for (kept,) in self._base.execute("SELECT summary FROM runs ORDER BY number"):
            yield pickle.loads(kept)  # noqa: S301 - our own temporary database

    def _keep(self, number: int, summary: RunSummary) -> None:
        row = (number, pickle.dumps(summary), summary.is_note)
        self._base.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", row)

    def _advance(self) -> None:
        """Go on behind the next run, and tell of those that follow it, as far as they are there."""
        self._number_done()
        while self._next is not None:
            kept = self._base.execute(
                "SELECT summary FROM runs WHERE number = ?", (self._next,)
            ).fetchone()
            if kept is None:
                return
            summary = pickle.loads(kept[0])  # noqa: S301 - our own temporary database
            self._tell(self._next, summary, self._waiting(self._next))
            self._base.execute("DELETE FROM findings WHERE number = ?", (self._next,))
            self._number_done()

    def _number_done(self) -> None:
        self._next = next(self._numbers, None)

    def _tell(self, number: int, summary: RunSummary, findings: Iterable[Finding]) -> None:
        shown = 0
        for finding in findings:
            self._show(finding)
            shown += 1
        if self._told is not None:
            self._told(number, summary, shown)

    def _waiting(self, number: int) -> Iterator[Finding]:
        chunks = self._base.execute(
            "SELECT some FROM findings WHERE number = ? ORDER BY chunk", (number,)
        ).fetchall()
        for (some,) in chunks:
            for fields in pickle.loads(some):  # noqa: S301 - our own temporary database
                yield Finding(*fields)


class Runs(Sequence[RunSummary]):
    """The runs of a check in their order, read from disk as they are asked for.

    They are part of the report, so the database is closed when these are not used any more.
    """

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base
        weakref.finalize(self, base.close)

    def __len__(self) -> int:
        """Return the number of runs."""
        (count,) = self._base.execute("SELECT count(*) FROM runs WHERE NOT note").fetchone()
        return int(count)

    def __iter__(self) -> Iterator[RunSummary]:
        """Iterate over the runs."""
        query = "SELECT summary FROM runs WHERE NOT note ORDER BY number"
        for (kept,) in self._base.execute(query):
            yield pickle.loads(kept)  # noqa: S301 - our own temporary database

    @overload
    def __getitem__(self, place: int) -> RunSummary: ...
    @overload
    def __getitem__(self, place: slice) -> list[RunSummary]: ...
    def __getitem__(self, place: int | slice) -> RunSummary | list[RunSummary]:
        """Return a run by its place, or several."""
        if isinstance(place, slice):
            return [self[index] for index in range(*place.indices(len(self)))]
        index = place + len(self) if place < 0 else place
        kept = self._base.execute(
            "SELECT summary FROM runs WHERE NOT note ORDER BY number LIMIT 1 OFFSET ?",
            (max(index, 0),),
        ).fetchone()
        if kept is None or index < 0:
            raise IndexError(place)
        summary: RunSummary = pickle.loads(kept[0])  # noqa: S301 - our own temporary database
        return summary
