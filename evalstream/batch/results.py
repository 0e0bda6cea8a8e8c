"""Results of many runs, which arrive in any order and are emitted in input order."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

from evalstream.io.spill_table import SpillTable
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Finding, Show
from evalstream.model.report import RunSequence
from evalstream.model.run_summary import RunSummary

CHUNK: Final = 500
"""Number of findings stored together."""

_TABLES: Final = """
    CREATE TABLE runs (number INTEGER PRIMARY KEY, summary BLOB, note INTEGER);
    CREATE TABLE findings (number INTEGER, chunk INTEGER, some BLOB,
        PRIMARY KEY (number, chunk)) WITHOUT ROWID;
"""
_FIND: Final = "SELECT summary FROM runs WHERE number = ?"

OnEmitted = Callable[[int, RunSummary, int], None]
"""Called with a run whose findings were all shown: number, summary, number of shown findings."""


class RunResult(NamedTuple):
    """The result of a run: its number, its summary and the findings to show."""

    number: int
    summary: RunSummary
    findings: Iterable[Finding]


class ResultStore:
    """Takes results by the number of the run, and shows findings in the order of the numbers.

    Results that cannot be shown yet are kept on disk, in a temporary database. `numbers` are those
    of all expected runs, in order.
    """

    def __init__(
        self, numbers: Iterable[int], show: Show, on_emitted: OnEmitted | None = None
    ) -> None:
        self._show, self._on_emitted = show, on_emitted
        self._numbers, self._waiting = iter(numbers), 0
        self._next = next(self._numbers, None)
        self._table = SpillTable(_TABLES)
        self._runs = Runs(self._table)

    def add(self, number: int, summary: RunSummary, findings: Iterable[Finding]) -> None:
        """Add the result of a run, once."""
        self.add_stored(number, dump_summary(summary), findings, is_note=summary.is_note)

    def add_stored(
        self, number: int, data: bytes, findings: Iterable[Finding], *, is_note: bool
    ) -> None:
        """Add the result of a run, once, whose summary is what `dump_summary` returned."""
        self._store(number, data, is_note=is_note)
        if number == self._next:
            self._emit(number, data, findings)
            self._advance()
            return
        self._waiting += 1
        found = iter(findings)
        for chunk, chunk_findings in enumerate(iter(lambda: list(islice(found, CHUNK)), [])):
            data = pickle.dumps([tuple(finding) for finding in chunk_findings])
            self._table.change("INSERT INTO findings VALUES (?, ?, ?)", [(number, chunk, data)])

    def add_last(self, summary: RunSummary) -> None:
        """Add a result after those of all runs; its findings were shown."""
        ((last,),) = self._table.rows("SELECT coalesce(max(number), 0) FROM runs")
        self._store(last + 1, dump_summary(summary), is_note=summary.is_note)

    def finish(self) -> None:
        """Emit the results that waited for runs which will not arrive."""
        while self._next is not None:
            self._advance()

    def has(self, number: int) -> bool:
        """Tell whether the result of a run was added."""
        return bool(self._table.rows("SELECT 1 FROM runs WHERE number = ?", number))

    def amend(self, number: int, change: Callable[[RunSummary], None]) -> None:
        """Change the summary of a run that was added."""
        summary = self.summary(number)
        change(summary)
        self._store(number, dump_summary(summary), is_note=summary.is_note)

    def runs(self) -> Runs:
        """Return the summaries of all runs, in order, without notes."""
        return self._runs

    @property
    def count(self) -> int:
        """Number of runs and notes added."""
        ((count,),) = self._table.rows("SELECT count(*) FROM runs")
        return int(count)

    def summaries(self) -> Iterator[RunSummary]:
        """Iterate over all summaries, notes included, in order."""
        for (data,) in self._table.iterate("SELECT summary FROM runs ORDER BY number"):
            yield load_summary(data)

    def summary(self, number: int) -> RunSummary:
        """Return the summary of a run that was added."""
        ((data,),) = self._table.rows(_FIND, number)
        return load_summary(data)

    def _store(self, number: int, data: bytes, *, is_note: bool) -> None:
        row = (number, data, int(is_note))
        self._table.change("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", [row])

    def _advance(self) -> None:
        """Move past the current run, and emit the results after it that are already there."""
        self._next = next(self._numbers, None)
        while self._waiting and self._next is not None:
            found = self._table.rows(_FIND, self._next)
            if not found:
                return
            self._waiting -= 1
            self._emit(self._next, found[0][0], self._stored_findings(self._next))
            self._table.change("DELETE FROM findings WHERE number = ?", [(self._next,)])
            self._next = next(self._numbers, None)

    def _emit(self, number: int, data: bytes, findings: Iterable[Finding]) -> None:
        shown = 0
        for finding in findings:
            self._show(finding)
            shown += 1
        if self._on_emitted is not None:
            self._on_emitted(number, load_summary(data), shown)

    def _stored_findings(self, number: int) -> Iterator[Finding]:
        query = "SELECT some FROM findings WHERE number = ? ORDER BY chunk"
        for (chunk_findings,) in self._table.rows(query, number):
            for fields in pickle.loads(chunk_findings):  # noqa: S301 - our own temporary database
                yield Finding(*fields)


class Runs(RunSequence):
    """The summaries of a check in order, on disk until no report uses them any more."""

    def __init__(self, table: SpillTable) -> None:
        self._table = table

    def __len__(self) -> int:
        """Return the number of runs."""
        ((count,),) = self._table.rows("SELECT count(*) FROM runs WHERE NOT note")
        return int(count)

    def __iter__(self) -> Iterator[RunSummary]:
        """Iterate over the runs."""
        query = "SELECT summary FROM runs WHERE NOT note ORDER BY number"
        for (data,) in self._table.iterate(query):
            yield load_summary(data)

    def read_run(self, index: int) -> RunSummary:
        """Return the run at an index from 0."""
        query = "SELECT summary FROM runs WHERE NOT note ORDER BY number LIMIT 1 OFFSET ?"
        ((data,),) = self._table.rows(query, index)
        return load_summary(data)


def dump_summary(summary: RunSummary) -> bytes:
    """Return a summary as bytes."""
    return pickle.dumps(summary.plain_values())


def load_summary(data: bytes) -> RunSummary:
    """Return a summary from its bytes, which this program made."""
    return RunSummary.from_plain(pickle.loads(data))  # noqa: S301 - of our own database or worker
