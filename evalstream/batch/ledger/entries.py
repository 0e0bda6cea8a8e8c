"""Entries of a ledger, read in pages and filtered, for listing and export."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from evalstream.batch.ledger.database import DAMAGE, open_for_reading, snapshot
from evalstream.batch.ledger.records import COLUMNS, Damaged, LedgerRecord, decode
from evalstream.batch.stored_shapes import STORED_RUN, describe_misfit
from evalstream.formats.registry import CATALOGUE
from evalstream.io.names import printable
from evalstream.io.remote import is_remote
from evalstream.model.claim import STATES
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.finding import Severity
from evalstream.model.run_summary import VERDICTS
from evalstream.model.text import describe_unknown
from evalstream.parsing.json import text_or_none

DAMAGED: Final = "damaged"
"""The verdict of an entry whose bytes changed; its run will be checked again."""

PAGE: Final = 500

_NEXT: Final = (
    f"SELECT {COLUMNS} FROM run WHERE (name, key) > (?, ?) ORDER BY name, key LIMIT {PAGE}"  # noqa: S608 - our own names
)


class LedgerEntry(NamedTuple):
    """One run in a ledger, in the order of the columns of exports.

    `counts` holds occurrences by code; `errors`, `warnings` and `notices` are their sums by
    severity, and `claims` counts claims by state. `checked` is the start of its check (ISO 8601,
    UTC), and `tool` the version that checked it. A run that is not `settled` is always checked
    again. A damaged entry has only its name.
    """

    file: str | None
    aggregate: str | None
    format: str | None
    version: str | None
    verdict: str
    rows: int
    bytes: int
    errors: int
    warnings: int
    notices: int
    counts: dict[str, int]
    claims: dict[str, int]
    checked: str | None
    tool: str | None
    seconds: float
    settled: bool


def entries(
    path: str, verdict: str | None = None, codes: Sequence[str] = (), under: str | None = None
) -> Iterator[LedgerEntry]:
    """Iterate over the entries of a ledger, by name.

    The arguments select entries with a verdict, with findings of one of `codes`, which are codes,
    beginnings of codes and names, and whose first file is in or below a folder or URL. Other
    processes may write meanwhile. Raises UsageError for arguments that no entry can match, and
    CannotCheck where the file is not a ledger or is damaged.
    """
    if verdict is not None and verdict not in (*VERDICTS, DAMAGED):
        raise UsageError(describe_unknown("verdict", verdict, (*VERDICTS, DAMAGED)))
    prefixes = CATALOGUE.expand_codes(codes)
    with open_for_reading(path):
        pass  # refuse another file here, not at the first entry
    return _matching(path, verdict, prefixes, None if under is None else _describe_place(under))


def _matching(
    path: str, verdict: str | None, prefixes: tuple[str, ...], folder: str | None
) -> Iterator[LedgerEntry]:
    for record in _records(path):
        if folder is not None and not _is_under(record.place, folder):
            continue
        entry = _entry(record)
        if verdict is not None and entry.verdict != verdict:
            continue
        if not prefixes or any(code.startswith(prefixes) for code in entry.counts):
            yield entry


def _records(path: str) -> Iterator[LedgerRecord]:
    with open_for_reading(path) as connection:
        name, key = "", b""
        while True:
            page = snapshot(connection, partial(_page, connection, name, key))
            for row in page:
                yield LedgerRecord(*row)
            if len(page) < PAGE:
                return
            before = name, key
            name, key = page[-1][1], page[-1][0]
            if not _follows((name, key), before):
                raise CannotCheck(f"{printable(path)}: {DAMAGE}")


def _follows(last: tuple[Any, Any], before: tuple[Any, Any]) -> bool:
    """Tell whether a page ends behind the one before; a damaged file could have no last page."""
    try:
        return last > before
    except TypeError:
        return False


def _page(connection: sqlite3.Connection, name: str, key: bytes) -> list[Any]:
    return connection.execute(_NEXT, (name, key)).fetchall()


def _entry(record: LedgerRecord) -> LedgerEntry:
    try:
        if not record.is_whole:
            return _make_damaged(record)
        summary: dict[str, Any] = decode(record.summary, record.key)
        if describe_misfit(summary, STORED_RUN) is not None or not _is_typed(record):
            return _make_damaged(record)
        severities = summary["severities"]
        return LedgerEntry(
            # A run of one document that is neither rows nor an aggregate has no other name.
            file=summary["file"] or (None if summary["aggregate"] else summary.get("inputs")),
            aggregate=summary["aggregate"],
            format=summary["format"],
            version=summary["version"],
            verdict=record.verdict,
            rows=summary["rows"],
            bytes=summary["bytes"],
            errors=severities.get(Severity.ERROR.label, 0),
            warnings=severities.get(Severity.WARNING.label, 0),
            notices=severities.get(Severity.INFO.label, 0),
            counts=summary["counts"],
            claims={state.value: summary["claims"][state.value] for state in STATES},
            checked=record.checked,
            tool=record.tool,
            seconds=summary["seconds"],
            settled=bool(record.settled),
        )
    except (Damaged, KeyError, TypeError, AttributeError):
        return _make_damaged(record)


def _is_typed(record: LedgerRecord) -> bool:
    """Tell whether the columns that are shown have their types, which SQLite does not enforce."""
    return (
        record.verdict in VERDICTS
        and isinstance(record.checked, str)
        and isinstance(record.tool, str)
    )


def _make_damaged(record: LedgerRecord) -> LedgerEntry:
    name = text_or_none(record.name)
    numbers = (0, 0, 0, 0, 0)
    return LedgerEntry(
        name, None, None, None, DAMAGED, *numbers, {}, {}, None, None, 0.0, settled=False
    )


def _describe_place(under: str) -> str:
    place = under if is_remote(under) else os.path.abspath(under)
    return printable(place).rstrip("/")


def _is_under(place: Any, folder: str) -> bool:
    return isinstance(place, str) and (place == folder or place.startswith(f"{folder}/"))
