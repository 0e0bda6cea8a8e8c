"""The ledger of earlier checks, with which a rerun skips unchanged runs."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from typing import Any, Final, TypeVar

from evalstream._version import __version__
from evalstream.batch.ledger import database, records
from evalstream.batch.ledger.run_state import CompanionFinder, RunState, read_state
from evalstream.batch.serialize import (
    decode_stored_finding,
    decode_stored_run,
    encode_run,
    fingerprint,
)
from evalstream.io.names import is_remote, printable
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck, CannotWrite, UsageError
from evalstream.model.finding import Finding
from evalstream.model.options import Options, RowRouting
from evalstream.model.report import GoneRuns
from evalstream.model.run import Run
from evalstream.model.run_summary import RunSummary
from evalstream.reporters.overview import CommonFolder
from evalstream.rules.inputs import ES001, ES004, ES005
from evalstream.stats.run_links import RunLinks, decode_links

MOST_PENDING: Final = 100
MOST_PENDING_BYTES: Final = 4 << 20
MOST_PENDING_SECONDS: Final = 1.0
"""Limits of records in memory; a further record then triggers a write."""

MOST_GONE: Final = 20
"""How many runs that are gone are named."""

UNKNOWN_CHARACTER: Final = "\ufffd"

FRESH_NANOSECONDS: Final = 1_000_000_000
"""How long the state of a run that was looked up is used for its check."""

UNSETTLED: Final = frozenset({ES001.code, ES004.code, ES005.code})
"""Codes that mean that some files were not read in full."""

_FIND: Final = f"SELECT {records.COLUMNS} FROM run WHERE key = ?"  # noqa: S608 - our own names
_FIND_CHUNKS: Final = "SELECT data FROM chunk WHERE run = ? AND kind = ? ORDER BY number"
_FIND_BELOW: Final = "SELECT name, place FROM run WHERE place >= ? AND place < ? ORDER BY name, key"
_DELETE_CHUNKS: Final = "DELETE FROM chunk WHERE run = ?"
_PLACES: Final = ", ".join("?" * len(records.LedgerRecord._fields))
_INSERT: Final = f"INSERT OR REPLACE INTO run ({records.COLUMNS}) VALUES ({_PLACES})"  # noqa: S608 - our own names
_INSERT_CHUNK: Final = "INSERT INTO chunk (run, kind, number, data) VALUES (?, ?, ?, ?)"


_Value = TypeVar("_Value")


class CachedRun(NamedTuple):
    """The result of a run that need not be checked again.

    `summary.unchanged` is the time of its check. `findings` and `links` are copies that do not
    depend on the ledger, and iterating raises CannotCheck where they are not valid. `links` is None
    where none were requested. `ledger` is its name.
    """

    summary: RunSummary
    findings: Iterator[Finding]
    links: Iterator[dict[str, Any]] | None
    ledger: str

    def load_links(self) -> RunLinks | None:
        """Return the links, or None where there are none. Raises CannotCheck."""
        # A run of a format without links was stored with none.
        first = None if self.links is None else next(self.links, None)
        if self.links is None or first is None:
            return None
        try:
            return decode_links(chain([first], self.links))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CannotCheck(f"{self.ledger}: {database.DAMAGE}") from error


class _Pending(NamedTuple):
    """A record that is not yet written, with its chunks."""

    record: records.LedgerRecord
    findings: records.ByteStore
    links: records.ByteStore | None


class Ledger(AbstractContextManager["Ledger"]):
    """Stores results of runs in a SQLite file, which other processes may use at the same time.

    A run has one record: its last check, whatever the options were. Records are written in groups,
    or at once if the last write was a second ago. Raises UsageError where the options route rows,
    and CannotWrite where the file is not a ledger of this version, cannot be written, or stays
    locked for a minute. With `overwrite` another file is replaced.
    """

    def __init__(self, path: str, options: Options, *, overwrite: bool = False) -> None:
        if options.routing != RowRouting():
            raise UsageError(
                "--ledger cannot be combined with options that pass rows on or seal them"
            )
        if is_remote(path):
            raise UsageError("--ledger must be a file, not a URL")
        self._path = path
        self._settings = fingerprint(options)
        self._wants_links, self._wants_sketches = options.links, options.sketches
        self._companions, self._folder = CompanionFinder(), CommonFolder()
        self._looked_up: dict[int, tuple[Run, RunState | None]] = {}
        self._pending: list[_Pending] = []
        self._pending_bytes = 0
        self._written = time.monotonic()
        self._connection = database.open_for_writing(path, overwrite=overwrite)

    def find_each(self, runs: Sequence[Run]) -> list[CachedRun | None]:
        """Return the stored results of runs, None where one must be checked, under one lock."""
        states = [read_state(run, self._companions) for run in runs]
        for state in states:
            if state is not None:
                self._folder.add(state.place)
        self._looked_up = {id(run): (run, state) for run, state in zip(runs, states, strict=True)}
        with database.translate_sqlite_errors(self._path, CannotWrite):
            return database.snapshot(
                self._connection, lambda: [self._found_whole(state) for state in states]
            )

    def find_gone(self) -> GoneRuns:
        """Return the runs below the common folder of this call whose first file is gone."""
        folder = self._folder.prefix
        if not folder:
            return GoneRuns()
        self.flush()
        with database.translate_sqlite_errors(self._path, CannotWrite):
            return database.snapshot(
                self._connection, lambda: find_gone_below(self._connection, folder)
            )

    def begin(self, run: Run) -> RunState | None:
        """Return the state of a run's files before its check, None for one such as a stream.

        The state is that of the last `find_each`, once, if that was just now.
        """
        if self._is_due():
            self.flush()
        known = self._looked_up.pop(id(run), None)
        if known is None or (known[1] and time.time_ns() - known[1].taken > FRESH_NANOSECONDS):
            return read_state(run, self._companions)
        return known[1]

    def record(
        self,
        state: RunState | None,
        summary: RunSummary,
        findings: Iterable[Finding],
        links: Iterable[dict[str, Any]] | None = None,
    ) -> None:
        """Store the result of a run under its state before the check. Raises CannotWrite."""
        if state is None:
            return
        key = state.key
        found = records.encode_all(map(Finding.as_dict, findings), key, records.FINDINGS)
        stored_links = None if links is None else records.encode_all(links, key, records.LINKS)
        is_read = summary.incomplete_reason is None and not UNSETTLED & summary.counts.keys()
        record = records.LedgerRecord(
            key=key,
            name=summary.file or summary.aggregate or summary.inputs or "",
            place=state.place,
            verdict=summary.verdict,
            checked=_iso(state.taken // 1_000_000_000),
            tool=__version__,
            settled=int(state.is_settled and is_read),
            settings=self._settings,
            state=state.text,
            findings=len(found),
            links=None if stored_links is None else len(stored_links),
            summary=records.encode(encode_run(summary), key),
        )
        self._pending.append(_Pending(record.seal(), found, stored_links))
        self._pending_bytes += found.size + (0 if stored_links is None else stored_links.size)
        if self._is_due():
            self.flush()

    def flush(self) -> None:
        """Write all pending records in one transaction. Raises CannotWrite."""
        if self._pending:
            with (
                database.translate_sqlite_errors(self._path, CannotWrite),
                database.exclusive(self._connection),
            ):
                for pending in self._pending:
                    self._write(pending)
            self._pending.clear()
            self._pending_bytes = 0
        self._written = time.monotonic()

    def close(self) -> None:
        """Write the pending records, and close the file. Raises CannotWrite."""
        try:
            self.flush()
        finally:
            self._connection.close()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close, also after an error, which takes precedence over an error of closing."""
        if kind is None:
            self.close()
            return
        with suppress(CannotWrite):
            self.close()

    def _is_due(self) -> bool:
        return bool(self._pending) and (
            len(self._pending) >= MOST_PENDING
            or self._pending_bytes >= MOST_PENDING_BYTES
            or time.monotonic() - self._written >= MOST_PENDING_SECONDS
        )

    def _found_whole(self, state: RunState | None) -> CachedRun | None:
        """Read the record of a run; None where it is missing, outdated or damaged."""
        try:
            return None if state is None else self._find_record(state)
        except records.Damaged:
            return None
        except database.SQLITE_ERRORS as error:
            if database.is_damage(error):
                return None
            raise

    def _find_record(self, state: RunState) -> CachedRun | None:
        """Read the record of a run with this state of its files. Raises Damaged."""
        key = state.key
        row = self._connection.execute(_FIND, (key,)).fetchone()
        if row is None:
            return None
        record = records.LedgerRecord(*row)
        if not (record.is_whole and record.settled):
            return None
        if (record.settings, record.state) != (self._settings, state.text):
            return None
        if self._wants_links and record.links is None:
            return None
        found = read_chunks(self._connection, key, records.FINDINGS, record.findings)
        stored_links = None
        if self._wants_links and record.links is not None:
            stored = read_chunks(self._connection, key, records.LINKS, record.links)
            stored_links = decode_values(self._path, stored, key, records.LINKS, dict[str, Any])
        try:
            summary = decode_stored_run(records.decode(record.summary, key))
        except (KeyError, TypeError, ValueError) as error:
            raise records.Damaged from error
        if (summary.verdict, type(record.checked)) != (record.verdict, str):
            raise records.Damaged
        if not self._wants_sketches:
            summary.sketch = None
        elif summary.rows and summary.sketch is None:
            return None
        summary.unchanged = record.checked
        findings = decode_values(self._path, found, key, records.FINDINGS, decode_stored_finding)
        return CachedRun(summary, findings, stored_links, printable(self._path))

    def _write(self, pending: _Pending) -> None:
        self._connection.execute(_INSERT, pending.record)
        chunks = {records.FINDINGS: pending.findings, records.LINKS: pending.links or ()}
        write_chunks(self._connection, pending.record.key, chunks)


