"""Check one run, step by step: read, rows, facts with their claims, findings, seal."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from itertools import islice
from typing import TYPE_CHECKING, Final

from evalstream.engine.collector import Collector
from evalstream.engine.routing import RowRouter, refuse_rowless
from evalstream.engine.row_pass import RowPass, RowsRead
from evalstream.formats.eee import AGGREGATE_SIGNS
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.aggregate_check import ReadAggregate, in_order, open_aggregate
from evalstream.formats.eee.facts import NO_ROWS, RowContext
from evalstream.formats.eee.file_violations import unmet_expectations
from evalstream.formats.eee.probe import (
    context_of_rows,
    probe_context,
    rowless_context,
    settle_context,
)
from evalstream.formats.eee.rules.seal import ES501, ES506, checksum_algorithms
from evalstream.formats.eee.run_summary import (
    ATTESTED,
    CHANGED,
    CheckedRows,
    JudgedRun,
    can_fix,
    have_mappings,
    judge_files,
    summarise_run,
)
from evalstream.io.names import is_remote, printable
from evalstream.io.overwriting import is_irregular
from evalstream.io.progress import Progress
from evalstream.io.readers import Watch
from evalstream.model.block import Lines
from evalstream.model.data_class import replace
from evalstream.model.errors import CannotCheck, describe_error
from evalstream.model.finding import (
    Finding,
    FindingList,
    PlacedViolation,
    Severity,
    Show,
    Violation,
)
from evalstream.model.options import Options, RowRouting
from evalstream.model.run import STDIN, Run
from evalstream.model.run_summary import NOT_SEALED, RunSummary
from evalstream.model.text import ALGORITHMS
from evalstream.rules.claims import ES805
from evalstream.rules.inputs import ES006, changed_while_read

if TYPE_CHECKING:
    from evalstream.formats.eee.source_check import SourceCheck

NO_BYTES: Final = "rows that are mappings have no bytes, and only ES501 was to be checked"
CAME_LATE: Final = "the aggregate came after the rows; its claims were not checked"

_LATER: Final = (
    *("seal_to", "file_path", "create", "seal_anyway", "dry_run", "expect_rows", "expect_samples"),
)
"""Routing options that concern the whole run, which is checked when its aggregate exists."""


def check(
    run: Run,
    options: Options,
    show: Show,
    progress: Progress,
    describe_other: Callable[[bytes], str | None] | None = None,
) -> RunSummary:
    """Check one run and pass its findings to `show`, in order; its aggregate may come later.

    `describe_other` describes files of other formats by their first bytes.
    """
    if _has_late_aggregate(run, options):
        return _check_late(run, options, show, progress)
    return check_run(run, options, show, progress, describe_other=describe_other)


def check_run(
    run: Run,
    options: Options,
    show: Show,
    progress: Progress,
    *,
    is_late: bool = False,
    is_stream: bool = False,
    describe_other: Callable[[bytes], str | None] | None = None,
) -> RunSummary:
    """Check one run, pass its findings to `show` in order, and return its summary.

    With `is_late` its aggregate comes after its rows; `is_stream` says that a stream ends its rows,
    or the file that they were copied to. Raises UsageError, and CannotWrite if routed rows or a
    seal cannot be written.
    """
    started, watch, routing = time.perf_counter(), Watch(), options.routing
    if run.rows is None and run.missing is None:
        refuse_rowless(routing, printable(run.aggregate or ""))
    # Only a seal asks, and asking costs a disk access.
    is_stream = is_stream or (routing.seal_to is not None and comes_by(run, options))
    read = ReadAggregate(None) if is_late else open_aggregate(run, options, watch)
    name, aggregate = printable(run.rows or run.aggregate or ""), read.aggregate
    algorithms = _choose_digests(options, aggregate, is_late=is_late)
    with RowRouter(options, algorithms) as outlets:
        if routing.is_interactive:
            prepare(options, aggregate)
        row_pass = RowPass(
            *(name, options, algorithms, outlets, progress, AGGREGATE_SIGNS),
            sealed=None if aggregate is None else aggregate.checksum,
            describe_other=describe_other,
        )
        with closing(_open_rows(run, row_pass, read)) as opened:
            head = b"" if opened.opened is None else opened.opened.take_head()
            context = _choose_context(run, options, aggregate, opened, head)
            collector = Collector(context, name, show, can_fix=can_fix(run, options))
            if collector.links is not None and aggregate is not None and aggregate.model_id:
                # Only checks of several runs need it.
                from evalstream.formats.eee.answer_links import link_answers
                from evalstream.formats.eee.rules.datastore import ES907

                if ES907.code in context.enabled_codes:
                    link_answers(collector.links, aggregate.model_id, head)
            source = _open_source(run, options, aggregate, collector)
            with closing(collector), nullcontext() if source is None else closing(source):
                rows = row_pass.run(opened, collector)
                if rows.broken is not None:
                    collector.note(rows.broken.violation, line=rows.broken.line)
                checked = CheckedRows(
                    *(run, options, settle_context(context), rows, collector, source),
                    is_late=is_late,
                    is_stream=is_stream,
                )
                read = _complete_reading(checked, read, watch)
                judged = _judge_run(checked, read)
                _note_findings(checked, judged)
                summary = summarise_run(checked, judged, read)
                summary.seconds = time.perf_counter() - started
        if opened.opened is None:
            # Without rows the old content of the output files stays.
            outlets.drop(CannotCheck("the rows cannot be opened"))
    if routing.seal_to is not None:
        _write_seal(summary, judged, routing)
    return summary


def _choose_digests(
    options: Options, aggregate: Aggregate | None, *, is_late: bool
) -> tuple[str, ...]:
    """Return the digests to compute: all if the aggregate does not name one yet."""
    algorithms = checksum_algorithms(aggregate)
    if options.digests:
        algorithms = (*algorithms, ATTESTED)
    declares = aggregate is not None and aggregate.hash_algorithm is not None
    if not declares and (options.routing.seal_to or is_late):
        algorithms = (*algorithms, *ALGORITHMS)
    return tuple(dict.fromkeys(algorithms))


def _open_rows(run: Run, row_pass: RowPass, read: ReadAggregate) -> RowsRead:
    if run.rows:
        return row_pass.open(run.rows)
    return RowsRead(layout=NO_ROWS) if read.missing is None else RowsRead()


def _choose_context(
    run: Run, options: Options, aggregate: Aggregate | None, rows: RowsRead, head: bytes
) -> RowContext:
    """Return the context of the rows, if there are any. Raises UsageError for a bad schema."""
    is_rowless = run.rows is None
    if is_rowless and options.schema is None and options.routing.seal_to is None:
        return rowless_context(options)
    context = context_of_rows(options, aggregate, rows.opened, head)
    if is_rowless:
        context.checker()
    return context


def _open_source(
    run: Run, options: Options, aggregate: Aggregate | None, collector: Collector[RowContext]
) -> SourceCheck | None:
    """Have the rows compared with the log that they were converted from, after the last one."""
    if options.source is None:
        return None
    from evalstream.formats.eee.source_check import SourceCheck

    source = SourceCheck(run.rows, aggregate, options)
    if run.rows is not None:
        collector.await_later(source.differences)
    return source


def _complete_reading(checked: CheckedRows, read: ReadAggregate, watch: Watch) -> ReadAggregate:
    """Return the aggregate with all that happened while the rows were read."""
    rows, source = checked.rows, checked.source
    if source is not None:
        if checked.run.rows is None:
            list(source.differences())
        read = read.add_reason(source.reason)
    read = read.add_reason(rows.incomplete_reason)
    if have_mappings(rows) and checked.context.enabled_codes == {ES501.code}:
        read = read.add_reason(NO_BYTES)
    if checked.is_late:
        late = open_aggregate(checked.run, checked.options, watch)
        came_late = None if late.aggregate is None else CAME_LATE
        reason = read.incomplete_reason or late.incomplete_reason or came_late
        read = late._replace(incomplete_reason=reason)
    changes = [change for _, change in watch.changes()]
    if changes:
        found = map(PlacedViolation, map(changed_while_read, changes))
        read = read._replace(violations=[*read.violations, *found], has_changed=True)
        read = read.add_reason(f"the aggregate {CHANGED}: {changes[0]}")
    return read


def _judge_run(checked: CheckedRows, read: ReadAggregate) -> JudgedRun:
    """Check the files as a whole: as they will be when sealed, else as they are."""
    run, refusal = checked.run, None
    if checked.options.routing.seal_to is not None:
        from evalstream.formats.eee.seal import judge_sealed, prepare_seal

        try:
            seal = prepare_seal(checked, read)
        except (OSError, CannotCheck) as error:
            read, seal = read.add_reason(f"{NOT_SEALED}: {describe_error(error)}"), None
        if seal is not None:
            judged = judge_sealed(checked, read, seal)
            refusal = judged.refusal
            if refusal is None:
                return judged
            if refusal.incomplete_reason:
                read = read.add_reason(f"{NOT_SEALED}: {refusal.incomplete_reason}")
    facts, violations = judge_files(checked, read)
    if refusal is not None:
        violations = refusal.added_to(violations)
    else:
        for violation in unmet_expectations(facts):
            if violation.code not in checked.context.enabled_codes:
                read = read.add_reason(violation.message)
    name = printable(run.aggregate) if run.aggregate else None
    return JudgedRun(facts, violations, read, name, refusal=refusal)


def _note_findings(checked: CheckedRows, judged: JudgedRun) -> None:
    """Pass on the findings about whole files: the rows file first, then its aggregate."""
    note, violations = checked.collector.note, judged.violations
    for violation in sorted(violations.rows, key=Violation.order):
        note(violation)
    placed = violations.aggregate
    aggregate, text = judged.read.aggregate, judged.read.text
    text = text if aggregate is None else aggregate.text
    if placed and text is not None:
        from evalstream.engine.positions import json_locator, place_violations

        enabled = checked.context.enabled_codes
        placed = place_violations(
            (one for one in placed if one.violation.code in enabled), json_locator(text)
        )
    for one in in_order(placed):
        note(one.violation, judged.aggregate_name, one.line, one.column)


def _write_seal(summary: RunSummary, judged: JudgedRun, routing: RowRouting) -> None:
    from evalstream.engine.sealed_document import seal_diff, write

    if judged.seal is None:
        summary.note_unsealed(None if judged.refusal is None else judged.refusal.reason)
        return
    text = judged.seal.text
    if routing.dry_run:
        summary.change = seal_diff(text)
    else:
        write(text)
        summary.sealed = printable(text.path)
    if judged.missing_members:
        new, members = printable(text.path), ", ".join(judged.missing_members)
        summary.leave_unconfirmed(
            f"{new} is new, and its check fails as long as it lacks {members}"
        )


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


def _has_late_aggregate(run: Run, options: Options) -> bool:
    """Return whether a stream of rows begins before its aggregate exists."""
    path = run.aggregate
    if path is None or path == STDIN or is_remote(path):
        return False
    return comes_by(run, options) and not os.path.exists(path)


def _check_late(run: Run, options: Options, show: Show, progress: Progress) -> RunSummary:
    """Check a run whose aggregate arrives later than its rows.

    Findings go to `show`, in order. The rows are first checked alone as they come, and against the
    aggregate when it exists: completely if a copy of them was kept, else only their bytes and their
    number. Raises CannotWrite if rows or a seal cannot be written to their target.
    """
    routing = options.routing
    copy = routing.tee or (run.rows if routing.follow else None)
    if copy is None:
        return check_run(run, options, show, progress, is_late=True)
    shown = FindingList()

    def show_and_remember(finding: Finding) -> None:
        shown.append(finding)
        show(finding)

    first_routing = replace(routing, **{name: getattr(RowRouting(), name) for name in _LATER})
    alone_codes = (ES506.code, ES805.code)
    alone = replace(options, ignore=(*options.ignore, *alone_codes), routing=first_routing)
    first = check_run(Run(run.rows, None), alone, show_and_remember, progress)
    if first.incomplete_reason is not None:
        # The copy may have less than the whole stream.
        if routing.seal_to is not None:
            first.note_unsealed()
        return first
    later = RowRouting(**{name: getattr(routing, name) for name in _LATER})
    again = replace(options, routing=later)
    show_new = _skip_shown(shown, show)
    joined = Run(copy, run.aggregate)
    second = check_run(joined, again, show_new, progress, is_stream=True)
    return _with_noise(second, first)


def _with_noise(summary: RunSummary, first: RunSummary) -> RunSummary:
    """Add the skipped noise, which a copy does not contain."""
    skipped = first.counts.get(ES006.code, 0) - summary.counts.get(ES006.code, 0)
    if skipped > 0:
        summary.counts[ES006.code] = first.counts[ES006.code]
        notices = summary.severities.get(Severity.INFO, 0)
        summary.severities[Severity.INFO] = notices + skipped
    return summary


def _skip_shown(shown: FindingList, show: Show) -> Show:
    """Return a function that shows findings in the same order, without those shown before."""
    before = iter(shown)
    waiting: list[Finding] = list(islice(before, 1))

    def show_new(finding: Finding) -> None:
        while waiting and waiting[0].order() < finding.order():
            waiting[:] = islice(before, 1)
        if not waiting or waiting[0]._replace(file=finding.file, fix=finding.fix) != finding:
            show(finding)

    return show_new
