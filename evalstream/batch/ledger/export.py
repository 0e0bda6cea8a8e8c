"""Export of ledger entries: text, JSON Lines and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from evalstream.batch.ledger.entries import DAMAGED, LedgerEntry
from evalstream.io.output import Output
from evalstream.model.claim import describe_states
from evalstream.model.errors import UsageError
from evalstream.model.run_summary import VERDICTS
from evalstream.model.text import count_noun, describe_unknown, on_one_line
from evalstream.parsing.json import dumps_visible

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


def export(entries: Iterable[LedgerEntry], form: str, output: Output) -> None:
    """Write entries in one of `FORMS`, in constant memory.

    Raises UsageError for an unknown form, OSError where the output cannot be written.
    """
    if form not in FORMS:
        raise UsageError(describe_unknown("format", form, FORMS))
    FORMS[form](entries, output)


def wrote(head: bytes) -> bool:
    """Tell by its first bytes whether a file is an export of a ledger."""
    return _BEGINNING.match(head) is not None


def _text(entries: Iterable[LedgerEntry], output: Output) -> None:
    """Write an aligned line for each entry, and a total."""
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
        writer.writerow(map(_cell, _flat(entry).values()))
        output.write(line.getvalue())
        line.seek(0)
        line.truncate()
    output.write(line.getvalue())


def _cell(value: Any) -> Any:
    """Return a cell on one line that spreadsheets do not treat as a formula.

    File names may contain anything; an apostrophe marks such a cell as text. The other forms keep
    all names unchanged.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return value
    shown = on_one_line(value)
    return f"'{shown}" if shown.lstrip().startswith(_BEGINS_A_FORMULA) else shown


def _flat(entry: LedgerEntry) -> dict[str, Any]:
    """Return an entry whose counts are texts."""
    texts = {name: dumps_visible(getattr(entry, name)).decode() for name in ("counts", "claims")}
    return {**entry._asdict(), **texts}


FORMS: Final[Mapping[str, Callable[[Iterable[LedgerEntry], Output], None]]] = {
    "text": _text,
    "jsonl": _json_lines,
    "csv": _csv,
}