def find_settled(connection: sqlite3.Connection, key: bytes, settings: str) -> str | None:
    """Return the time of the check of a run that need not be checked again while it is the same."""
    row = connection.execute(_FIND, (key,)).fetchone()
    record = None if row is None else records.LedgerRecord(*row)
    is_usable = record is not None and record.is_whole and record.settled
    return record.checked if record and is_usable and record.settings == settings else None


def read_chunks(
    connection: sqlite3.Connection, key: bytes, kind: int, count: int
) -> records.ByteStore:
    """Return a copy of the chunks of a kind. Raises Damaged where some are missing or changed."""
    found = connection.execute(_FIND_CHUNKS, (key, kind)) if count else ()
    return records.copy_verified(found, count, key, kind)


def decode_values(
    path: str, stored: records.ByteStore, key: bytes, kind: int, decode: Callable[[Any], _Value]
) -> Iterator[_Value]:
    """Iterate over stored values of a kind. Raises CannotCheck where one is not valid."""
    try:
        for value in records.decode_all(stored, key, kind):
            yield decode(value)
    except (records.Damaged, KeyError, TypeError, ValueError) as error:
        raise CannotCheck(f"{printable(path)}: {database.DAMAGE}") from error


def write_chunks(
    connection: sqlite3.Connection, key: bytes, chunks: Mapping[int, Iterable[bytes]]
) -> None:
    """Replace all chunks under a key by others, given by kind."""
    connection.execute(_DELETE_CHUNKS, (key,))
    for kind, stored in chunks.items():
        rows = ((key, kind, number, data) for number, data in enumerate(stored))
        connection.executemany(_INSERT_CHUNK, rows)


def find_gone_below(connection: sqlite3.Connection, folder: str) -> GoneRuns:
    """Return the runs below a folder whose first file is gone; its name ends with a slash."""
    count = 0
    names: list[str] = []
    # The character after the slash ends the names below a folder.
    for name, place in connection.execute(_FIND_BELOW, (folder, f"{folder[:-1]}0")):
        # A name that is not valid UTF-8 is stored with other characters.
        if UNKNOWN_CHARACTER in place or os.path.lexists(place):
            continue
        count += 1
        if len(names) < MOST_GONE:
            names.append(name)
    return GoneRuns(count, tuple(names))


@lru_cache(maxsize=16)
def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
