"""Entries of a ledger, read in pages and filtered, for listing and export."""

from __future__ import annotations

import csv
import io
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from evalstream.batch.ledger.database import DAMAGE, open_for_reading, snapshot
from evalstream.batch.ledger.records import COLUMNS, Damaged, LedgerRecord, decode
from evalstream.batch.serialize import STORED_RUN, describe_misfit
from evalstream.formats.registry import CATALOGUE
from evalstream.io.names import is_remote, printable
from evalstream.io.output import Output
from evalstream.model.claim import STATES, describe_states
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.finding import Severity
from evalstream.model.run_summary import VERDICTS
from evalstream.model.text import count_noun, describe_unknown, on_one_line
from evalstream.parsing.json import dumps_visible, text_or_none

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
    if under is not None:
        under = printable(under if is_remote(under) else os.path.abspath(under)).rstrip("/")
    return _matching(path, verdict, prefixes, under)


def _matching(
    path: str, verdict: str | None, prefixes: tuple[str, ...], folder: str | None
) -> Iterator[LedgerEntry]:
    for record in _records(path):
        if folder is not None:
            place = record.place if isinstance(record.place, str) else ""
            if place != folder and not place.startswith(f"{folder}/"):
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
        # SQLite does not enforce the types of columns.
        is_typed = isinstance(record.checked, str) and isinstance(record.tool, str)
        if record.verdict not in VERDICTS or not is_typed or describe_misfit(summary, STORED_RUN):
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


def _make_damaged(record: LedgerRecord) -> LedgerEntry:
    name = text_or_none(record.name)
    numbers = (0, 0, 0, 0, 0)
    return LedgerEntry(
        name, None, None, None, DAMAGED, *numbers, {}, {}, None, None, 0.0, settled=False
    )


_HEADINGS: Final = (
    f"{'verdict':11}  {'rows':>13}  {'errors':>10}  {'warnings':>10}  {'infos':>10}"
    f"  {'checked':20}  {'tool':8}  run"
)
_BEGINNING: Final = re.compile(
    rb'verdict +rows +errors +warnings |0 runs\n|\{"file":[^\n]*"settled":(?:true|false)\}|'
    + ",".join(LedgerEntry._fields).encode()
)
"""The beginning of an export: a heading, a total without entries, or an entry."""

_BEGINS_A_FORMULA: Final = ("=", "+", "-", "@")


def export_entries(entries: Iterable[LedgerEntry], form: str, output: Output) -> None:
    """Write entries in one of `FORMS`, in constant memory. Raises UsageError and OSError."""
    if form not in FORMS:
        raise UsageError(describe_unknown("format", form, FORMS))
    FORMS[form](entries, output)


def wrote(head: bytes) -> bool:
    """Tell by its first bytes whether a file is an export of a ledger."""
    return _BEGINNING.match(head) is not None


def _text(entries: Iterable[LedgerEntry], output: Output) -> None:
    totals = dict.fromkeys((*VERDICTS, DAMAGED), 0)
    unsettled = 0
    for entry in entries:
        if not any(totals.values()):
            output.write(f"{_HEADINGS}\n")
        totals[entry.verdict] = totals.get(entry.verdict, 0) + 1
        unsettled += not entry.settled
        output.write(f"{on_one_line(_line(entry))}\n")
    parts = [f"{count:,} {verdict}" for verdict, count in totals.items() if count]
    total = count_noun(sum(totals.values()), "run")
    again = f"; {unsettled:,} will always be checked again" if unsettled else ""
    output.write(f"{total}{': ' if parts else ''}{', '.join(parts)}{again}\n")


def _line(entry: LedgerEntry) -> str:
    name = entry.file or entry.aggregate or ""
    if entry.file and entry.aggregate:
        name = f"{entry.file} with {entry.aggregate}"
    verdict = entry.verdict.upper() if entry.verdict == "failed" else entry.verdict
    claims = describe_states(entry.claims)
    codes = ", ".join(f"{code} {count:,}" for code, count in sorted(entry.counts.items()))
    return (
        f"{verdict:11}  {entry.rows:13,}  {entry.errors:10,}  {entry.warnings:10,}"
        f"  {entry.notices:10,}  {entry.checked or '':20}  {entry.tool or '':8}  {name}"
        f"{': ' if codes else ''}{codes}"
        f"{'; claims: ' if claims else ''}{claims}"
    )


def _json_lines(entries: Iterable[LedgerEntry], output: Output) -> None:
    for entry in entries:
        output.write(dumps_visible(entry._asdict()) + b"\n")


def _csv(entries: Iterable[LedgerEntry], output: Output) -> None:
    """Write a table with a heading, as in RFC 4180 but with LF line ends."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    writer.writerow(LedgerEntry._fields)
    for entry in entries:
        writer.writerow(map(_cell, entry))
        output.write(line.getvalue())
        line.seek(0)
        line.truncate()
    output.write(line.getvalue())


def _cell(value: Any) -> Any:
    """Return a cell on one line; an apostrophe marks what spreadsheets take as a formula."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return dumps_visible(value).decode()
    if not isinstance(value, str):
        return value
    shown = on_one_line(value)
    return f"'{shown}" if shown.lstrip().startswith(_BEGINS_A_FORMULA) else shown


FORMS: Final[Mapping[str, Callable[[Iterable[LedgerEntry], Output], None]]] = {
    "text": _text,
    "jsonl": _json_lines,
    "csv": _csv,
}
