"""Check one run: its rows in one pass, then the file against its aggregate."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine.collector import Collector
from evalstream.engine.routing import RowRouter, refuse_rowless
from evalstream.engine.row_pass import RowPass, describe_error
from evalstream.formats.eee import documents
from evalstream.formats.eee.aggregate import DETAILS, RESULTS, Aggregate
from evalstream.formats.eee.aggregate_check import ReadAggregate, in_order, read_aggregate
from evalstream.formats.eee.catalogue import CATALOGUE
from evalstream.formats.eee.context import RowContext
from evalstream.formats.eee.facts import RunFacts
from evalstream.formats.eee.file_violations import FileViolations, unmet_expectations
from evalstream.formats.eee.fixable import can_fix, fixable_counts
from evalstream.formats.eee.guess import context_of_rows, settle_context
from evalstream.formats.eee.probe import probe_context, rowless_context
from evalstream.formats.eee.rules.datastore import ES902, are_undeclared
from evalstream.formats.eee.rules.sample_hash import file_recipe, verified_hashes
from evalstream.formats.eee.rules.seal import (
    ES501,
    ES506,
    NO_ROWS,
    checksum_algorithms,
    is_checksum_right,
)
from evalstream.io.document import document_bytes
from evalstream.io.file import FileSource
from evalstream.io.file_names import is_packed_name, rows_named_like
from evalstream.io.file_state import Watch
from evalstream.io.names import printable
from evalstream.io.overwriting import is_irregular
from evalstream.io.progress import Progress
from evalstream.io.remote import is_remote
from evalstream.model.block import Lines
from evalstream.model.claim import JudgedClaim
from evalstream.model.data_class import NamedTuple, replace
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Finding, PlacedViolation, Severity, Violation
from evalstream.model.hex_digest import ALGORITHM_OF_LENGTH, ALGORITHMS
from evalstream.model.options import Options
from evalstream.model.report import NOT_CHECKED, NOT_SEALED, Checked, RunSummary, Verified
from evalstream.model.run import STDIN, Run
from evalstream.parsing.json import text_or_none
from evalstream.parsing.limits import limit_findings
from evalstream.rules.base import Rule, position_namer
from evalstream.rules.claims import find_nothing_confirmed
from evalstream.rules.inputs import ES001, ES002, ES009, changed_while_read
from evalstream.rules.syntax import ES108

if TYPE_CHECKING:
    from evalstream.formats.eee.seal import Refusal, Seal
    from evalstream.formats.eee.source_check import SourceCheck

RowCollector = Collector[RowContext]
Check = Callable[[Any], Iterable[Violation]]

FILE_PATH: Final = "/detailed_evaluation_results/file_path"
CHANGED: Final = "changed while it was checked"
OUTSIDE: Final = "the path leads out of the inputs; it was not opened"

MAPPINGS: Final = Checked("mappings have no bytes", None)
"""Why the checksum of rows that came as mappings is not verified."""

NO_BYTES: Final = "rows that are mappings have no bytes, and only ES501 was to be checked"

ATTESTED: Final = "sha256"
"""The algorithm of the digests in attestations."""

JOINING: Final = ("ES6", "ES8")
"""The families of rules that compare rows with their aggregate."""


class _Checks(NamedTuple):
    """The enabled rules over aggregates and over whole runs, each with its check."""

    of_aggregates: tuple[tuple[Rule, Check], ...]
    of_runs: tuple[tuple[Rule, Check], ...]


@lru_cache(maxsize=16)
def _enabled_checks(enabled: frozenset[str]) -> _Checks:
    rules = [rule for rule in CATALOGUE.values() if rule.code in enabled]
    return _Checks(
        tuple((rule, rule.aggregate) for rule in rules if rule.aggregate is not None),
        tuple((rule, rule.run) for rule in rules if rule.run is not None),
    )


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
                self._end_source()
                collector.context = settle_context(context)
                self._cannot(rows.incomplete_reason)
                if _have_mappings(rows) and context.enabled_codes == {ES501.code}:
                    self._cannot(NO_BYTES)
                self._lacks = rows.lacks
                self._are_whole = rows.incomplete_reason is None and not collector.tally.unread
                if self._awaited:
                    self._read_aggregate()
                if self._awaited and self._aggregate is not None:
                    self._cannot("the aggregate came after the rows; its claims were not checked")
                for placed in rows.breaks:
                    collector.note(placed.violation, line=placed.line)
                self._compare_aggregate()
                facts, violations = self._check_files(rows, collector)
                self._distrust(facts.changed and f"the rows file {CHANGED}: {facts.changed}")
                self._speak(violations, collector)
                return self._summarise_run(rows, facts, collector)
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

    def _end_source(self) -> None:
        """Compare an aggregate without rows, and note what was not compared."""
        if self._source is None:
            return
        if self._run.rows is None:
            list(self._source.differences())
        self._cannot(self._source.reason)

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
        path, name = self._run.aggregate, self._aggregate_name
        if path is None or name is None:
            return
        if path == self._options.routing.seal_to and not os.path.exists(path):
            return
        try:
            self._text = document_bytes(path, self._watch)
            reading = read_aggregate(self._text, name, self._options)
        except (OSError, CannotCheck) as error:
            self._cannot(f"the aggregate cannot be read: {describe_error(error)}")
            violation = ES001.violation(f"cannot be read: {describe_error(error)}")
            self._aggregate_violations.append(PlacedViolation(violation))
        else:
            self._aggregate, self._aggregate_violations = reading.aggregate, reading.violations
            if reading.aggregate is None:
                self._cannot("the aggregate could not be read as one")
            elif self._run.rows is None and self._missing is None:
                self._missing = _unnamed_rows(reading.aggregate)
        if self._missing:
            self._cannot(self._missing)
            self._aggregate_violations.extend(
                map(PlacedViolation, self._missing_violations(self._missing))
            )

    def _compare_aggregate(self) -> None:
        """Note whether the aggregate changed after it was read."""
        for _, change in self._watch.changes():
            self._aggregate_violations.append(PlacedViolation(changed_while_read(change)))
            self._distrust(f"the aggregate {CHANGED}: {change}")

    def _distrust(self, reason: str | None) -> None:
        """Make the verdict incomplete if a file changed: the findings are of no single state."""
        self._cannot(reason)
        if reason is not None:
            self._changed, self._are_whole = True, False

    def _missing_violations(self, missing: str) -> Iterator[Violation]:
        """Report declared rows that are missing or not at a permitted place."""
        leads_out = self._run.leads_out
        if leads_out is not None:
            yield ES009.violation(OUTSIDE, pointer=FILE_PATH, found=printable(leads_out))
        elif ES902.code not in CATALOGUE.selection(self._options):
            yield ES001.violation(missing, pointer=FILE_PATH if self._run.missing else DETAILS)

    def _check_files(
        self, rows: RowPass, collector: RowCollector
    ) -> tuple[RunFacts, FileViolations]:
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
            self._aggregate, self._aggregate_violations = sealed if seal.before else state
            self._aggregate_name = printable(seal.path)
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
                self._seal, self._begun = seal, [] if seal.before else missing_members(sealed)
                return facts, violations
            self._refusal, self._aggregate_name = refusal.beside(failing), name
            self._aggregate, self._aggregate_violations = state
            self._cannot(refusal.incomplete_reason and f"{NOT_SEALED}: {refusal.incomplete_reason}")
        facts = self._facts(rows, collector)
        violations = self._file_violations(rows, facts)
        for violation in unmet_expectations(facts):
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
            summary.sealed = printable(seal.path)
        if self._begun:
            members = ", ".join(self._begun)
            summary.leave_unconfirmed(
                f"{printable(seal.path)} is new, and its check fails as long as it lacks {members}"
            )

    def _facts(
        self, rows: RowPass, collector: RowCollector, sealed_as: str | None = None
    ) -> RunFacts:
        """Collect the facts of the run; `sealed_as` is the name of the rows in a seal."""
        aggregate, source = self._aggregate, rows.source
        algorithm = checksum_algorithms(aggregate)[0]
        # Only one rule needs them, and each one costs a disk access.
        wanted = self._run.aggregate if ES902.code in collector.context.enabled_codes else None
        named_like = () if wanted is None else rows_named_like(wanted)
        return RunFacts(
            file=self._rows_name or self._aggregate_name or "",
            context=collector.context,
            tally=collector.tally,
            path=sealed_as or self._path(rows),
            aggregate=aggregate,
            checksums=rows.digests.get(self._describe_digests(rows), {}),
            diagnose=partial(source.diagnose, algorithm) if source else lambda _, **__: None,
            changed=rows.opened.describe_change() if rows.opened is not None else None,
            layout=rows.layout,
            coverage=collector.coverage,
            aggregate_path=self._run.aggregate,
            beside=tuple(filter(_is_file_or_link, named_like)),
            missing=None if self._run.leads_out else self._missing,
            rivals=tuple(map(printable, self._run.rivals)),
            legacy_path=self._run.legacy_path,
            packed=rows.opened.packed if rows.opened is not None else None,
        )

    def _path(self, rows: RowPass) -> str | None:
        """Return the path of the file that holds the rows, or None for a stream."""
        if isinstance(rows.source, FileSource):
            return self._run.rows
        is_file = self._run.rows is not None and os.path.isfile(self._run.rows)
        return self._run.rows if is_file and self._run.rows != STDIN else None

    def _describe_digests(self, rows: RowPass) -> str:
        """Return the digests that the checksum is compared with: those that equal it, if any do.

        Otherwise those of the rows without console output, and for a compressed file, whatever its
        declared name, those of the stored or of the unpacked bytes.
        """
        aggregate, digests = self._aggregate, rows.digests
        if aggregate is not None and aggregate.checksum is not None:
            algorithm = ALGORITHM_OF_LENGTH[len(aggregate.checksum)]
            for name, digest in digests.items():
                if digest.get(algorithm) == aggregate.checksum:
                    return name
        if "rows" in digests:
            return "rows"
        declared = aggregate.file_path if aggregate is not None else None
        unpacked = declared is not None and not is_packed_name(declared)
        return "unpacked" if unpacked and "unpacked" in digests else "stored"

    def _shown_cover(self, rows: RowPass) -> str | None:
        """Return what the checksum covers, where reports must say it."""
        covered = self._describe_digests(rows)
        is_usual = len(rows.digests) < 2 or (covered == "stored" and "unended" in rows.digests)
        return None if is_usual else covered

    def _file_violations(self, rows: RowPass, facts: RunFacts) -> FileViolations:
        """Return the violations of whole files: the rows file and its aggregate."""
        about_rows = [*rows.violations, *unmet_expectations(facts)]
        about_aggregate = list(self._aggregate_violations)
        if self._source is not None:
            about_rows += self._source.violations
            about_aggregate += map(PlacedViolation, self._source.of_aggregate)
        about_aggregate.extend(
            map(PlacedViolation, limit_findings(self._aggregate_rule_violations(facts)))
        )
        for violation in limit_findings(self._run_violations(facts)):
            about = CATALOGUE[violation.code].about_aggregate and not violation.about_rows
            if about and facts.aggregate is not None:
                about_aggregate.append(PlacedViolation(violation))
            else:
                about_rows.append(violation)
        is_open = self._incomplete_reason or facts.tally.unread or facts.changed
        if not is_open and not _is_orphan(facts):
            found = find_nothing_confirmed(
                self._claims(facts),
                is_info=self._is_documentation and self._options.threshold > Severity.WARNING,
                pointer=None if facts.aggregate is None else RESULTS,
            )
            if facts.aggregate is None:
                about_rows.extend(found)
            else:
                about_aggregate.extend(map(PlacedViolation, found))
        return FileViolations(about_rows, about_aggregate)

    def _speak(self, violations: FileViolations, collector: RowCollector) -> None:
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

    def _aggregate_rule_violations(self, facts: RunFacts) -> Iterator[Violation]:
        """Check the aggregate alone, except results whose number is not a number (ES108)."""
        if facts.aggregate is None:
            return
        pointers = [
            placed.violation.pointer or ""
            for placed in self._aggregate_violations
            if placed.violation.code == ES108.code
        ]
        numberless = {"/".join(pointer.split("/")[:3]) for pointer in pointers}
        for _, check in _enabled_checks(facts.context.enabled_codes).of_aggregates:
            for violation in check(facts.aggregate):
                if "/".join((violation.pointer or "").split("/")[:3]) not in numberless:
                    yield violation

    def _run_violations(self, facts: RunFacts) -> Iterator[Violation]:
        looked_at = self._run.rows is not None and facts.layout != "unread"
        is_alone = self._run.rows is None and self._missing is None and self._aggregate
        if is_alone and not self._is_documentation:
            message = "no rows were checked, only the aggregate itself"
            yield ES506.violation(message, severity=Severity.INFO)
        for (code, message, pointer), count, line in facts.tally.notices:
            text = f"{message} (first {position_namer(facts.layout)(line)})"
            yield Violation(
                code, text, pointer, severity=Severity.INFO, count=count, about_rows=True
            )
        enabled = facts.context.enabled_codes
        unreadable = facts.aggregate is None and facts.aggregate_path is not None
        for rule, check in _enabled_checks(enabled).of_runs:
            if self._awaited and rule.code.startswith(JOINING):
                continue
            # Another rule explains why the rows are not sealed.
            if rule is ES506 and (unreadable or _is_orphan(facts) or self._options.routing.seal_to):
                continue
            if looked_at or rule.about_paths:
                yield from check(facts)

    def _claims(self, facts: RunFacts) -> list[JudgedClaim]:
        """Return the judged claims; those of an aggregate that came after the rows are not."""
        return [] if self._awaited else [one.claim for one in facts.judgements]

    @property
    def _is_documentation(self) -> bool:
        """Whether the aggregate reports published figures and therefore has no rows."""
        if self._run.rows is not None or self._missing is not None or self._aggregate is None:
            return False
        return self._aggregate.is_documentation

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

    def _judge(self, summary: RunSummary, facts: RunFacts, collector: RowCollector) -> None:
        """Set the verdict."""
        failing = {} if self._changed else self._failing(collector)
        summary.judge(failing)
        if not self._changed and self._is_refuted(facts):
            summary.verdict = summary.otherwise = "failed"
        elif failing and (unread := self._describe_unread(collector)):
            summary.leave_open(unread)

    def _is_refuted(self, facts: RunFacts) -> bool:
        """Tell whether the rows differ finally from the expected number, or may not be sealed."""
        if self._refusal is not None and self._refusal.refutes:
            return True
        return any(unmet_expectations(facts))

    def _summarise_run(self, rows: RowPass, facts: RunFacts, collector: RowCollector) -> RunSummary:
        summary = RunSummary(
            file=self._rows_name,
            aggregate=self._aggregate_name,
            format=documents.NAME,
            version=_version(facts),
            rows=collector.tally.rows,
            recipe=file_recipe(facts),
            seconds=time.perf_counter() - self._started,
            bytes=rows.size,
            incomplete_reason=self._incomplete_reason,
            claims=self._claims(facts),
        )
        for (code, severity), count in collector.counts.items():
            summary.count(code, severity, count)
        self._judge(summary, facts, collector)
        if can_fix(self._run, self._options) and facts.layout in (NO_ROWS, "jsonl"):
            sealing = facts.aggregate if facts.layout != NO_ROWS else None
            counts, marked = collector.counts, collector.marked
            found = fixable_counts(counts, marked, collector.unmended, sealing)
            summary.fixable, summary.fixable_unsafely, summary.unfixable = found
        aggregate = self._aggregate
        summary.algorithm = checksum_algorithms(aggregate)[0] if facts.checksums else None
        summary.actual = facts.checksums.get(summary.algorithm or "")
        summary.covers = self._shown_cover(rows)
        if self._options.routing.dry_run:
            # A seal that is only shown is not declared yet.
            facts = replace(facts, aggregate=self._state.aggregate)
        declared = facts.aggregate.claim("checksum") if facts.aggregate else None
        summary.declared = text_or_none(declared)
        summary.verified = self._list_verified(facts) if self._rows_name else None
        summary.checked = () if self._source is None else (self._source.describe_checked(),)
        if summary.declared is not None and _have_mappings(rows):
            summary.checked = (*summary.checked, MAPPINGS)
        summary.sketch = collector.sketch
        summary.links, summary.samples = collector.links, collector.samples
        if self._options.digests:
            summary.digests = dict(self._file_digests(rows))
        if collector.samples is not None:
            from evalstream.formats.eee.compared import describe

            collector.samples.description = describe(
                aggregate, collector.samples.labels, summary.version
            )
        if collector.links is not None and aggregate is not None:
            from evalstream.formats.eee.row_digests import record_digest

            collector.links.claim(record_digest(aggregate.document), aggregate.evaluation_id)
        return summary

    def _file_digests(self, rows: RowPass) -> Iterator[tuple[str, str]]:
        """Iterate over the files of the run, and the SHA-256 of the bytes that were read."""
        stored = rows.digests.get("stored", {})
        if self._run.rows is not None and ATTESTED in stored:
            yield self._run.rows, stored[ATTESTED]
        if self._run.aggregate is not None and self._text is not None:
            yield self._run.aggregate, hashlib.new(ATTESTED, self._text).hexdigest()

    def _list_verified(self, facts: RunFacts) -> Verified:
        """Return what was verified, including checks without a finding."""
        aggregate, rows = facts.aggregate, facts.tally.rows
        checksum = row_count = None
        if aggregate is not None and self._are_whole:
            total = aggregate.claim("total_rows")
            if aggregate.checksum is not None and facts.checksums:
                checksum = is_checksum_right(facts)
            row_count = None if total is None else total == rows and not isinstance(total, bool)
        return Verified(checksum, row_count, verified_hashes(facts), rows)


def is_awaited(run: Run, options: Options) -> bool:
    """Return whether a stream of rows begins before its aggregate exists."""
    if run.aggregate is None or is_remote(run.aggregate):
        return False
    if run.aggregate == STDIN:
        return False
    return comes_by(run, options) and not os.path.exists(run.aggregate)


def comes_by(run: Run, options: Options) -> bool:
    """Return whether rows come while they are checked, from a pipe or in a file that grows."""
    if run.rows is None:
        return False
    return run.rows == STDIN or options.routing.follow or is_irregular(run.rows)


def _have_mappings(rows: RowPass) -> bool:
    return rows.opened is not None and rows.opened.has_mappings


def prepare(options: Options, aggregate: Aggregate | None = None, *, size: int = 0) -> None:
    """Load and compile the checks of `size` bytes of rows before the first row comes.

    A consumer may wait for that row, or workers may inherit what is loaded.
    """
    checker = probe_context(options, aggregate, b"").checker()
    checker.expect(size)
    checker.run(Lines(b"{}\n"))


def _is_orphan(facts: RunFacts) -> bool:
    """Return whether a rule reports that the rows have no aggregate."""
    return ES902.code in facts.context.enabled_codes and are_undeclared(facts)


def _is_file_or_link(path: str) -> bool:
    """Tell whether a file or a link exists; a link is not followed."""
    return os.path.islink(path) or os.path.isfile(path)


def _unnamed_rows(aggregate: Aggregate) -> str | None:
    """Return a message on missing rows that an aggregate seals without a name, or None."""
    claims = [name for name in ("checksum", "total_rows") if aggregate.claim(name)]
    if aggregate.claim("file_path") is not None or not claims:
        return None
    return f"the rows of its {' and '.join(claims)} were not found, and no file_path names them"


def _version(facts: RunFacts) -> str | None:
    """Return the version of most rows, else that of the aggregate."""
    counted = sorted(facts.tally.versions, key=lambda entry: -entry[1])
    if counted:
        return counted[0][0]
    return facts.aggregate.version if facts.aggregate else None
