"""Check a run of documents: collect, sort and count its violations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine.collector import Collector, LaterViolation
from evalstream.engine.positions import json_locator, place_violations
from evalstream.engine.result import CheckContext
from evalstream.engine.routing import RowRouter
from evalstream.engine.row_pass import RowPass, RowsRead
from evalstream.io.codecs import detect_compression
from evalstream.io.digest import XXH3
from evalstream.io.inputs import document_bytes
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.io.readers import Watch
from evalstream.model.claim import JudgedClaim
from evalstream.model.errors import BrokenCompression, CannotCheck, describe_error
from evalstream.model.finding import Locator, PlacedViolation, Show, Violation
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.run_summary import NOT_CHECKED, RunSummary
from evalstream.model.signals import Stopped
from evalstream.model.text import count_noun
from evalstream.parsing.json import UTF8_MARK, Parsed
from evalstream.parsing.json_values import parse_document
from evalstream.parsing.limits import FindingLimiter, refuse_many_values
from evalstream.parsing.schema_errors import error_parts
from evalstream.parsing.schema_files import builtin_validator
from evalstream.rules import syntax
from evalstream.rules.base import FileFacts
from evalstream.rules.catalogue import Catalogue
from evalstream.rules.claims import find_nothing_confirmed
from evalstream.rules.inputs import ES001, ES002, ES006, changed_while_read
from evalstream.rules.schema import explain_schema

if TYPE_CHECKING:
    from evalstream.stats.run_samples import RunSamples


Accepts = Callable[[bytes], bool]
"""Tells by the first bytes of a document whether it holds rows of its format."""

_ABOUT_LINES: Final = (ES006, syntax.ES112)
"""Rules that check the totals over the lines of any file."""

_DIGESTS: Final = ("sha256",)


class DocumentCheck:
    """The documents of one run, and their violations.

    `collector` takes the violations of records, block by block; all others are noted, and passed on
    in order (file, line, code, pointer) when the run is `closed`. `incomplete_reason` says why
    documents could not be checked. `watch` records the state of files when they are opened; a
    file that differs at the end makes the verdict incomplete.
    """

    def __init__(self, run: Run, options: Options, show: Show, catalogue: Catalogue) -> None:
        self._started = time.perf_counter()
        self.run, self.options = run, options
        self.context = CheckContext(options, catalogue.selection(options))
        self.name = printable(run.rows or run.aggregate or run.inputs or "")
        self.collector: Collector[Any] = Collector(self.context, self.name, show)
        self.incomplete_reason: str | None = None
        self.size = 0
        self.watch = Watch()
        self._changed: set[str] = set()
        self._held = FindingLimiter()
        self._noted: dict[str, list[PlacedViolation]] = {}
        self._locators: dict[str, Locator] = {}
        self._has_parts = self._lacks = False

    def read(
        self,
        text: bytes,
        name: str,
        noun: str,
        adapt: Callable[[syntax.ObjectReading], syntax.ObjectReading] | None = None,
    ) -> syntax.ObjectReading | None:
        """Read the JSON object of a document, None if it holds another value.

        Every violation of its bytes is noted, as `adapt` leaves them; `name` is the name of its
        file in reports, and `noun` says what the document is, with its article.
        """
        reading = syntax.read_document(text, self.options, noun)
        return self.accept(reading if adapt is None else adapt(reading), name, noun)

    def accept(
        self, reading: syntax.ObjectReading, name: str, noun: str
    ) -> syntax.ObjectReading | None:
        """Note what was found while a document was read, as `read` does."""
        for one in reading.violations:
            self.note(one.violation, name, one.line, one.column)
        if reading.value is None:
            self.cannot(f"{name} could not be read as {noun}")
            return None
        return reading

    def parse(self, text: bytes, name: str, as_what: str = "") -> Parsed | None:
        """Read the JSON value of a document of any type, None if it cannot be read.

        Every violation of its bytes is noted; `as_what` ends the reason in the verdict.
        """
        rest = self.without_mark(text, name)
        parsed = parse_document(rest, self.options.max_depth)
        for violation, issue in zip(
            syntax.explain(parsed.issues, torn=False), parsed.issues, strict=True
        ):
            self.note(violation, name, issue.line, issue.column)
        if not parsed.readable:
            self.cannot(f"{name} could not be read{as_what}")
            return None
        return parsed

    def without_mark(self, text: bytes, name: str) -> bytes:
        """Return a text without its byte order mark, which is noted."""
        if text.startswith(UTF8_MARK):
            self.note(syntax.ES102.violation(syntax.BEGINS_WITH_MARK), name, 1)
        return text.removeprefix(UTF8_MARK)

    def uncompressed(self, path: str) -> bytes | None:
        """Return the bytes of a document; None, with a violation noted, if it is compressed."""
        text = self.bytes(path)
        packing = None if text is None else detect_compression(text)
        if packing is None:
            return text
        name = printable(path)
        self.note(ES001.violation(f"cannot be read: decompress it first ({packing})"), name)
        self.cannot(f"{name} is compressed, and is read as JSON only")
        return None

    def bytes(self, path: str) -> bytes | None:
        """Return the bytes of a document; None, with a violation noted, if it cannot be read."""
        try:
            text = document_bytes(path, self.watch)
            refuse_many_values(text)
        except (OSError, CannotCheck) as error:
            reason = describe_error(error)
            self.note(ES001.violation(f"cannot be read: {reason}"), printable(path))
            self.cannot(f"{printable(path)} cannot be read: {reason}")
            return None
        self.size += len(text)
        self.locate(json_locator(text), printable(path))
        return text

    def check_rows(
        self,
        path: str,
        collector: Collector[Any],
        progress: Progress,
        *,
        accepts: Accepts | None = None,
        any_rows: bool = False,
    ) -> RowsRead:
        """Check and route the rows of the run's first document, and note what is wrong with it.

        `accepts` tells by the first bytes whether it holds such rows, and notes it if not; see
        `RowPass` for `any_rows`. Raises CannotWrite if rows cannot be written to their target.
        """
        self.collector.close()
        self.collector, options = collector, collector.context.options
        with RowRouter(options, _DIGESTS) as outlets:
            # Only what links runs asks for the digest of a file that has no seal.
            algorithms = (XXH3,) if options.links else ()
            row_pass = RowPass(self.name, options, algorithms, outlets, progress, any_rows=any_rows)
            with closing(row_pass.open(path)) as unread:
                opened = unread.opened
                head = b"" if opened is None else opened.take_head()
                if opened is not None and accepts is not None and not accepts(head):
                    return unread
                rows = row_pass.run(unread, collector)
                self._note_rows(rows)
                return rows

    def _note_rows(self, rows: RowsRead) -> None:
        """Note what is wrong with the rows as a whole."""
        self.size += self.collector.size
        self._lacks = rows.lacks
        self.cannot(rows.incomplete_reason)
        if rows.broken is not None:
            self.note(rows.broken.violation, line=rows.broken.line)
        self.note_all(rows.violations)
        change = rows.opened.describe_change() if rows.opened else None
        if change is not None:
            self.note_change(change)
        facts = FileFacts(self.name, self.collector.tally, layout=rows.layout)
        for rule in _ABOUT_LINES:
            self.note_all(() if rule.run is None else rule.run(facts))

    def locate(self, locator: Locator, file: str | None = None) -> None:
        """Set what finds the positions of pointers in a document, by default the run's first."""
        self._locators[file or self.name] = locator

    def schema_violations(self, schema: str, value: Any, code: str) -> Iterator[Violation]:
        """Return every violation of one of our schemas by a value, under one code."""
        validator = builtin_validator(schema, self.options.engine)
        for part in error_parts(validator, value):
            yield from (
                violation._replace(code=code) for violation in explain_schema(part, own=True)
            )

    def note(
        self,
        violation: Violation,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        """Add a violation of a document, by default the run's first.

        Without a line, it gets the position of its pointer, if the document has a locator.
        """
        if self._held.takes(violation, file or self.name):
            placed = PlacedViolation(violation, line, column)
            self._noted.setdefault(file or self.name, []).append(placed)

    def note_all(self, violations: Iterable[Violation], file: str | None = None) -> None:
        """Add the violations of a document."""
        for violation in violations:
            self.note(violation, file)

    def note_change(self, change: str, file: str | None = None) -> None:
        """Note once that a file, by default the run's first, changed after it was read."""
        name = file or self.name
        if name not in self._changed:
            self._changed.add(name)
            self.note(changed_while_read(change), name)
            self.cannot(f"{name} changed while it was checked: {change}")

    def refuse(self, violation: Violation, file: str | None, reason: str) -> None:
        """Note a violation for whose sake a document, or a part of it, is not checked."""
        self.note(violation, file)
        self.cannot(reason)

    @contextmanager
    def reading(
        self,
        describe_progress: Callable[[], str],
        file: str | None = None,
        miss: Callable[[str], None] | None = None,
    ) -> Iterator[None]:
        """Note why a document, by default the run's first, is not read to its end.

        `miss` receives the reason for the verdict, in place of `cannot`.
        """
        miss, rule = miss or self.cannot, ES001
        try:
            yield
            return
        except BrokenCompression as error:
            rule, reason = ES002, str(error)
        except BrokenPipeError:
            raise
        except (OSError, CannotCheck) as error:
            reason = f"cannot be read: {describe_error(error)}"
        except Stopped as stopped:
            miss(f"stopped by {stopped.name} after {describe_progress()}")
            return
        self.note(rule.violation(reason), file)
        miss(reason if file is None else f"{file} {reason}")

    def cannot(self, reason: str | None) -> None:
        """Note why something could not be checked; only the first reason is reported."""
        self.incomplete_reason = self.incomplete_reason or reason

    def close(
        self,
        *,
        rows: int = 0,
        version: str | None = None,
        claims: Sequence[JudgedClaim] | None = None,
        claims_file: str | None = None,
    ) -> RunSummary:
        """Pass on what was noted, and return the run's summary; `rows` counts its records.

        `claims` are those of the document `claims_file`, None for documents that claim no scores.
        """
        if claims is not None and self.incomplete_reason is None:
            self.note_all(find_nothing_confirmed(claims), claims_file)
        for path, change in self.watch.changes():
            self.note_change(change, printable(path))
        for name, violation in self._held.rest():
            self._noted.setdefault(name or self.name, []).append(PlacedViolation(violation))
        if self._has_parts:
            self.collector.end_of_rows()
        for file in dict.fromkeys(self._names()):
            for one in self._place_noted(file):
                if not (self._has_parts and one.line and file == self.name):
                    self.collector.note(one.violation, file, one.line, one.column)
        run = self.run
        summary = RunSummary(
            file=printable(run.rows) if run.rows else None,
            aggregate=printable(run.aggregate) if run.aggregate else None,
            inputs=printable(run.inputs) if run.inputs else None,
            format=run.format,
            version=version,
            rows=rows,
            seconds=time.perf_counter() - self._started,
            bytes=self.size,
            incomplete_reason=self.incomplete_reason,
            sketch=self.collector.sketch,
            samples=self._samples(),
            claims=list(claims or ()),
        )
        for (code, severity), count in self.collector.counts.items():
            summary.count(code, severity, count)
        excused = NOT_CHECKED | {ES002.code} if self._lacks else NOT_CHECKED
        failing = {} if self._changed else self.collector.failing(excused)
        summary.judge(failing, has_scores=claims is not None)
        unread = self.collector.tally.unread
        if failing and unread:
            summary.leave_open(f"{count_noun(unread, 'record')} could not be read")
        self.collector.close()
        return summary

    def await_parts(self) -> None:
        """Let findings about parts of the first document, given line by line, wait for the others.

        They go to the collector, and all findings about the document then come in order.
        """
        self._has_parts = True
        self.collector.await_later(self._beside_parts)

    def _beside_parts(self) -> Iterator[LaterViolation]:
        """Iterate over what was noted on lines of the first document."""
        for violation, line, column in self._place_noted(self.name):
            if line:
                yield LaterViolation(line, None, None, violation, column)

    def _place_noted(self, file: str) -> list[PlacedViolation]:
        """Return what was noted about a file, in order."""
        placed = place_violations(self._noted.get(file, ()), self._locators.get(file))
        return sorted(placed, key=PlacedViolation.order)

    def _samples(self) -> RunSamples | None:
        """Return the samples of a run that described itself; others have none."""
        samples = self.collector.samples
        if samples is not None and samples.description is None:
            samples.close()
            return None
        return samples

    def _names(self) -> Iterable[str]:
        """Name the files in the order of the report."""
        named = (self.run.rows, self.run.aggregate, self.run.inputs)
        yield from (printable(path) for path in named if path)
        yield from self._noted
