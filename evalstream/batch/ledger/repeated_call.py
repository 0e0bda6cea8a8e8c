"""The last report of a call over folders, which is still right while no file in them changes."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, TypeVar

from evalstream.batch import serialize
from evalstream.batch.ledger import database, records
from evalstream.batch.ledger.ledger import (
    decode_values,
    find_gone_below,
    find_settled,
    read_chunks,
    write_chunks,
)
from evalstream.batch.ledger.run_state import key_of_names
from evalstream.batch.serialize import decode_totals, encode_run, fingerprint
from evalstream.io.readers import is_settled, tree_state
from evalstream.model.errors import CannotCheck, CannotWrite, UsageError
from evalstream.model.finding import Finding, FindingList, Show
from evalstream.model.options import Options
from evalstream.model.report import RunSequence, Totals
from evalstream.model.run_summary import RunSummary
from evalstream.model.signals import STOPPING
from evalstream.reporters.overview import CommonFolder

Outcome = tuple[Sequence[RunSummary], Totals]
_Value = TypeVar("_Value")


class CallMemory:
    """A call in a ledger, by folders and working directory: its report, and the state of files."""

    def __init__(self, ledger: str, inputs: Sequence[str], options: Options) -> None:
        self._path, self._inputs = ledger, inputs
        self._settings = fingerprint(options)
        self._key = key_of_names(["call", os.getcwd(), *inputs])
        self._taken = time.time_ns()
        self._trees = [tree_state(path) for path in inputs]
        seen = [tree and tree.seen for tree in self._trees]
        self._call = key_of_names([self._settings, options.sketches, seen]).hex()

    def check(self, check: Callable[[Show], Outcome], show: Show) -> Outcome:
        """Return the outcome of the call, for which `check` is called where something changed."""
        known = self._find() if all(self._trees) else None
        if known is not None:
            findings, runs, totals = known
            for finding in findings:
                show(finding)
            return runs, totals
        shown = FindingList()

        def keep(finding: Finding) -> None:
            shown.append(finding)
            show(finding)

        runs, totals = check(keep)
        if self._is_lasting(totals):
            self._record(runs, totals, shown)
        return runs, totals

    def _is_lasting(self, totals: Totals) -> bool:
        """Tell whether all was checked, and any change since the call began will show in times.

        Where some runs changed and others did not, more will change before the next call.
        """
        is_mixed = 0 < totals.unchanged < totals.runs
        is_partial = totals.unreached or totals.unchecked or totals.damaged
        if is_mixed or is_partial or STOPPING.raised is not None:
            return False
        is_old = all(tree and is_settled(tree.changed, self._taken) for tree in self._trees)
        return is_old and [tree_state(path) for path in self._inputs] == self._trees

    def _find(self) -> tuple[Iterable[Finding], Sequence[RunSummary], Totals] | None:
        """Return findings, runs and totals of the call, or None where it must be checked."""
        try:
            with database.open_for_reading(self._path) as connection:
                return database.snapshot(connection, lambda: self._read(connection))
        except (CannotCheck, UsageError, records.Damaged, KeyError, TypeError, ValueError):
            return None  # the check says what is wrong with the ledger

    def _read(
        self, connection: sqlite3.Connection
    ) -> tuple[Iterable[Finding], Sequence[RunSummary], Totals] | None:
        """Read the report. Raises Damaged, KeyError, TypeError and ValueError."""
        header = read_chunks(connection, self._key, records.CALL, 1)
        (call,) = records.decode_all(header, self._key, records.CALL)
        if call["call"] != self._call or serialize.describe_misfit(call["totals"], "totals"):
            return None
        findings = read_chunks(connection, self._key, records.FINDINGS, call["findings"])
        runs = read_chunks(connection, self._key, records.RUNS, call["runs"])
        totals = decode_totals(call["totals"])
        totals.gone = find_gone_below(connection, call["folder"])
        return (
            self._values(findings, records.FINDINGS, serialize.decode_stored_finding),
            RememberedRuns(lambda decode: self._values(runs, records.RUNS, decode), totals.runs),
            totals,
        )

    def _values(
        self, stored: records.ByteStore, kind: int, decode: Callable[[Any], _Value]
    ) -> Iterator[_Value]:
        return decode_values(self._path, stored, self._key, kind, decode)

    def _record(self, runs: Sequence[RunSummary], totals: Totals, shown: Iterable[Finding]) -> None:
        """Store the report, unless the ledger lacks one of its runs. Raises CannotWrite."""
        folder = CommonFolder()
        with (
            database.translate_sqlite_errors(self._path, CannotWrite),
            closing(database.open_for_writing(self._path)) as connection,
        ):
            try:
                encoded = (self._encode(connection, run, folder) for run in runs)
                stored = records.encode_all(encoded, self._key, records.RUNS)
            except records.Damaged:
                return
            found = records.encode_all(map(Finding.as_dict, shown), self._key, records.FINDINGS)
            call = {
                "call": self._call,
                "findings": len(found),
                "runs": len(stored),
                "totals": {**totals.as_dict(), "unchanged": totals.runs},
                "folder": folder.prefix,
            }
            header = records.encode_all([call], self._key, records.CALL)
            chunks = {records.CALL: header, records.FINDINGS: found, records.RUNS: stored}
            with database.exclusive(connection):
                write_chunks(connection, self._key, chunks)

    def _encode(
        self, connection: sqlite3.Connection, run: RunSummary, folder: CommonFolder
    ) -> dict[str, Any]:
        """Return a run as one that did not change. Raises Damaged if the ledger lacks it."""
        places = [name and os.path.abspath(name) for name in (run.file, run.aggregate, run.inputs)]
        folder.add(next(filter(None, places), ""))
        key = key_of_names([run.format, places])
        run.unchanged = run.unchanged or find_settled(connection, key, self._settings)
        if run.unchanged is None:
            raise records.Damaged
        return encode_run(run)


class RememberedRuns(RunSequence):
    """The runs of a remembered report; `values` iterates over all, each decoded by a function."""

    def __init__(self, values: Callable[[Callable[[Any], Any]], Iterator[Any]], count: int) -> None:
        self._values, self._count = values, count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[RunSummary]:
        """Iterate over the runs. Raises CannotCheck where the ledger is damaged."""
        return self._values(serialize.decode_stored_run)

    def encoded(self) -> Iterator[dict[str, Any]]:
        """Iterate over the runs as reports have them. Raises CannotCheck as above."""
        return self._values(serialize.reported_run)

    def read_run(self, index: int) -> RunSummary:
        """Return the run at an index from 0."""
        return next(islice(self, index, None))
