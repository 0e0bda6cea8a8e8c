"""ES215, ES216: rules about the declared version and other versions that fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from evalstream.formats.eee import versions
from evalstream.formats.eee.aggregate import RESULTS, Aggregate
from evalstream.formats.eee.facts import RunFacts
from evalstream.model.finding import Severity, Violation, expect_one
from evalstream.rules.base import Repair, RepairAction, declare_rule
from evalstream.rules.schema import ES212


def null_bounds(aggregate: Aggregate) -> Iterator[Violation]:
    """Find null bounds of continuous metrics, for profiles that require what the schema does not."""
    for place, result in aggregate.indexed_results():
        metric = result.get("metric_config")
        if not isinstance(metric, dict) or metric.get("score_type") != "continuous":
            continue
        for member in ("min_score", "max_score"):
            if member in metric and metric[member] is None:
                message = (
                    f"{member} is null; a datastore requires a number,"
                    ' "Infinity" or "-Infinity" for a continuous metric'
                )
                where = f"{RESULTS}/{place}/metric_config/{member}"
                yield ES212.violation(message, pointer=where)


def fits_another(
    version: str, fitting: Sequence[str], *, can_migrate: bool = False
) -> Iterator[Violation]:
    """Report the other versions that a document fits, if it fails the one it is checked against.

    `can_migrate` says that `evalstream migrate` takes it without another document.
    """
    if fitting:
        way = _way_to(fitting[0], version, can_migrate=can_migrate)
        message = f"fits {_list_names(fitting)}, but not {version}; {way}"
        yield ES216.violation(message, pointer="/schema_version", expected=expect_one(fitting))


def _file_fits_another(facts: RunFacts) -> Iterator[Violation]:
    """Report a file of which every row fits one other version and none its own."""
    fitting = facts.tally.fitting.entries()
    common = frozenset.intersection(*(names for names, _, _ in fitting)) if fitting else frozenset()
    if not common or facts.tally.rows < 2 or facts.tally.fitting.total() != facts.tally.rows:
        return
    names = [name for name in versions.INSTANCE_VERSIONS if name in common]
    declared = next((name for name, _, _ in facts.tally.versions.entries()), "")
    way = _way_to(names[0], declared, can_migrate=facts.aggregate is not None)
    message = f"every row fits {_list_names(names)}, but not its own version; {way}"
    yield ES216.violation(message, expected=expect_one(names), severity=Severity.WARNING)


def _list_names(names: Sequence[str]) -> str:
    return " and ".join(names)


def _way_to(fitting: str, declared: str, *, can_migrate: bool) -> str:
    """Return the commands that check a document by a version that fits it, and that renew it."""
    check = f"to check against it, use --schema-version {fitting}"
    if not can_migrate or versions.nearest_version(declared, instance=True) == versions.NEWEST:
        return check
    return f"{check}; evalstream migrate RUN --to DIR writes it as {versions.NEWEST}"


def _unknown_version(facts: RunFacts) -> Iterator[Violation]:
    """Report versions over the whole file: mixed, unlike the aggregate's, in annotation form."""
    if facts.context.options.schema_version != "auto" or facts.context.options.schema:
        return
    seen = facts.tally.versions.entries()
    annotated = [(name, n) for name, n, _ in seen if name.startswith(versions.ANNOTATION_PREFIX)]
    for name, count in annotated:
        plain = name.removeprefix(versions.ANNOTATION_PREFIX)
        message = f"schema_version is {name}; rows have the plain number {plain}"
        is_known = versions.is_known(name, instance=True)
        yield ES215.violation(message, count=count, severity=Severity.WARNING, is_fixable=is_known)
    plain_names = {name.removeprefix(versions.ANNOTATION_PREFIX) for name, _, _ in seen}
    if len(plain_names) > 1:
        parts = [f"{name} on {count:,} (first {facts.at(line)})" for name, count, line in seen]
        message = f"rows declare different versions: {'; '.join(parts[:5])}"
        yield ES215.violation(message, severity=Severity.WARNING)
    declared = facts.aggregate.version if facts.aggregate else None
    if len(plain_names) == 1 and declared and plain_names != {declared}:
        message = f"rows are {plain_names.pop()}, but their aggregate is {declared}"
        yield ES215.violation(message, severity=Severity.WARNING, expected=declared)


ES215: Final = declare_rule(
    "ES215",
    run=_unknown_version,
    repair=Repair(
        RepairAction.WRITE_PLAIN_VERSION, "writes the plain number", limit="rows in annotation form"
    ),
)


ES216: Final = declare_rule("ES216", run=_file_fits_another, needed_fact="tally.fitting")

RULES: Final = (ES215, ES216)

KNOWN_NULLS: Final = {
    "/evaluation_result_id": "every-eval-ever 0.3.0 writes it of a sample without a number as score: "
    "errored, of several parts, rolling, or --predict_only"
}
"""Members in which a current converter writes null, and when."""

MISSING: Final = {"schema_version": ES215}
"""The rules that report a missing member of a document."""
