"""Check one run of whatever system its files belong to."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final

from evalstream.discovery.unused_options import refuse_idle
from evalstream.engine.collector import finding_of
from evalstream.formats.eee import row_view
from evalstream.formats.eee.checker import prepare
from evalstream.formats.eee.late_aggregate import check_run
from evalstream.formats.registry import CATALOGUE, UNKNOWN
from evalstream.io.beginning import Beginning
from evalstream.io.compression import compression_of
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.io.standard_input import STANDARD_INPUT
from evalstream.model.finding import Finding, Violation
from evalstream.model.options import Options
from evalstream.model.report import RunSummary
from evalstream.model.run import STDIN, Run
from evalstream.model.signals import Stopped
from evalstream.parsing.peek import ARRAY, NOTHING, OBJECT, PEEK_BYTES, peek
from evalstream.rules.inputs import ES005

_PLACES: Final = {
    ("eee", "aggregate"): "aggregate",
    ("infereval", "evaluation"): "rows",
    ("infereval", "benchmark"): "aggregate",
    ("harpia", "log"): "rows",
    ("harpia", "output"): "aggregate",
    ("harpia", "input"): "inputs",
    **{("evalguard", kind): "rows" for kind in ("task", "metric", "threshold", "report")},
}
"""Where documents stand in a run, by their format and kind; rows are what they are taken for."""

UNCHECKED: Final = "nothing was checked: {}"

IDLE_SECONDS: Final = 0.005
"""How long a line waits for what may follow it where something waits for the rows."""


def check_any(
    run: Run, options: Options, show: Callable[[Finding], None], progress: Progress
) -> RunSummary:
    """Check one run and hand its findings to `show`, in order.

    Standard input shows by its content of which system it is. Raises what the check raises, and
    UsageError where options do not go with what standard input holds.
    """
    is_alone = run.rows == STDIN and run.aggregate is None and run.inputs is None
    if is_alone and options.input_format == "auto":
        try:
            run = _shown(run, options)
        except Stopped as stopped:
            incomplete_reason = f"stopped by {stopped.name} before any row came"
            return RunSummary(run.rows, None, run.format, incomplete_reason=incomplete_reason)
        if not run.format:
            violation = ES005.violation(UNKNOWN)
            return not_checked(
                Run(STDIN, None), violation, UNCHECKED.format(UNKNOWN), options, show
            )
        refuse_idle(options, run.format)
    summary: RunSummary
    if run.format == row_view.NAME:
        summary = check_run(run, options, show, progress)
    else:
        system = import_module(f"evalstream.formats.{run.format}.checker")
        summary = system.check(run, options, show, progress)
    summary.selected, summary.ignored = options.select, options.ignore
    return summary


def not_checked(
    run: Run,
    violation: Violation,
    incomplete_reason: str,
    options: Options,
    show: Callable[[Finding], None],
) -> RunSummary:
    """Say of a run why nothing of it was checked, and show the finding that says so."""
    rows, aggregate = (
        None if path is None else printable(path) for path in (run.rows, run.aggregate)
    )
    summary = RunSummary(rows, aggregate, run.format, incomplete_reason=incomplete_reason)
    summary.selected, summary.ignored = options.select, options.ignore
    selection = CATALOGUE.selection(options)
    if violation.code in selection:
        finding = finding_of(violation, rows or aggregate or "", selection)
        summary.count(violation.code, finding.severity, 1)
        show(finding)
    return summary


def _shown(run: Run, options: Options) -> Run:
    """Return the run that standard input shows to be; rows where nothing shows another.

    The format is empty where it is a document, and of none that is known.
    """
    is_hurried = options.routing.is_interactive
    if is_hurried:
        prepare(options)
    try:
        kind = _kind(is_hurried=is_hurried)
    except OSError:
        return run  # its check says why it cannot be read
    if kind is None and not is_hurried and _is_other_document():
        return Run(STDIN, None, format="")
    if kind is None or kind not in _PLACES:
        return run
    place = _PLACES[kind]
    return Run(
        rows=STDIN if place == "rows" else None,
        aggregate=STDIN if place == "aggregate" else None,
        inputs=STDIN if place == "inputs" else None,
        format=kind[0],
    )


def _kind(*, is_hurried: bool) -> tuple[str, str] | None:
    """Return what standard input is, as soon as what has come of it shows that."""
    seen = b""
    while (more := STANDARD_INPUT.peek()) is not None:
        seen = more
        kind = _kind_of(seen)
        if kind is not None or _is_settled(seen) or (is_hurried and _pauses(seen)):
            return kind
    return _kind_of(seen)


def _pauses(seen: bytes) -> bool:
    """Tell whether a line is there, and no more comes for a while."""
    return b"\n" in seen and not STANDARD_INPUT.wait(IDLE_SECONDS)


def _is_other_document() -> bool:
    """Tell whether standard input is one JSON object over several lines, which rows are not.

    Where it looks so, it is waited for to its end, as another object may follow.
    """
    while _looks_like_document(STANDARD_INPUT.seen):
        if STANDARD_INPUT.peek() is None:
            return Beginning("", b"", lambda: STANDARD_INPUT.seen).document is not None
    return False


def _looks_like_document(seen: bytes) -> bool:
    shown = peek(seen)
    return shown.kind == OBJECT and shown.is_whole and b"\n" in seen.strip()


def _kind_of(seen: bytes) -> tuple[str, str] | None:
    # Most runs come from files, and need no detector here.
    from evalstream.discovery.detect_format import kind_of

    kind = kind_of(Beginning("", seen[:PEEK_BYTES], lambda: seen))
    return None if kind is None else (kind.format, kind.document)


def _is_settled(seen: bytes) -> bool:
    """Tell whether more bytes would show no more: rows, packed bytes, or no JSON at all."""
    if len(seen) >= PEEK_BYTES or compression_of(seen) is not None:
        return True
    shown = peek(seen)
    if shown == NOTHING:
        return bool(seen.strip())
    # No JSON document has an object at the beginning of a line but its first, so these are rows.
    is_row = shown.is_whole and b"\n" in seen
    return shown.kind != ARRAY and (is_row or b"\n{" in seen.lstrip())
