"""Seal rows: write what a check verifies into their aggregate, and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final

from evalstream.engine import layout
from evalstream.formats.eee import seal_refusals
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.aggregate_check import ReadAggregate
from evalstream.formats.eee.datastore import parse_path, relative_path
from evalstream.formats.eee.facts import LOOKED_AT, RunFacts
from evalstream.formats.eee.file_violations import unmet_expectations, violation_key
from evalstream.formats.eee.rules.seal import Digests
from evalstream.formats.eee.run_summary import CheckedRows, JudgedRun, judge_files
from evalstream.formats.eee.seal_refusals import Refusal, Seal
from evalstream.io.inputs import document_bytes
from evalstream.io.names import is_remote, printable
from evalstream.model.changes import SealedText
from evalstream.model.errors import CannotCheck
from evalstream.model.signals import STOPPING
from evalstream.model.text import count_noun
from evalstream.parsing.json_values import fast_or_none, object_or_empty
from evalstream.rules.schema import ES201

MEMBER: Final = "detailed_evaluation_results"
FORCED: Final = " (--seal-anyway seals it)"
OPEN_END: Final = (
    "a stream ends in the same way when its writer is killed, and neither --expect-rows, "
    "--expect-samples nor the aggregate says how many rows there are"
)

KNOWN_OF_ROWS: Final = ("schema_version", "evaluation_id")
"""The members of a new aggregate that its rows alone can give."""


def prepare_seal(checked: CheckedRows, read: ReadAggregate) -> Seal | None:
    """Return the seal of rows that were read to their end, or None if none is requested.

    The aggregate to complete is the one that is to be sealed, else that of the run, else a new one
    if it may be created. The algorithm is the declared one, else that of the rows' own hashes.
    `read` is what was read of the aggregate before the rows. Raises CannotCheck if an aggregate is
    missing, is not the one that rows were checked against, or cannot be edited, and OSError if it
    cannot be read.
    """
    run, options, context, rows = checked[:4]
    aggregate, routing, opened = read.aggregate, options.routing, rows.opened
    is_read = bool(rows.digests) and rows.layout in LOOKED_AT
    if routing.seal_to is None or opened is None or run.rows is None or not is_read:
        return None
    if not (routing.create or _is_there(routing.seal_to)):
        raise CannotCheck(
            f"{printable(routing.seal_to)} is missing (--create begins a new aggregate)"
        )
    state = next(
        (name for name in (routing.seal_to, run.aggregate) if name and _is_there(name)), None
    )
    base = None if state is None else document_bytes(state)
    if base != read.text:
        raise CannotCheck(
            f"{printable(state or routing.seal_to)} is not the aggregate that the rows were "
            "checked against: it changed meanwhile, or --aggregate names another"
        )
    algorithm = aggregate.hash_algorithm if aggregate is not None else None
    algorithm = algorithm or context.algorithm
    # A copy does not contain the noise that was skipped.
    digests = rows.digests.get("rows", {}) if routing.tee else {}
    digests = digests or rows.digests["stored"]
    declared = aggregate.file_path if aggregate is not None else None
    members = {
        "format": "json" if rows.layout == layout.JSON_ARRAY else "jsonl",
        "file_path": routing.file_path
        or path_of_rows(routing.tee or run.rows, declared, routing.seal_to),
        "hash_algorithm": algorithm,
        "checksum": digests[algorithm],
        "total_rows": checked.collector.tally.rows,
    }
    rows_path = routing.file_path or routing.tee or run.rows
    sealed = _with_seal(base, _new(opened.head), members)
    return Seal(rows_path, SealedText(routing.seal_to, base, sealed))


def judge_sealed(checked: CheckedRows, read: ReadAggregate, seal: Seal) -> JudgedRun:
    """Judge a run as it is when it is sealed, or return it with the refusal of the seal."""
    options, routing = checked.options, checked.options.routing
    sealed = seal.read(options)
    after = read
    if seal.text.before:
        after = read._replace(aggregate=sealed.aggregate, violations=sealed.violations)
    facts, violations = judge_files(checked, after, seal.rows)
    failing = violations.failing(checked.context)
    fails = bool(failing) or checked.collector.fails()
    digests, is_stream = checked.rows.digests, checked.is_stream
    refusal = find_seal_refusal(facts, digests, sealed, read, fails=fails, is_stream=is_stream)
    if refusal is not None and routing.seal_anyway:
        violations = refusal.keep_reasons(violations)
    if refusal is None or routing.seal_anyway:
        # The seal will be written, unless a signal came: later ones no longer stop the process.
        stopped = None if routing.dry_run else STOPPING.defer()
        refusal = None if stopped is None else Refusal(incomplete_reason=stopped)
    judged = JudgedRun(facts, violations, after, printable(seal.text.path))
    if refusal is not None:
        return judged._replace(refusal=refusal._replace(others=tuple(failing)))
    lacking = () if seal.text.before else missing_members(sealed)
    return judged._replace(seal=seal, missing_members=lacking)


def find_seal_refusal(
    facts: RunFacts,
    digests: Digests,
    sealed: ReadAggregate,
    state: ReadAggregate,
    *,
    fails: bool,
    is_stream: bool = False,
) -> Refusal | None:
    """Return why rows are not to be sealed, or None if they are.

    `sealed` holds the aggregate and the facts as they would be after sealing, `state` those before.
    `digests` are those of the rows, by what they cover and by algorithm, and `fails` says that
    there are findings that fail the run.
    The end of rows that come by a stream must be known: by their number, or by the claims.
    """
    if state.incomplete_reason is not None or facts.tally.unread:
        return Refusal()
    if facts.changed is not None:
        return Refusal(incomplete_reason=f"the rows changed while they were read: {facts.changed}")
    violations = [
        *unmet_expectations(facts),
        *seal_refusals.replaced_seal(digests, state.aggregate, sealed.aggregate),
        *seal_refusals.find_uncovered(facts, state.aggregate),
        *seal_refusals.unfit(sealed.violations, state.violations),
    ]
    known = {violation_key(violation) for violation in violations}
    violations += [
        one for one in seal_refusals.find_row_conflicts(facts) if violation_key(one) not in known
    ]
    if violations:
        more = f"; {count_noun(len(violations) - 1, 'more reason')}" if len(violations) > 1 else ""
        return Refusal(
            f"{violations[0].message}{more}{FORCED}", violations=tuple(violations), refutes=True
        )
    if fails:
        return Refusal(f"the check has findings that fail it{FORCED}", refutes=True)
    if is_stream and not _has_known_end(facts, state.aggregate):
        return Refusal(incomplete_reason=f"{OPEN_END}{FORCED}")
    return None


def _has_known_end(facts: RunFacts, state: Aggregate | None) -> bool:
    """Tell whether the call, or the claims of each result, say how many rows there are."""
    options = facts.context.options
    expected = (options.routing.expect_rows, options.routing.expect_samples, options.expect_ids)
    if any(one is not None for one in expected):
        return True
    if state is None:
        return False
    if state.claim("total_rows") == facts.tally.rows:
        return True
    claims = state.claims
    return bool(facts.context.results) and all(
        result.sample_ids or (result.place in claims and claims[result.place].num_samples)
        for result in facts.context.results
    )


def missing_members(new: ReadAggregate) -> list[str]:
    """Return the names of the members that a new aggregate lacks."""
    lacking = [one.violation for one in new.violations if one.violation.code == ES201.code]
    return [one.message.removesuffix(" is missing") for one in lacking]


def _with_seal(base: bytes | None, new: dict[str, Any], members: Mapping[str, Any]) -> bytes:
    """Return an aggregate's text with a seal, or a new text if there is none."""
    if base is None:
        return json.dumps({**new, MEMBER: dict(members)}, indent=2).encode() + b"\n"
    from evalstream.parsing.json_edit import set_members

    try:
        return set_members(base, MEMBER, members)
    except ValueError as error:
        raise CannotCheck(f"the aggregate cannot be sealed: {error}") from error


def _is_there(path: str) -> bool:
    return is_remote(path) or os.path.exists(path)


def _new(head: bytes) -> dict[str, Any]:
    """Return the members of an aggregate that the first row gives."""
    row = object_or_empty(fast_or_none(head.partition(b"\n")[0]))
    return {key: row[key] for key in KNOWN_OF_ROWS if isinstance(row.get(key), str)}


def path_of_rows(rows: str, declared: str | None, aggregate: str) -> str:
    """Return the path by which an aggregate names its rows.

    Outside of a datastore a declared path that already names them is kept.
    """
    parts = [part for part in (declared or "").split("/") if part not in {"", "."}]
    is_right = parts[-1:] == [os.path.basename(rows)] and ".." not in parts
    if declared and is_right and not declared.startswith("/") and not parse_path(rows).inside:
        return declared
    return relative_path(rows, aggregate)
