"""Check a run of HarpIA Lab: its input, its output, and its log record by record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from evalstream.engine.collector import Collector
from evalstream.engine.documents import DocumentCheck
from evalstream.engine.layout import JSON_ARRAY
from evalstream.engine.record_engine import RecordContext
from evalstream.formats.base import load_catalogue, other_formats
from evalstream.formats.harpia.claims import JudgedScores, judge_scores
from evalstream.formats.harpia.documents import (
    INPUT,
    LOG,
    NAME,
    OUTPUT,
    detect_parsed,
    holds_records,
    read_member,
    spread_records,
)
from evalstream.formats.harpia.format import NOT_OURS
from evalstream.formats.harpia.log_tally import LogTally, collect_known
from evalstream.formats.harpia.rules import input as about_input
from evalstream.formats.harpia.rules import results
from evalstream.formats.harpia.values import iterate_numbers
from evalstream.formats.harpia.views import Input, compare_metrics, view_claims, view_input
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.model.data_class import NamedTuple, replace
from evalstream.model.errors import UsageError
from evalstream.model.finding import Show, Violation
from evalstream.model.options import Options, RowRouting
from evalstream.model.run import Run
from evalstream.model.run_summary import Checked, RunSummary
from evalstream.model.text import count_noun
from evalstream.parsing.json import UTF8_MARK, type_name
from evalstream.parsing.json_values import read_decimals
from evalstream.rules.base import Rule
from evalstream.rules.inputs import ES005
from evalstream.rules.syntax import ES109, ES113

if TYPE_CHECKING:
    from evalstream.formats.harpia.compared import RecordSamples
    from evalstream.model.sample_record import GroupLabel, SampleRow
    from evalstream.stats.sketch import RowFigures

T = TypeVar("T")

AS_ARRAY: Final = "the log is one JSON array; write each record on a line of its own"

ABOUT_OUTPUT: Final = (results.HAR201, results.HAR202)

MISSING: Final = (
    "no log was given, so no score was recomputed",
    "no output was given, so no score was checked",
    "no input was given, so what was requested is not known",
)
"""The remarks about runs without a log, without an output, and without an input."""


class ReadDocument(NamedTuple):
    """A document that was read: its name in reports, its value and its bytes.

    `replaced` holds the pointers of numbers that are not finite, whose values are substitutes.
    """

    name: str
    value: Any
    text: bytes
    replaced: frozenset[str | None]


def check(run: Run, options: Options, show: Show, progress: Progress) -> RunSummary:
    """Check one run and pass its findings to `show`, in order.

    Raises UsageError if records are to be routed without a log, or if the log is to be sealed, and
    CannotWrite if records cannot be written to their target.
    """
    if options.routing.seal_to is not None:
        raise UsageError("a log of HarpIA Lab cannot be sealed: its output has no field for a seal")
    if run.rows is None and options.routing != RowRouting():
        raise UsageError("records can be routed only from a log, and no log was given")
    documents = DocumentCheck(run, options, show, load_catalogue(NAME))
    read = _view(documents, _document(documents, run.inputs, INPUT), view_input, about_input.RULES)
    asked = None if read is None else read.metrics
    output = _document(documents, run.aggregate, OUTPUT)
    outcome = _view(
        documents, output, lambda one: compare_metrics(view_claims(one), asked), ABOUT_OUTPUT
    )
    scores = None if outcome is None else outcome.claims
    document, replaced = (None, frozenset()) if output is None else (output.value, output.replaced)
    digits = None if output is None else read_decimals(output.text)
    if run.rows is None:
        judged = judge_scores(scores or [], document, digits, None, replaced)
        is_input = run.aggregate is None
        return _mark_missing(run, _close_check(documents, None if is_input else judged))
    log = LogTally(collect_known(read, scores, digits))
    _check_log(documents, log, _samples(options, read), show, progress)
    tally = documents.collector.tally
    is_read = not tally.unread and documents.incomplete_reason is None
    known = log if tally.rows else None
    judged = judge_scores(scores or [], document, digits, known, replaced, is_read=is_read)
    summary = _close_check(documents, judged, tally.rows, is_read=is_read and bool(tally.rows))
    if tally.unread or not tally.rows:
        unread = f"{count_noun(tally.unread, 'record')} could not be read"
        summary.leave_open(unread if tally.unread else "the log has no records")
    return _mark_missing(run, summary)


def _check_log(
    documents: DocumentCheck,
    log: LogTally,
    compared: RecordSamples | None,
    show: Show,
    progress: Progress,
) -> None:
    def accepts(head: bytes) -> bool:
        odd = spread_records(head)
        if not odd and holds_records(head):
            return True
        documents.note(ES005.violation(odd or f"this is {NOT_OURS}; {other_formats()}"))
        documents.cannot(f"{documents.name} could not be read as a log of HarpIA Lab")
        return False

    # The checker and its records stay in this process.
    options = replace(documents.options, jobs=1)
    checker = LogRecordChecker(log, compared=compared)
    context = RecordContext(options, documents.context.selection, record=checker)
    collector = Collector(context, documents.name, show)
    rows = documents.check_rows(documents.run.rows or "", collector, progress, accepts=accepts)
    if compared is not None and collector.samples is not None:
        compared.finish(collector.samples)
    if rows.layout == JSON_ARRAY:
        documents.note(results.HAR305.violation(AS_ARRAY))
    if rows.incomplete_reason is None and not collector.tally.unread:
        documents.note_all(results.HAR302.apply(log))
        documents.note_all(results.HAR304.apply(log))


def _close_check(
    documents: DocumentCheck, judged: JudgedScores | None, rows: int = 0, *, is_read: bool = True
) -> RunSummary:
    """Close a check with the claims of its output; an input alone makes none."""
    if judged is None:
        return documents.close()
    aggregate = documents.run.aggregate
    name = None if aggregate is None else printable(aggregate)
    documents.note_all(results.HAR303.apply(judged), name)
    # Of a log that was not read to its end nothing can be expected.
    claims = judged.claims if is_read else None
    summary = documents.close(rows=rows, claims=claims, claims_file=name)
    summary.claims = judged.claims
    return summary


def _samples(options: Options, read: Input | None) -> RecordSamples | None:
    if options.samples is None:
        return None
    from evalstream.formats.harpia.compared import RecordSamples

    return RecordSamples(options.samples, read)


def _mark_missing(run: Run, summary: RunSummary) -> RunSummary:
    named = (run.rows, run.aggregate, run.inputs)
    missing = [what for name, what in zip(named, MISSING, strict=True) if name is None]
    summary.remark = "; ".join(missing) or None
    if missing == [MISSING[-1]]:
        summary.checked = (Checked("no input to compare with", None),)
    return summary


def _view(
    documents: DocumentCheck,
    document: ReadDocument | None,
    view: Callable[[Any], T],
    rules: Sequence[Rule],
) -> T | None:
    """Return the view of a document, which rules check, None for one that is nested too deep."""
    if document is None:
        return None
    try:
        seen = view(document.value)
        for rule in rules:
            # A rule that fails on a deep document reports nothing of it.
            for violation in list(rule.apply(seen)):
                if violation.pointer not in document.replaced:
                    documents.note(violation, document.name)
    except RecursionError:
        name, reason = document.name, "nested too deep to be checked"
        documents.refuse(ES113.violation(reason), name, f"{name} is {reason}")
        return None
    return seen


def _document(documents: DocumentCheck, path: str | None, kind: str) -> ReadDocument | None:
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
        violation = ES109.violation(f"{noun} must be an object{words}, not {found}")
        documents.refuse(violation, name, f"{name} could not be read as {noun}")
        return None
    else:
        replaced = frozenset(issue.pointer for issue in parsed.issues if issue.replaced)
        return ReadDocument(name, parsed.value, text.removeprefix(UTF8_MARK), replaced)
    documents.refuse(ES005.violation(message), name, f"{name}: {message}")
    return None


@dataclass(frozen=True, eq=False)
class LogRecordChecker:
    """Checks the records of a log against the other documents, and tallies them."""

    log: LogTally
    noun: str = "a log record"
    compared: RecordSamples | None = None

    def take(self, start: int, _line: int) -> tuple[int, int]:
        """Take no record: each one is checked by itself."""
        return start, 0

    def violations(
        self, record: Mapping[str, Any], _line: int, *, certain: bool
    ) -> Iterator[Violation]:
        """Return the violations of a record. Raises RecursionError if it is nested too deep."""
        seen = self.log.record(record, certain=certain)
        for rule in (results.HAR301, results.HAR302, results.HAR303):
            yield from rule.apply(seen)

    def sample(self, record: Mapping[str, Any]) -> Any:
        """Return the record's instance_id."""
        return read_member(record, "instance_id")

    def figures(self, record: Mapping[str, Any]) -> RowFigures:
        """Return the record's result as its score, if it is one number."""
        numbers = [number for _, number in iterate_numbers(read_member(record, "result"))]
        return (numbers[0],) if len(numbers) == 1 else (None,)

    def samples(
        self, record: Mapping[str, Any], line: int, offset: int, *, certain: bool
    ) -> Iterable[tuple[GroupLabel, SampleRow]]:
        """Return a sample for each score in the record's result, if they are collected."""
        if self.compared is None:
            return ()
        return self.compared.samples(record, line, offset, certain=certain)
