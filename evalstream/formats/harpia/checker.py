"""Find and check the files of HarpIA Lab."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalstream.engine.documents import DocumentCheck
from evalstream.formats.harpia.catalogue import CATALOGUE
from evalstream.formats.harpia.claims import JudgedScores, judge_scores
from evalstream.formats.harpia.documents import INPUT, LOG, OUTPUT, detect_parsed
from evalstream.formats.harpia.log import RecordsCheck
from evalstream.formats.harpia.log_tally import LogTally, collect_known
from evalstream.formats.harpia.rules import input as about_input
from evalstream.formats.harpia.rules.results import HAR201, HAR202, HAR303
from evalstream.formats.harpia.values import claimed_digits
from evalstream.formats.harpia.views import Input, Score, compare_metrics, view_claims, view_input
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.model.errors import UsageError
from evalstream.model.finding import Finding
from evalstream.model.options import Options, RowRouting
from evalstream.model.report import RunSummary
from evalstream.model.run import Run
from evalstream.parsing.json import UTF8_MARK, type_name
from evalstream.rules.base import Rule
from evalstream.rules.inputs import ES002, ES005
from evalstream.rules.syntax import ES109, ES113

if TYPE_CHECKING:
    from evalstream.formats.harpia.compared import RecordSamples

ABOUT_OUTPUT: Final = (HAR201, HAR202)

MISSING: Final = (
    "no log was given, so no score was recomputed",
    "no output was given, so no score was checked",
    "no input was given, so what was requested is not known",
)
"""What is not known without a log, without an output, and without an input."""


class ReadDocument(NamedTuple):
    """A document that was read: its value and its bytes."""

    value: Any
    text: bytes
    replaced: frozenset[str | None]


def check(
    run: Run, options: Options, show: Callable[[Finding], None], progress: Progress
) -> RunSummary:
    """Check one run and pass its findings to `show`, in order.

    Raises UsageError if records are to be routed without a log, or if the log is to be sealed, and
    CannotWrite if records cannot be written to their target.
    """
    if options.routing.seal_to is not None:
        raise UsageError("a log of HarpIA Lab cannot be sealed: its output has no field for a seal")
    if run.rows is None and options.routing != RowRouting():
        raise UsageError("records can be routed only from a log, and no log was given")
    documents = DocumentCheck(run, options, show, CATALOGUE)
    read = _input(documents, run.inputs)
    output = _document(documents, run.aggregate, OUTPUT)
    scores = _scores(documents, output, read)
    digits = claimed_digits(output.text) if output is not None else None
    if run.rows is None:
        judged = judge_scores(scores or [], digits, None)
        is_input = run.aggregate is None
        return _mark_missing(run, _close_check(documents, None if is_input else judged))
    log = RecordsCheck(
        documents, LogTally(collect_known(read, scores, digits)), progress, _samples(options, read)
    )
    log.run(run.rows, show)
    is_read = bool(log.records) and not log.unread and documents.incomplete_reason is None
    judged = judge_scores(scores or [], digits, log.log, is_read=is_read)
    summary = _close_check(documents, judged, log.records, is_read=is_read)
    return _mark_missing(run, _mark_unchecked_log(summary, log))


def _close_check(
    documents: DocumentCheck, judged: JudgedScores | None, rows: int = 0, *, is_read: bool = True
) -> RunSummary:
    """Close a check with the claims of its output; an input alone makes none."""
    if judged is None:
        return documents.close()
    aggregate = documents.run.aggregate
    name = None if aggregate is None else printable(aggregate)
    documents.note_all(HAR303.apply(judged), name)
    # Of a log that was not read to its end nothing can be expected.
    claims = judged.claims if is_read else None
    summary = documents.close(rows=rows, claims=claims, claims_file=name)
    summary.claims = judged.claims
    return summary


def _samples(options: Options, read: Input | None) -> RecordSamples | None:
    """Return what collects the samples of a log, None unless that is asked for."""
    if options.samples is None:
        return None
    from evalstream.formats.harpia.compared import RecordSamples

    return RecordSamples(options.samples, read)


def _mark_missing(run: Run, summary: RunSummary) -> RunSummary:
    """Say which documents were not named."""
    named = (run.rows, run.aggregate, run.inputs)
    missing = [what for name, what in zip(named, MISSING, strict=True) if name is None]
    summary.remark = "; ".join(missing) or None
    return summary


def _mark_unchecked_log(summary: RunSummary, log: RecordsCheck) -> RunSummary:
    """Change the verdict of a log that was not read, or not fully for want of a library."""
    if log.lacks and set(summary.counts) <= {ES002.code}:
        summary.judge({})
    if log.unread or not log.records:
        unread = f"{log.unread:,} records could not be read"
        summary.leave_open(unread if log.unread else "the log has no records")
    return summary


def _input(documents: DocumentCheck, path: str | None) -> Input | None:
    """Read and check the input, if there is one."""
    document = _document(documents, path, INPUT)
    if document is None or path is None:
        return None
    try:
        read = view_input(document.value)
        _check_rules(documents, path, document, about_input.RULES, read)
    except RecursionError:
        _too_deep(documents, path)
        return None
    return read


def _scores(
    documents: DocumentCheck, document: ReadDocument | None, read: Input | None
) -> list[Score] | None:
    """Check the output, if there is one, and return its score for each metric."""
    path = documents.run.aggregate
    if document is None or path is None:
        return None
    try:
        claims = view_claims(document.value)
        outcome = compare_metrics(claims, None if read is None else read.metrics)
        _check_rules(documents, path, document, ABOUT_OUTPUT, outcome)
    except RecursionError:
        _too_deep(documents, path)
        return None
    return claims


def _check_rules(
    documents: DocumentCheck, path: str, document: ReadDocument, rules: tuple[Rule, ...], seen: Any
) -> None:
    for rule in rules:
        # A rule that fails on a deep document reports nothing of it.
        for violation in list(rule.apply(seen)):
            if violation.pointer not in document.replaced:
                documents.note(violation, printable(path))


def _too_deep(documents: DocumentCheck, path: str) -> None:
    name = printable(path)
    documents.note(ES113.violation("nested too deep to be checked"), name)
    documents.cannot(f"{name} is nested too deep to be checked")


def _document(documents: DocumentCheck, path: str | None, kind: str) -> ReadDocument | None:
    """Read a document of a kind and note its violations; None if it cannot be used."""
    text = None if path is None else documents.bytes(path)
    if text is None or path is None:
        return None
    name, noun = printable(path), f"an {kind} of HarpIA Lab"
    parsed = documents.parse(text, name, f" as {noun}")
    if parsed is None:
        return None
    wanted: tuple[type, ...] = (dict,) if kind == INPUT else (dict, list)
    other = detect_parsed(parsed.value)
    if other not in (None, kind):
        article = "a" if other == LOG else "an"
        message = f"this is {article} {other} of HarpIA Lab, not {noun}"
    elif not isinstance(parsed.value, wanted):
        words = " or a list" if kind == OUTPUT else ""
        found = type_name(parsed.value)
        documents.note(ES109.violation(f"{noun} must be an object{words}, not {found}"), name)
        documents.cannot(f"{name} could not be read as {noun}")
        return None
    else:
        replaced = frozenset(issue.pointer for issue in parsed.issues if issue.replaced)
        return ReadDocument(parsed.value, text.removeprefix(UTF8_MARK), replaced)
    documents.note(ES005.violation(message), name)
    documents.cannot(f"{name}: {message}")
    return None
