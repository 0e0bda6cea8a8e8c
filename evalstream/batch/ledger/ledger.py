"""The ledger: which runs were checked before, and what came of it, so that a rerun skips them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Generic, NamedTuple, TypeVar

from evalstream._version import __version__
from evalstream.batch.fingerprint import fingerprint
from evalstream.batch.ledger.database import (
    FAULTS,
    exclusive,
    is_damage,
    open_for_writing,
    snapshot,
    translate_sqlite_errors,
)
from evalstream.batch.ledger.records import (
    COLUMNS,
    FINDINGS,
    LINKS,
    Damaged,
    Kept,
    LedgerRecord,
    packed,
    packed_all,
    unpacked,
    unpacked_all,
    verified,
)
from evalstream.batch.ledger.run_state import RunState, run_state
from evalstream.batch.serialize import decode_finding, decode_run, encode_finding, encode_run
from evalstream.io.remote import is_remote
from evalstream.model.errors import CannotWrite, UsageError
from evalstream.model.finding import Finding
from evalstream.model.options import Options, RowRouting
from evalstream.model.report import RunSummary
from evalstream.model.run import Run
from evalstream.rules.inputs import ES001, ES004, ES005

MOST_PENDING: Final = 50
MOST_PENDING_BYTES: Final = 4 << 20
MOST_PENDING_SECONDS: Final = 1.0
"""When records are written at the latest, if further ones come."""

UNSETTLED: Final = frozenset({ES001.code, ES004.code, ES005.code})
"""Codes which say that the files, as they were, did not come to be seen in full."""

_FIND: Final = f"SELECT {COLUMNS} FROM run WHERE key = ?"  # noqa: S608 - our own names
_FIND_CHUNKS: Final = "SELECT data FROM chunk WHERE run = ? AND kind = ? ORDER BY number"
_FORGET_CHUNKS: Final = "DELETE FROM chunk WHERE run = ?"
_KEEP: Final = (
    f"INSERT OR REPLACE INTO run ({COLUMNS}) VALUES ({', '.join('?' * len(LedgerRecord._fields))})"  # noqa: S608 - our own names
)
_KEEP_CHUNK: Final = "INSERT INTO chunk (run, kind, number, data) VALUES (?, ?, ?, ?)"


_Value = TypeVar("_Value")


class _Again(Generic[_Value]):
    """What can be iterated over again and again, by a call that begins anew."""

    def __init__(self, begin: Callable[[], Iterator[_Value]]) -> None:
        self._begin = begin

    def __iter__(self) -> Iterator[_Value]:
        """Begin anew."""
        return self._begin()


class CachedRun(NamedTuple):
    """What came of a run that need not be checked again.

    `summary.unchanged` says when it was checked. `findings` and `links` can be iterated over
    again and again; they are a copy, whatever becomes of the ledger. `links` is None where none
    were asked for.
    """

    summary: RunSummary
    findings: Iterable[Finding]
    links: Iterable[dict[str, Any]] | None


class _Pending(NamedTuple):
    """A record that is yet to be written, with its chunks."""

    record: LedgerRecord
    findings: Kept
    links: Kept | None


class Ledger:
    """Remembers runs in a SQLite file, which other processes may use at the same time.

    One run has one record: that of its last check, whatever the options were. Records are
    written some together, at once if the last were written a second ago. Raises UsageError where
    the options say what is to become of rows, and CannotWrite where the file is no ledger of
    this layout, cannot be written, or stays locked for a minute. With `overwrite` a file that is
    no ledger is replaced.
    """

    def __init__(self, path: str, options: Options, *, overwrite: bool = False) -> None:
        if options.flow != RowRouting():
            raise UsageError("with a ledger rows are only checked, not passed on or sealed")
        if is_remote(path):
            raise UsageError("a ledger is a file, not a URL")
        self._path = path
        self._settings = fingerprint(options)
        self._wants_links = options.links
        self._last: tuple[Run, RunState | None] | None = None
        self._pending: list[_Pending] = []
        self._pending_bytes = 0
        self._written = time.monotonic()
        self._connection = open_for_writing(path, overwrite=overwrite)

    def known(self, run: Run) -> CachedRun | None:
        """Return what came of a run, None where it must be checked.

        That is so where it was not checked by this version under these options, anything about
        its files changed since, something could not be looked at then, or its record is damaged.
        """
        standing = run_state(run)
        self._last = run, standing
        if standing is None:
            return None
        with translate_sqlite_errors(self._path, CannotWrite):
            try:
                return snapshot(self._connection, lambda: self._found(standing))
            except Damaged:
                return None
            except FAULTS as error:
                if is_damage(error):
                    return None
                raise

    def begin(self, run: Run) -> RunState | None:
        """Return how the files of a run look; to be called before its check begins.

        Directly after `known` nothing is looked at twice. None where a run cannot be recognised
        later, such as a stream.
        """
        last, self._last = self._last, None
        if self._is_due():
            self.flush()
        return last[1] if last is not None and last[0] is run else run_state(run)

    def record(
        self,
        standing: RunState | None,
        summary: RunSummary,
        findings: Iterable[Finding],
        links: Iterable[dict[str, Any]] | None = None,
    ) -> None:
        """Remember what came of a run, with the standing from before its check.

        `findings` are those that were shown; `links` are JSON, None where none were gathered.
        Does nothing for a run without a standing. Raises CannotWrite.
        """
        if standing is None:
            return
        key = standing.key
        found = packed_all(map(encode_finding, findings), key, FINDINGS)
        ties = None if links is None else packed_all(links, key, LINKS)
        record = LedgerRecord(
            key=key,
            name=summary.file or summary.aggregate or summary.inputs or "",
            place=standing.place,
            verdict=summary.verdict,
            checked=_iso(standing.taken),
            tool=__version__,
            settled=int(standing.is_settled and _is_settled(summary)),
            settings=self._settings,
            standing=standing.text,
            findings=len(found),
            links=None if ties is None else len(ties),
            summary=packed(encode_run(summary), key),
        )
        self._pending.append(_Pending(record.sealed(), found, ties))
        self._pending_bytes += found.size + (0 if ties is None else ties.size)
        if self._is_due():
            self.flush()

    def flush(self) -> None:
        """Write all records that are yet to be written, all or none. Raises CannotWrite."""
        if self._pending:
            with translate_sqlite_errors(self._path, CannotWrite), exclusive(self._connection):
                for pending in self._pending:
                    self._write(pending)
            self._pending.clear()
            self._pending_bytes = 0
        self._written = time.monotonic()

    def close(self) -> None:
        """Write what is yet to be written, and let go of the file. Raises CannotWrite."""
        try:
            self.flush()
        finally:
            self._connection.close()

    def __enter__(self) -> Ledger:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close, even after an error, which then says more than another one."""
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

    def _found(self, standing: RunState) -> CachedRun | None:
        """Read what is known of a run whose files look like that. Raises Damaged."""
        key = standing.key
        row = self._connection.execute(_FIND, (key,)).fetchone()
        if row is None:
            return None
        record = LedgerRecord(*row)
        if not (record.is_whole and record.settled):
            return None
        if (record.settings, record.standing) != (self._settings, standing.text):
            return None
        if self._wants_links and record.links is None:
            return None
        found, ties = self._chunks(key, FINDINGS, record.findings), None
        if self._wants_links and record.links is not None:
            kept = self._chunks(key, LINKS, record.links)
            ties = _Again(lambda: unpacked_all(kept, key, LINKS))
        try:
            summary = decode_run(unpacked(record.summary, key))
        except (AttributeError, KeyError, TypeError) as error:
            raise Damaged from error
        summary.unchanged = record.checked
        findings = _Again(lambda: map(decode_finding, unpacked_all(found, key, FINDINGS)))
        return CachedRun(summary, findings, ties)

    def _chunks(self, key: bytes, kind: int, count: int) -> Kept:
        if not count:
            return Kept()
        return verified(self._connection.execute(_FIND_CHUNKS, (key, kind)), count, key, kind)

    def _write(self, pending: _Pending) -> None:
        key = pending.record.key
        self._connection.execute(_FORGET_CHUNKS, (key,))
        self._connection.execute(_KEEP, pending.record)
        for kind, kept in ((FINDINGS, pending.findings), (LINKS, pending.links or ())):
            rows = ((key, kind, number, data) for number, data in enumerate(kept))
            self._connection.executemany(_KEEP_CHUNK, rows)


def _is_settled(summary: RunSummary) -> bool:
    """Tell whether everything of a run was looked at, as far as its summary says."""
    return summary.trouble is None and not UNSETTLED & summary.counts.keys()


def _iso(nanoseconds: int) -> str:
    """Write a time as ISO 8601 does, in UTC and whole seconds."""
    moment = datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
