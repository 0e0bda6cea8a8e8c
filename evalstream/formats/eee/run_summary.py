"""Judge the files of a run after its rows are read, and sum up its check."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from evalstream.engine.collector import Collector
from evalstream.engine.row_pass import RowsRead
from evalstream.formats.eee import NAME
from evalstream.formats.eee.aggregate_check import ReadAggregate
from evalstream.formats.eee.catalogue import fixable_counts
from evalstream.formats.eee.claim_states import judge_claims
from evalstream.formats.eee.facts import NO_ROWS, UNREAD, RowContext, RunFacts
from evalstream.formats.eee.file_violations import (
    FileViolations,
    find_file_violations,
    unmet_expectations,
)
from evalstream.formats.eee.row_view import record_digest
from evalstream.formats.eee.rules import seal
from evalstream.formats.eee.rules.datastore import ES902
from evalstream.formats.eee.rules.sample_hash import file_recipe, verified_hashes
from evalstream.io.names import is_remote, printable, rows_named_like
from evalstream.model.data_class import NamedTuple, replace
from evalstream.model.finding import PlacedViolation
from evalstream.model.hashing import hash_function
from evalstream.model.options import Options
from evalstream.model.run import STDIN, Run
from evalstream.model.run_summary import NOT_CHECKED, Checked, RunSummary, Verified
from evalstream.model.text import count_noun
from evalstream.parsing.json import text_or_none
from evalstream.rules.inputs import ES002
from evalstream.stats.claims.judgement import Judgement

if TYPE_CHECKING:
    from evalstream.formats.eee.seal_refusals import Refusal, Seal
    from evalstream.formats.eee.source_check import SourceCheck

ATTESTED: Final = "sha256"
"""The algorithm of the digests in attestations."""

CHANGED: Final = "changed while it was checked"

MAPPINGS: Final = Checked("mappings have no bytes", None)
"""Why the checksum of rows that came as mappings is not verified."""


class CheckedRows(NamedTuple):
    """The rows of a run after their pass, and the comparison with the log they came from.

    `context` is the one that they follow; `is_late` says that the aggregate came after them, and
    `is_stream` that a stream ended them.
    """

    run: Run
    options: Options
    context: RowContext
    rows: RowsRead
    collector: Collector[RowContext]
    source: SourceCheck | None
    is_late: bool
    is_stream: bool


class JudgedRun(NamedTuple):
    """The facts and violations of a run's files, as they are or as a seal makes them.

    `read` is the aggregate of that state, and `aggregate_name` its name in reports. A `seal` is to
    be written; a new aggregate then lacks `missing_members`. A `refusal` says why there is none.
    """

    facts: RunFacts
    violations: FileViolations
    read: ReadAggregate
    aggregate_name: str | None
    seal: Seal | None = None
    missing_members: Sequence[str] = ()
    refusal: Refusal | None = None


def judge_files(
    checked: CheckedRows, read: ReadAggregate, sealed_as: str | None = None
) -> tuple[RunFacts, FileViolations]:
    """Return the facts of a run, and the violations of its files as a whole.

    `sealed_as` is the name of the rows in a seal.
    """
    facts = _collect_facts(checked, read, sealed_as)
    source = checked.source
    of_rows, of_aggregate = checked.rows.violations, read.violations
    if source is not None:
        of_rows = [*of_rows, *source.violations]
        of_aggregate = [*of_aggregate, *map(PlacedViolation, source.of_aggregate)]
    is_incomplete = read.incomplete_reason is not None
    return facts, find_file_violations(facts, of_rows, of_aggregate, is_incomplete=is_incomplete)


def _collect_facts(checked: CheckedRows, read: ReadAggregate, sealed_as: str | None) -> RunFacts:
    run, context, rows = checked.run, checked.context, checked.rows
    opened, aggregate = rows.opened, read.aggregate
    algorithm = seal.checksum_algorithms(aggregate)[0]
    tally, coverage = checked.collector.tally, checked.collector.coverage
    judgements: Sequence[Judgement] = ()
    changed = opened.describe_change() if opened else None
    if aggregate is not None and not checked.is_late:
        is_read = rows.incomplete_reason is None and changed is None
        judgements = list(judge_claims(aggregate, tally, coverage, is_read=is_read))
    # Only one rule needs them, and each one costs a disk access.
    wanted = run.aggregate if ES902.code in context.enabled_codes else None
    named_like = () if wanted is None else rows_named_like(wanted)
    return RunFacts(
        file=printable(run.rows or run.aggregate or ""),
        context=context,
        tally=tally,
        path=sealed_as or _path(run, rows),
        aggregate=aggregate,
        checksums=rows.digests.get(seal.choose_digests(aggregate, rows.digests), {}),
        diagnose=partial(opened.source.diagnose, algorithm) if opened else lambda _, **__: None,
        changed=changed,
        layout=rows.layout if rows.broken is None else UNREAD,
        coverage=coverage,
        aggregate_path=run.aggregate,
        beside=tuple(filter(_is_file_or_link, named_like)),
        missing=None if run.leads_out else read.missing,
        rivals=tuple(map(printable, run.rivals)),
        legacy_path=run.legacy_path,
        packed=None if opened is None else opened.packed,
        is_late=checked.is_late,
        judgements=judgements,
    )


def summarise_run(checked: CheckedRows, judged: JudgedRun, read: ReadAggregate) -> RunSummary:
    """Return the summary of a run, with its verdict; `read` is the aggregate without a seal."""
    run, options, _, rows, collector, source = checked[:6]
    facts = judged.facts
    aggregate, is_changed = facts.aggregate, facts.changed is not None or read.has_changed
    # A seal that is only shown is not declared yet.
    declared = replace(facts, aggregate=read.aggregate) if options.routing.dry_run else facts
    claimed = None if declared.aggregate is None else declared.aggregate.claim("checksum")
    are_whole = rows.incomplete_reason is None and not (collector.tally.unread or is_changed)
    summary = RunSummary(
        file=facts.file if run.rows else None,
        aggregate=judged.aggregate_name,
        format=NAME,
        version=_version(facts),
        rows=collector.tally.rows,
        recipe=file_recipe(facts),
        bytes=collector.size,
        claims=facts.claims,
        algorithm=seal.checksum_algorithms(aggregate)[0] if facts.checksums else None,
        covers=seal.describe_cover(aggregate, rows.digests),
        declared=text_or_none(claimed),
        verified=_list_verified(declared, are_whole=are_whole, is_changed=is_changed)
        if run.rows
        else None,
        sketch=collector.sketch,
        links=collector.links,
        samples=collector.samples,
    )
    summary.actual = facts.checksums.get(summary.algorithm or "")
    if summary.declared is not None and have_mappings(rows):
        summary.checked = (MAPPINGS,)
    if source is not None:
        summary.checked = (source.describe_checked(), *summary.checked)
    for (code, severity), count in collector.counts.items():
        summary.count(code, severity, count)
    if collector.counts and can_fix(run, options) and facts.layout in (NO_ROWS, "jsonl"):
        sealing = aggregate if facts.layout != NO_ROWS else None
        counts, marked, tally = collector.counts, collector.marked, collector.tally
        is_sealed = summary.verified is None or False not in summary.verified[:2]
        is_sound = is_sealed and not (tally.unread or tally.noise)
        found = fixable_counts(counts, marked, collector.unmended, sealing, is_sound=is_sound)
        summary.fixable, summary.fixable_unsafely, summary.unfixable = found
    if collector.samples is not None:
        from evalstream.formats.eee.compared import describe

        labels = collector.samples.labels
        collector.samples.description = describe(aggregate, labels, summary.version)
    if collector.links is not None and aggregate is not None:
        collector.links.claim(record_digest(aggregate.document), aggregate.evaluation_id)
    if options.digests:
        summary.digests = _file_digests(run, rows, read.text)
    _set_verdict(summary, checked, judged, is_changed=is_changed)
    return summary


def _set_verdict(
    summary: RunSummary, checked: CheckedRows, judged: JudgedRun, *, is_changed: bool
) -> None:
    """Judge a run whose findings were passed on; those of a file that changed fail nothing."""
    facts, refusal, collector = judged.facts, judged.refusal, checked.collector
    failing = collector.failing(NOT_CHECKED | {ES002.code} if checked.rows.lacks else NOT_CHECKED)
    unread = None
    if facts.tally.unread:
        unread = f"{count_noun(facts.tally.unread, 'row')} could not be read"
    elif summary.file and not facts.tally.rows:
        unread = "no row was checked"
    changed = facts.changed and f"the rows file {CHANGED}: {facts.changed}"
    reason = judged.read.incomplete_reason or changed
    summary.incomplete_reason = reason if failing else reason or unread
    summary.judge({} if is_changed else failing)
    if is_changed:
        return
    if (refusal is not None and refusal.refutes) or any(unmet_expectations(facts)):
        summary.verdict = summary.otherwise = "failed"
    elif failing and unread:
        summary.leave_open(unread)


def can_fix(run: Run, options: Options) -> bool:
    """Tell whether `fix` can write the files of a run, and rows were checked as they declare."""
    names = [name for name in (run.rows, run.aggregate) if name]
    is_stored = bool(names) and not any(name == STDIN or is_remote(name) for name in names)
    return is_stored and options.schema is None and options.schema_version == "auto"


def _file_digests(run: Run, rows: RowsRead, text: bytes | None) -> dict[str, str]:
    """Return the SHA-256 of the bytes that were read of each file of a run, by its name.

    `text` is that of the aggregate.
    """
    stored, digests = rows.digests.get("stored", {}), dict[str, str]()
    if run.rows is not None and ATTESTED in stored:
        digests[run.rows] = stored[ATTESTED]
    if run.aggregate is not None and text is not None:
        digests[run.aggregate] = hash_function(ATTESTED, len(text))(text).hexdigest()
    return digests


def have_mappings(rows: RowsRead) -> bool:
    """Tell whether rows came as mappings, which have no bytes to hash."""
    return rows.opened is not None and rows.opened.has_mappings


def _list_verified(facts: RunFacts, *, are_whole: bool, is_changed: bool) -> Verified:
    aggregate, rows = facts.aggregate, facts.tally.rows
    checksum = row_count = None
    # The bytes are compared also where rows among them could not be read.
    if aggregate is not None and aggregate.checksum is not None and facts.checksums:
        checksum = None if is_changed else seal.is_checksum_right(facts)
    if aggregate is not None and are_whole:
        total = aggregate.claim("total_rows")
        row_count = None if total is None else total == rows and not isinstance(total, bool)
    return Verified(checksum, row_count, verified_hashes(facts), rows)


def _version(facts: RunFacts) -> str | None:
    """Return the version of most rows, else that of the aggregate."""
    counted = sorted(facts.tally.versions.entries(), key=lambda entry: -entry[1])
    if counted:
        return counted[0][0]
    return facts.aggregate.version if facts.aggregate else None


def _path(run: Run, rows: RowsRead) -> str | None:
    """Return the path of the file that holds the rows, or None for a stream."""
    if rows.opened is not None and rows.opened.stream is None:
        return run.rows
    is_file = run.rows is not None and os.path.isfile(run.rows)
    return run.rows if is_file and run.rows != STDIN else None


def _is_file_or_link(path: str) -> bool:
    """Tell whether a file or a link exists; a link is not followed."""
    return os.path.islink(path) or os.path.isfile(path)
