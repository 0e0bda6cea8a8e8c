"""Check one run: its rows in one pass, then the file against its aggregate."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from evalstream.engine.collector import Collector
from evalstream.engine.routing import RowRouter, refuse_rowless
from evalstream.engine.row_pass import RowPass, describe_error
from evalstream.formats.eee import documents, file_violations
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.aggregate_check import ReadAggregate, in_order, open_aggregate
from evalstream.formats.eee.facts import NO_ROWS, RowContext, RunFacts
from evalstream.formats.eee.probe import (
    context_of_rows,
    probe_context,
    rowless_context,
    settle_context,
)
from evalstream.formats.eee.rules.seal import ES501, checksum_algorithms
from evalstream.formats.eee.run_summary import (
    ATTESTED,
    can_fix,
    collect_facts,
    file_digests,
    have_mappings,
    summarise_run,
)
from evalstream.io.names import is_remote, printable
from evalstream.io.overwriting import is_irregular
from evalstream.io.progress import Progress
from evalstream.io.readers import Watch
from evalstream.model.block import Lines
from evalstream.model.data_class import replace
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Finding, PlacedViolation, Violation
from evalstream.model.options import Options
from evalstream.model.run import STDIN, Run
from evalstream.model.run_summary import NOT_CHECKED, NOT_SEALED, RunSummary
from evalstream.model.text import ALGORITHMS
from evalstream.rules.inputs import ES002, changed_while_read

if TYPE_CHECKING:
    from evalstream.formats.eee.seal import Refusal, Seal
    from evalstream.formats.eee.source_check import SourceCheck

RowCollector = Collector[RowContext]

CHANGED: Final = "changed while it was checked"

NO_BYTES: Final = "rows that are mappings have no bytes, and only ES501 was to be checked"


class RunCheck:
    """The check of one run, step by step; with `awaited` its aggregate comes after its rows.

    `streamed` says that a stream ends its rows, or the file that they were copied to. Findings go
    to `show` in order. Raises CannotWrite if routed rows or a seal cannot be written.
    """

    def __init__(
        self,
        run: Run,
        options: Options,
        show: Callable[[Finding], None],
        progress: Progress,
        *,
        awaited: bool = False,
        streamed: bool = False,
    ) -> None:
        self._started = time.perf_counter()
        # Only a seal asks, and asking costs a disk access.
        seals = options.routing.seal_to is not None
        self._awaited, self._is_stream = awaited, streamed or (seals and comes_by(run, options))
        self._run, self._options, self._show, self._progress = run, options, show, progress
        self._rows_name = printable(run.rows) if run.rows else None
        self._aggregate_name = printable(run.aggregate) if run.aggregate else None
        self._incomplete_reason: str | None = None
        self._aggregate_violations: list[PlacedViolation] = []
        self._aggregate: Aggregate | None = None
        self._text: bytes | None = None
        self._state = ReadAggregate(None, [])
        self._seal: Seal | None = None
        self._begun: list[str] = []
        self._refusal: Refusal | None = None
        self._source: SourceCheck | None = None
        self._are_whole = self._lacks = self._changed = False
        self._missing = run.missing
        self._watch = Watch()

    def summary(self) -> RunSummary:
        """Check the run, and return its summary. Raises UsageError as well."""
        if self._run.rows is None and self._missing is None:
            refuse_rowless(self._options.routing, self._aggregate_name or "")
        if not self._awaited:
            self._read_aggregate()
        with RowRouter(self._options, self._algorithms()) as outlets:
            rows = self._row_pass(outlets)
            summary = self._summary(rows)
            if rows.opened is None:
                # Without rows the old content of the output files stays.
                outlets.drop(CannotCheck("the rows cannot be opened"))
        self._write_seal(summary)
        return summary

    def _row_pass(self, outlets: RowRouter) -> RowPass:
        name = self._rows_name or self._aggregate_name or ""
        rows = RowPass(
            name,
            self._options,
            self._algorithms(),
            outlets,
            self._progress,
            of_aggregates=documents.AGGREGATE_KEYS,
            sealed=None if self._aggregate is None else self._aggregate.checksum,
        )
        if self._run.rows is None and self._missing is None:
            rows.layout = NO_ROWS
        return rows

    def _summary(self, rows: RowPass) -> RunSummary:
        if self._options.routing.is_interactive:
            prepare(self._options, self._aggregate)
        try:
            head = rows.open(self._run.rows) if self._run.rows else b""
            context = self._context(rows, head)
            del head  # it may have 8 MiB
            fixes = can_fix(self._run, self._options)
            collector = Collector(context, rows.name, self._show, can_fix=fixes)
            try:
                self._await_source(collector)
                rows.run(collector)
                if self._source is not None:
                    if self._run.rows is None:
                        list(self._source.differences())
                    self._cannot(self._source.reason)
                collector.context = settle_context(context)
                self._cannot(rows.incomplete_reason)
                if have_mappings(rows) and context.enabled_codes == {ES501.code}:
                    self._cannot(NO_BYTES)
                self._lacks = rows.lacks
                self._are_whole = rows.incomplete_reason is None and not collector.tally.unread
                if self._awaited:
                    self._read_aggregate()
                if self._awaited and self._aggregate is not None:
                    self._cannot("the aggregate came after the rows; its claims were not checked")
                for placed in rows.breaks:
                    collector.note(placed.violation, line=placed.line)
                for _, change in self._watch.changes():
                    self._aggregate_violations.append(PlacedViolation(changed_while_read(change)))
                    self._distrust(f"the aggregate {CHANGED}: {change}")
                facts, violations = self._check_files(rows, collector)
                self._distrust(facts.changed and f"the rows file {CHANGED}: {facts.changed}")
                self._speak(violations, collector)
                return self._summarise(rows, facts, collector)
            finally:
                collector.close()
                if self._source is not None:
                    self._source.close()
        finally:
            rows.close()

    def _await_source(self, collector: RowCollector) -> None:
        """Have the rows compared with the log that they were converted from, after the last one."""
        if self._options.source is None:
            return
        from evalstream.formats.eee.source_check import SourceCheck

        self._source = SourceCheck(self._run.rows, self._aggregate, self._options)
        if self._run.rows is not None:
            collector.await_later(self._source.differences)

    def _context(self, rows: RowPass, head: bytes) -> RowContext:
        """Return the context of the rows, if there are any. Raises UsageError for a bad schema."""
        options, is_rowless = self._options, self._run.rows is None
        if is_rowless and options.schema is None and options.routing.seal_to is None:
            return rowless_context(options)
        context = context_of_rows(options, self._aggregate, rows.opened, head)
        if is_rowless:
            context.checker()
        return context

    def _algorithms(self) -> tuple[str, ...]:
        """Return the digests to compute: all if the aggregate does not name one yet."""
        algorithms = checksum_algorithms(self._aggregate)
        if self._options.digests:
            algorithms = tuple(dict.fromkeys((*algorithms, ATTESTED)))
        declared = self._aggregate.hash_algorithm if self._aggregate is not None else None
        if declared or not (self._options.routing.seal_to or self._awaited):
            return algorithms
        return tuple(dict.fromkeys((*algorithms, *ALGORITHMS)))

    def _read_aggregate(self) -> None:
        opened = open_aggregate(self._run, self._options, self._watch)
        self._text, self._missing = opened.text, opened.missing
        self._aggregate, self._aggregate_violations = opened.aggregate, opened.violations
        self._cannot(opened.incomplete_reason)

    def _distrust(self, reason: str | None) -> None:
        """Make the verdict incomplete if a file changed: the findings are of no single state."""
        self._cannot(reason)
        if reason is not None:
            self._changed, self._are_whole = True, False

    def _check_files(
        self, rows: RowPass, collector: RowCollector
    ) -> tuple[RunFacts, file_violations.FileViolations]:
        """Check the files as a whole: as they will be when sealed, else as they are."""
        routing, seal = self._options.routing, self._prepared_seal(rows, collector)
        self._state = state = ReadAggregate(self._aggregate, self._aggregate_violations)
        if seal is not None:
            from evalstream.formats.eee.seal import (
                find_seal_refusal,
                missing_members,
                stopped_before,
            )

            sealed, name = seal.read(self._options), self._aggregate_name
            self._aggregate, self._aggregate_violations = sealed if seal.text.before else state
            self._aggregate_name = printable(seal.text.path)
            facts = self._facts(rows, collector, seal.rows)
            violations = self._file_violations(rows, facts)
            failing = violations.failing(collector.context)
            fails = bool(failing) or collector.fails()
            reason = self._incomplete_reason
            refusal = find_seal_refusal(
                facts, rows.digests, sealed, state, reason, fails=fails, is_stream=self._is_stream
            )
            if refusal is not None and routing.seal_anyway:
                violations = refusal.keep_reasons(violations)
            if refusal is None or routing.seal_anyway:
                refusal = None if routing.dry_run else stopped_before()
            if refusal is None:
                self._seal, self._begun = seal, [] if seal.text.before else missing_members(sealed)
                return facts, violations
            self._refusal, self._aggregate_name = refusal.beside(failing), name
            self._aggregate, self._aggregate_violations = state
            self._cannot(refusal.incomplete_reason and f"{NOT_SEALED}: {refusal.incomplete_reason}")
        facts = self._facts(rows, collector)
        violations = self._file_violations(rows, facts)
        for violation in file_violations.unmet_expectations(facts):
            if self._refusal is None and violation.code not in facts.context.enabled_codes:
                self._cannot(violation.message)
        return facts, violations if self._refusal is None else self._refusal.added_to(violations)

    def _prepared_seal(self, rows: RowPass, collector: RowCollector) -> Seal | None:
        """Return the aggregate as it will be when it is sealed, or None if it cannot be."""
        if self._options.routing.seal_to is None:
            return None
        from evalstream.formats.eee.seal import prepare_seal

        try:
            return prepare_seal(
                self._run, self._options, self._aggregate, self._text, rows, collector
            )
        except (OSError, CannotCheck) as error:
            self._cannot(f"{NOT_SEALED}: {describe_error(error)}")
            return None

    def _write_seal(self, summary: RunSummary) -> None:
        """Seal the rows, unless there is a reason for refusal."""
        routing, seal = self._options.routing, self._seal
        if routing.seal_to is None:
            return
        from evalstream.engine.sealed_document import seal_diff, write

        if seal is None:
            summary.note_unsealed(None if self._refusal is None else self._refusal.reason)
            return
        if routing.dry_run:
            summary.change = seal_diff(seal.text)
        else:
            write(seal.text)
            summary.sealed = printable(seal.text.path)
        if self._begun:
            new, members = printable(seal.text.path), ", ".join(self._begun)
            summary.leave_unconfirmed(
                f"{new} is new, and its check fails as long as it lacks {members}"
            )

    def _facts(
        self, rows: RowPass, collector: RowCollector, sealed_as: str | None = None
    ) -> RunFacts:
        """Collect the facts of the run; `sealed_as` is the name of the rows in a seal."""
        return collect_facts(
            self._run,
            rows,
            collector,
            self._aggregate,
            sealed_as,
            missing=None if self._run.leads_out else self._missing,
            is_awaited=self._awaited,
        )

    def _file_violations(self, rows: RowPass, facts: RunFacts) -> file_violations.FileViolations:
        """Return the violations of whole files: the rows file and its aggregate."""
        source = self._source
        return file_violations.find_file_violations(
            facts,
            [*rows.violations, *(() if source is None else source.violations)],
            [
                *self._aggregate_violations,
                *map(PlacedViolation, () if source is None else source.of_aggregate),
            ],
            is_incomplete=self._incomplete_reason is not None,
        )

    def _speak(self, violations: file_violations.FileViolations, collector: RowCollector) -> None:
        """Pass on the findings about whole files: the rows file first, then its aggregate."""
        for violation in sorted(violations.rows, key=Violation.order):
            collector.note(violation)
        for placed in in_order(self._placed(violations.aggregate, collector)):
            collector.note(placed.violation, self._aggregate_name, placed.line, placed.column)
        if not self._failing(collector):
            self._cannot(self._describe_unread(collector))

    def _placed(
        self, violations: list[PlacedViolation], collector: RowCollector
    ) -> list[PlacedViolation]:
        """Return the violations that are enabled, with lines of the aggregate that was checked."""
        text = self._text if self._aggregate is None else self._aggregate.text
        if text is None or not violations:
            return violations
        from evalstream.engine.positions import json_locator, place_violations

        enabled = collector.context.enabled_codes
        shown = (one for one in violations if one.violation.code in enabled)
        return place_violations(shown, json_locator(text))

    def _cannot(self, reason: str | None) -> None:
        self._incomplete_reason = self._incomplete_reason or reason

    def _describe_unread(self, collector: RowCollector) -> str | None:
        """Say which rows were not read, if any."""
        if collector.tally.unread:
            return f"{collector.tally.unread:,} rows could not be read"
        return "no row was checked" if self._rows_name and not collector.tally.rows else None

    def _failing(self, collector: RowCollector) -> dict[str, int]:
        """Return the occurrences that fail the run, by code."""
        return collector.failing(NOT_CHECKED | {ES002.code} if self._lacks else NOT_CHECKED)

    def _summarise(self, rows: RowPass, facts: RunFacts, collector: RowCollector) -> RunSummary:
        """Return the summary of the run, with its verdict."""
        # A seal that is only shown is not declared yet.
        is_shown = self._options.routing.dry_run
        summary = summarise_run(
            self._run,
            facts,
            rows,
            collector,
            self._aggregate_name,
            replace(facts, aggregate=self._state.aggregate) if is_shown else facts,
            are_whole=self._are_whole,
        )
        if self._source is not None:
            summary.checked = (self._source.describe_checked(), *summary.checked)
        if self._options.digests:
            summary.digests = file_digests(self._run, rows, self._text)
        summary.incomplete_reason = self._incomplete_reason
        summary.seconds = time.perf_counter() - self._started
        failing = {} if self._changed else self._failing(collector)
        summary.judge(failing)
        may_not_be_sealed = self._refusal is not None and self._refusal.refutes
        is_refuted = may_not_be_sealed or any(file_violations.unmet_expectations(facts))
        if not self._changed and is_refuted:
            summary.verdict = summary.otherwise = "failed"
        elif failing and (unread := self._describe_unread(collector)):
            summary.leave_open(unread)
        return summary


def is_awaited(run: Run, options: Options) -> bool:
    """Return whether a stream of rows begins before its aggregate exists."""
    path = run.aggregate
    if path is None or path == STDIN or is_remote(path):
        return False
    return comes_by(run, options) and not os.path.exists(path)


def comes_by(run: Run, options: Options) -> bool:
    """Return whether rows come while they are checked, from a pipe or in a file that grows."""
    path = run.rows
    return path is not None and (path == STDIN or options.routing.follow or is_irregular(path))


def prepare(options: Options, aggregate: Aggregate | None = None, *, size: int = 0) -> None:
    """Load and compile the checks of `size` bytes of rows before the first row comes.

    A consumer may wait for that row, or workers may inherit what is loaded.
    """
    checker = probe_context(options, aggregate, b"").checker()
    checker.expect(size)
    checker.run(Lines(b"{}\n"))
