"""Collect the facts of a run after its rows are read, and sum up its check."""

from __future__ import annotations

import hashlib
import os
from functools import partial
from typing import Final

from evalstream.engine.collector import Collector
from evalstream.engine.row_pass import RowPass
from evalstream.formats.eee import documents
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.facts import NO_ROWS, RowContext, RunFacts
from evalstream.formats.eee.rules import seal
from evalstream.formats.eee.rules.datastore import ES902
from evalstream.formats.eee.rules.sample_hash import file_recipe, verified_hashes
from evalstream.io.file import FileSource
from evalstream.io.names import is_remote, printable, rows_named_like
from evalstream.model.options import Options
from evalstream.model.run import STDIN, Run
from evalstream.model.run_summary import Checked, RunSummary, Verified
from evalstream.parsing.json import text_or_none

ATTESTED: Final = "sha256"
"""The algorithm of the digests in attestations."""

MAPPINGS: Final = Checked("mappings have no bytes", None)
"""Why the checksum of rows that came as mappings is not verified."""


def collect_facts(
    run: Run,
    rows: RowPass,
    collector: Collector[RowContext],
    aggregate: Aggregate | None,
    sealed_as: str | None = None,
    *,
    missing: str | None,
    is_awaited: bool,
) -> RunFacts:
    """Return the facts of a run; `sealed_as` is the name of the rows in a seal."""
    source = rows.source
    algorithm = seal.checksum_algorithms(aggregate)[0]
    # Only one rule needs them, and each one costs a disk access.
    wanted = run.aggregate if ES902.code in collector.context.enabled_codes else None
    named_like = () if wanted is None else rows_named_like(wanted)
    return RunFacts(
        file=printable(run.rows or run.aggregate or ""),
        context=collector.context,
        tally=collector.tally,
        path=sealed_as or _path(run, rows),
        aggregate=aggregate,
        checksums=rows.digests.get(seal.choose_digests(aggregate, rows.digests), {}),
        diagnose=partial(source.diagnose, algorithm) if source else lambda _, **__: None,
        changed=rows.opened.describe_change() if rows.opened is not None else None,
        layout=rows.layout,
        coverage=collector.coverage,
        aggregate_path=run.aggregate,
        beside=tuple(filter(_is_file_or_link, named_like)),
        missing=missing,
        rivals=tuple(map(printable, run.rivals)),
        legacy_path=run.legacy_path,
        packed=rows.opened.packed if rows.opened is not None else None,
        is_awaited=is_awaited,
    )


def summarise_run(
    run: Run,
    facts: RunFacts,
    rows: RowPass,
    collector: Collector[RowContext],
    aggregate_name: str | None,
    declared: RunFacts,
    *,
    are_whole: bool,
) -> RunSummary:
    """Return the summary of a run, without its verdict.

    `declared` are the facts with the aggregate as it is: a seal that is only shown is not in it.
    `are_whole` says that all rows were read, of one state of the file.
    """
    aggregate, options = facts.aggregate, facts.context.options
    claimed = None if declared.aggregate is None else declared.aggregate.claim("checksum")
    summary = RunSummary(
        file=printable(run.rows) if run.rows else None,
        aggregate=aggregate_name,
        format=documents.NAME,
        version=_version(facts),
        rows=collector.tally.rows,
        recipe=file_recipe(facts),
        bytes=rows.size,
        claims=facts.claims,
        algorithm=seal.checksum_algorithms(aggregate)[0] if facts.checksums else None,
        covers=seal.describe_cover(aggregate, rows.digests),
        declared=text_or_none(claimed),
        verified=_list_verified(declared, are_whole=are_whole) if run.rows else None,
        sketch=collector.sketch,
        links=collector.links,
        samples=collector.samples,
    )
    summary.actual = facts.checksums.get(summary.algorithm or "")
    if summary.declared is not None and have_mappings(rows):
        summary.checked = (MAPPINGS,)
    for (code, severity), count in collector.counts.items():
        summary.count(code, severity, count)
    if collector.counts and can_fix(run, options) and facts.layout in (NO_ROWS, "jsonl"):
        from evalstream.formats.eee.catalogue import fixable_counts

        sealing = aggregate if facts.layout != NO_ROWS else None
        counts, marked = collector.counts, collector.marked
        found = fixable_counts(counts, marked, collector.unmended, sealing)
        summary.fixable, summary.fixable_unsafely, summary.unfixable = found
    if collector.samples is not None:
        from evalstream.formats.eee.compared import describe

        labels = collector.samples.labels
        collector.samples.description = describe(aggregate, labels, summary.version)
    if collector.links is not None and aggregate is not None:
        from evalstream.formats.eee.row_view import record_digest

        collector.links.claim(record_digest(aggregate.document), aggregate.evaluation_id)
    return summary


def can_fix(run: Run, options: Options) -> bool:
    """Tell whether `fix` can write the files of a run, and rows were checked as they declare."""
    names = [name for name in (run.rows, run.aggregate) if name]
    is_stored = bool(names) and not any(name == STDIN or is_remote(name) for name in names)
    return is_stored and options.schema is None and options.schema_version == "auto"


def file_digests(run: Run, rows: RowPass, text: bytes | None) -> dict[str, str]:
    """Return the SHA-256 of the bytes that were read of each file of a run, by its name.

    `text` is that of the aggregate.
    """
    stored, digests = rows.digests.get("stored", {}), dict[str, str]()
    if run.rows is not None and ATTESTED in stored:
        digests[run.rows] = stored[ATTESTED]
    if run.aggregate is not None and text is not None:
        digests[run.aggregate] = hashlib.new(ATTESTED, text).hexdigest()
    return digests


def have_mappings(rows: RowPass) -> bool:
    """Tell whether rows came as mappings, whose bytes nobody knows."""
    return rows.opened is not None and rows.opened.has_mappings


def _list_verified(facts: RunFacts, *, are_whole: bool) -> Verified:
    """Return what was verified, including checks without a finding."""
    aggregate, rows = facts.aggregate, facts.tally.rows
    checksum = row_count = None
    if aggregate is not None and are_whole:
        total = aggregate.claim("total_rows")
        if aggregate.checksum is not None and facts.checksums:
            checksum = seal.is_checksum_right(facts)
        row_count = None if total is None else total == rows and not isinstance(total, bool)
    return Verified(checksum, row_count, verified_hashes(facts), rows)


def _version(facts: RunFacts) -> str | None:
    """Return the version of most rows, else that of the aggregate."""
    counted = sorted(facts.tally.versions.entries(), key=lambda entry: -entry[1])
    if counted:
        return counted[0][0]
    return facts.aggregate.version if facts.aggregate else None


def _path(run: Run, rows: RowPass) -> str | None:
    """Return the path of the file that holds the rows, or None for a stream."""
    if isinstance(rows.source, FileSource):
        return run.rows
    is_file = run.rows is not None and os.path.isfile(run.rows)
    return run.rows if is_file and run.rows != STDIN else None


def _is_file_or_link(path: str) -> bool:
    """Tell whether a file or a link exists; a link is not followed."""
    return os.path.islink(path) or os.path.isfile(path)
