"""Remember in a ledger what was migrated, so that a rerun skips runs that have not changed."""

from __future__ import annotations

import hashlib
import os
from typing import Final

from evalstream._version import __version__
from evalstream.batch.ledger import database
from evalstream.batch.ledger.run_state import CompanionFinder, RunState, read_state
from evalstream.batch.rewriting.outcome import ChangeStatus, Outcome
from evalstream.io.codecs import COMPRESSIONS
from evalstream.io.names import printable
from evalstream.model.errors import CannotWrite
from evalstream.model.exit_codes import ExitCode
from evalstream.model.run import Run
from evalstream.parsing.json import canonical

_FIND: Final = "SELECT target, target_state FROM migration WHERE key=? AND settings=? AND state=?"
_RECORD: Final = "INSERT OR REPLACE INTO migration VALUES (?, ?, ?, ?, ?)"


class MigrationLedger:
    """A table in the file of a ledger, which checks may use as well.

    `settings` are what decides how runs are migrated, as JSON values. A run is remembered once its
    result is there and passes, and neither changed within the last seconds. With `overwrite`
    another file is replaced. Raises CannotWrite, and UsageError for another file.
    """

    def __init__(self, path: str, settings: object, *, overwrite: bool = False) -> None:
        text = canonical({"tool": __version__, "settings": settings})
        self._settings = hashlib.sha256(text).hexdigest()
        self._path, self._companions = path, CompanionFinder()
        self._connection = database.open_for_writing(path, overwrite=overwrite)
        with database.translate_sqlite_errors(path, CannotWrite):
            database.retry_while_locked(
                lambda: self._connection.execute(database.CREATE_MIGRATIONS)
            )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def state(self, run: Run) -> RunState | None:
        """Return the state of a run before it is read, None for a stream."""
        return read_state(run, self._companions)

    def find(self, run: Run, state: RunState | None) -> Outcome | None:
        """Return the outcome of a run that was migrated before and has not changed, or None."""
        if state is None:
            return None
        values = (state.key, self._settings, state.text)
        with database.translate_sqlite_errors(self._path, CannotWrite):
            found = database.retry_while_locked(
                lambda: self._connection.execute(_FIND, values).fetchone()
            )
        if found is None or self._result_state(found[0]) != found[1]:
            return None
        rows, aggregate = (
            None if name is None else printable(name) for name in (run.rows, run.aggregate)
        )
        return Outcome(rows, aggregate, ChangeStatus.PRESENT, found[0], is_remembered=True)

    def record(self, state: RunState | None, outcome: Outcome) -> None:
        """Remember a run whose result is there and passes."""
        is_there = outcome.status in {ChangeStatus.WRITTEN, ChangeStatus.PRESENT} and outcome.target
        if state is None or not state.is_settled or not is_there:
            return
        result = self._result_state(outcome.target or "")
        if outcome.exit_code is not ExitCode.PASSED or result is None:
            return
        values = (state.key, self._settings, state.text, outcome.target, result)
        with database.translate_sqlite_errors(self._path, CannotWrite):
            database.retry_while_locked(lambda: self._connection.execute(_RECORD, values))

    def _result_state(self, aggregate: str) -> str | None:
        """Return the state of a result, None where it is gone or may still change unseen."""
        stem = aggregate.removesuffix(".json") + "_samples.jsonl"
        endings = ("", *(one.ending for one in COMPRESSIONS.values()))
        rows = next((stem + end for end in endings if os.path.isfile(stem + end)), None)
        if not os.path.isfile(aggregate):
            return None
        state = read_state(Run(rows, aggregate), CompanionFinder())
        return state.text if state is not None and state.is_settled else None
