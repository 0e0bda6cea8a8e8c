"""Check a log of HarpIA Lab: its records, and the totals over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine.collector import Collector
from evalstream.engine.documents import DocumentCheck
from evalstream.engine.layout import JSON_ARRAY
from evalstream.engine.record_engine import RecordContext
from evalstream.engine.routing import RowRouter
from evalstream.engine.row_pass import RowPass
from evalstream.formats.harpia.documents import holds_records, member, spread_records
from evalstream.formats.harpia.files import NOT_OURS
from evalstream.formats.harpia.log_tally import LogTally
from evalstream.formats.harpia.rules.results import HAR301, HAR302, HAR303, HAR304, HAR305
from evalstream.formats.harpia.values import iterate_numbers
from evalstream.io.progress import Progress
from evalstream.model.data_class import replace
from evalstream.model.finding import Finding, Violation
from evalstream.model.options import Options
from evalstream.rules.base import FileFacts
from evalstream.rules.inputs import ES005, ES006
from evalstream.rules.syntax import ES112

if TYPE_CHECKING:
    from evalstream.formats.harpia.compared import RecordSamples
    from evalstream.model.sample_record import GroupLabel, SampleRow
    from evalstream.stats.sketch import RowFigures

ABOUT_LINES: Final = (ES006, ES112)
"""Rules that check the totals over the lines of any file."""

AS_ARRAY: Final = "the log is one JSON array; write each record on a line of its own"

DIGESTS: Final = ("sha256",)


@dataclass(frozen=True, eq=False)
class LogRecordChecker:
    """Checks the records of a log against the other documents, and tallies them."""

    log: LogTally
    noun: str = "a log record"
    compared: RecordSamples | None = None

    def take(self, start: int, _line: int) -> tuple[int, int]:
        """Take no record: each one is looked at by itself."""
        return start, 0

    def violations(
        self, record: Mapping[str, Any], _line: int, *, certain: bool
    ) -> Iterator[Violation]:
        """Return the violations of a record. Raises RecursionError if it is nested too deep."""
        seen = self.log.record(record, certain=certain)
        for rule in (HAR301, HAR302, HAR303):
            yield from rule.apply(seen)

    def sample(self, record: Mapping[str, Any]) -> Any:
        """Return the record's instance_id."""
        found = member(record, "instance_id")
        return None if found is None else found.value

    def figures(self, record: Mapping[str, Any]) -> RowFigures:
        """Return the record's result as its score, if it is one number."""
        found = member(record, "result")
        numbers = [] if found is None else [number for _, number in iterate_numbers(found.value)]
        return (numbers[0],) if len(numbers) == 1 else (None,)

    def samples(
        self, record: Mapping[str, Any], line: int, offset: int, *, certain: bool
    ) -> Iterable[tuple[GroupLabel, SampleRow]]:
        """Return a sample for each score in the record's result, if they are collected."""
        if self.compared is None:
            return ()
        return self.compared.samples(record, line, offset, certain=certain)


class RecordsCheck:
    """The check of one log within a document check; `lacks` tells that a library was missing."""

    def __init__(
        self,
        documents: DocumentCheck,
        log: LogTally,
        progress: Progress,
        compared: RecordSamples | None = None,
    ) -> None:
        self._documents, self.log, self._compared = documents, log, compared
        # The checker and its records stay in this process.
        self._options: Options = replace(documents.options, jobs=1)
        self._progress = progress
        self.records = self.unread = 0
        self.lacks = False

    def run(self, path: str, show: Callable[[Finding], None]) -> None:
        """Check the records, and note the violations of the log as a whole."""
        documents, outlets = self._documents, RowRouter(self._options, DIGESTS)
        checker = LogRecordChecker(self.log, compared=self._compared)
        context = RecordContext(self._options, documents.context.selection, record=checker)
        documents.collector = Collector(context, documents.name, show)
        rows = RowPass(documents.name, self._options, DIGESTS, outlets, self._progress)
        try:
            outlets.open()
            head = rows.open(path)
            odd = spread_records(head)
            if rows.opened is not None and (odd or not holds_records(head)):
                documents.note(ES005.violation(odd or f"this is {NOT_OURS}"))
                documents.cannot(f"{documents.name} could not be read as a log of HarpIA Lab")
            else:
                rows.run(documents.collector)
                self._describe_samples()
                self._report_log(rows)
            outlets.finish()
        except BaseException as error:
            outlets.drop(error)
            raise
        finally:
            rows.close()

    def _describe_samples(self) -> None:
        samples = self._documents.collector.samples
        if self._compared is not None and samples is not None:
            self._compared.finish(samples)

    def _report_log(self, rows: RowPass) -> None:
        documents, tally = self._documents, self._documents.collector.tally
        self.records, self.unread, self.lacks = tally.rows, tally.unread, rows.lacks
        documents.size += rows.size
        documents.cannot(rows.incomplete_reason)
        for placed in rows.breaks:
            documents.note(placed.violation, line=placed.line)
        documents.note_all(rows.violations)
        changed = rows.opened.describe_change() if rows.opened is not None else None
        if changed is not None:
            documents.note_change(changed)
        if rows.layout == JSON_ARRAY:
            documents.note(HAR305.violation(AS_ARRAY))
        facts = FileFacts(documents.name, tally, layout=rows.layout)
        for rule in ABOUT_LINES:
            documents.note_all(() if rule.run is None else rule.run(facts))
        if rows.incomplete_reason is None and not tally.unread:
            documents.note_all(HAR302.apply(self.log))
            documents.note_all(HAR304.apply(self.log))
