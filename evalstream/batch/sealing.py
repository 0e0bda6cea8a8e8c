"""Seal a run whose own document has the seal: check it as it will be, then write that document."""

from __future__ import annotations

from typing import Final

from evalstream.batch.single import GuardedCheck, check_any
from evalstream.engine.sealed_document import seal_diff, write
from evalstream.formats.registry import FORMATS, MAIN
from evalstream.io.inputs import document_bytes
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.model.changes import SealedText
from evalstream.model.data_class import replace
from evalstream.model.errors import CannotCheck, UsageError, describe_error
from evalstream.model.finding import Show
from evalstream.model.options import Options, Sealing
from evalstream.model.run import STDIN, Run
from evalstream.model.run_summary import RunSummary
from evalstream.model.signals import STOPPING

NO_AGGREGATE: Final = (
    "no aggregate was found for the rows: name it with --aggregate FILE; --create begins a new one"
)
UNCHECKED: Final = "a part of it could not be checked"
FAILS: Final = "the check has findings that fail it (--seal-anyway seals it)"


def seal_run(
    run: Run, request: Sealing, options: Options, show: Show, progress: Progress
) -> RunSummary:
    """Check a run as it will be when sealed, and seal it. Raises UsageError and CannotWrite."""
    refuse_sealing(run)
    with GuardedCheck(run, options, show) as guarded:
        guarded.summary = _seal_run(run, request, options, guarded.shown, progress)
    summary = guarded.summary
    if summary.sealed is None and not request.dry_run:
        summary.note_unsealed()
    return summary


def _seal_run(
    run: Run, request: Sealing, options: Options, show: Show, progress: Progress
) -> RunSummary:
    try:
        sealed = FORMATS[run.format].make_seal(run, options)
    except (OSError, CannotCheck) as error:
        summary = check_any(run, options, show, progress)
        summary.leave_open()
        summary.note_unsealed(describe_error(error))
        return summary
    if sealed.is_foreign and not request.overwrite:
        raise UsageError(
            f"{printable(sealed.path)} exists and is not a manifest; move it to another folder, or "
            "replace it with --force"
        )
    checked = replace(options, sealing=request._replace(text=sealed.after))
    summary = check_any(run, checked, show, progress)
    refusal = _refusal(summary, request)
    if refusal is None and not request.dry_run:
        refusal = STOPPING.defer() or _describe_change(sealed)
        if refusal is not None:
            summary.leave_open()
    if (refusal is not None or request.dry_run) and sealed.after != sealed.before:
        # What was compared with the seal is not so: the document does not have it.
        summary.declared, summary.checked = None, ()
    if refusal is not None:
        summary.note_unsealed(refusal or None)
    elif request.dry_run:
        summary.change = seal_diff(sealed)
    else:
        write(sealed)
        summary.sealed = printable(sealed.path)
    return summary


def refuse_sealing(run: Run) -> None:
    """Raise UsageError for a run that cannot be sealed in a document of its own."""
    if run.format == MAIN:
        if run.rivals:
            both = " and ".join(map(printable, run.rivals))
            raise UsageError(f"{both} both name the rows in file_path: choose one with --aggregate")
        raise UsageError(NO_AGGREGATE)
    if not FORMATS[run.format].seals_itself:
        raise UsageError(f"files of {run.format} have no place for a seal")
    if STDIN in (run.rows, run.aggregate):
        raise UsageError("a stream cannot be sealed: its document would have to be written")


def _refusal(summary: RunSummary, request: Sealing) -> str | None:
    """Return why a run is not sealed, "" where the verdict says it, or None if it is."""
    if summary.otherwise == "incomplete":
        return "" if summary.verdict == "incomplete" else UNCHECKED
    return FAILS if summary.failing and not request.seal_anyway else None


def _describe_change(sealed: SealedText) -> str | None:
    try:
        now = document_bytes(sealed.path)
    except FileNotFoundError:
        now = None
    except (OSError, CannotCheck) as error:
        return describe_error(error)
    return None if now == sealed.before else f"{printable(sealed.path)} changed meanwhile"
