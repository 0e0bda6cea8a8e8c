"""ES215, ES216: rules about the declared version, and the other versions that fit a document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from evalstream.formats.eee import versions
from evalstream.formats.eee.aggregate import RESULTS, Aggregate
from evalstream.formats.eee.facts import RunFacts
from evalstream.model.finding import Severity, Violation, expect_one
from evalstream.parsing.json import is_finite, resolve
from evalstream.parsing.schema_files import builtin_schema, builtin_validator, constraint_text
from evalstream.rules import schema
from evalstream.rules.base import Repair, RepairAction, declare_rule

if TYPE_CHECKING:
    from evalstream.parsing.schema_errors import Path_, SchemaError


_INDIRECT: Final = frozenset({"$ref", "patternProperties"})
"""Keywords of a schema next to which the other keywords do not always apply."""


def versions_that_fit(
    value: Any, version: str, engine: str, *, instance: bool, violations: Iterable[SchemaError] = ()
) -> list[str]:
    """Return the versions that a row or aggregate fits, the nearest to `version` first.

    Versions with equal requirements are tried once. Versions that certainly reject one of the
    `violations` of `version` are not tried. A value with an infinite number fits no version.
    """
    fitting = [
        name
        for names in possible_versions(version, violations, instance=instance)
        if builtin_validator(versions.eee_schema(names[0], instance=instance), engine).fits(value)
        for name in names
    ]
    return fitting if fitting and is_finite(value) else []


def possible_versions(
    version: str, violations: Iterable[SchemaError], *, instance: bool
) -> list[tuple[str, ...]]:
    """Return the other versions, grouped, that do not certainly reject one of the `violations`."""
    alternatives = _alternatives(version, instance=instance)
    refusing: frozenset[str] = frozenset()
    for violation in violations:
        # The cache key depends on the schemas alone, since data may have any unknown members.
        if (
            violation.keyword == violation.route[-1]
            and "additionalProperties" not in violation.route
        ):
            refusing |= _refusing(version, violation.route, violation.member, instance=instance)
    return [names for names in alternatives if names[0] not in refusing]


@lru_cache(maxsize=64)
def _alternatives(version: str, *, instance: bool) -> tuple[tuple[str, ...], ...]:
    own = constraint_text(versions.eee_schema(version, instance=instance))
    groups: dict[str, list[str]] = {}
    for name in versions.others(version, instance=instance):
        demands = constraint_text(versions.eee_schema(name, instance=instance))
        if demands != own:
            groups.setdefault(demands, []).append(name)
    return tuple(map(tuple, groups.values()))


@lru_cache(maxsize=1024)
def _refusing(version: str, route: Path_, member: str | None, *, instance: bool) -> frozenset[str]:
    """Return the first of each group of versions that certainly rejects what `version` rejects.

    `route` leads through the schema of `version` to the keyword that rejects a value, and `member`
    is the missing member, if any. It does not matter whether the keyword depends on a condition,
    since the value is the same; in the versions returned it does not depend on one.
    """
    from evalstream.parsing.schema_errors import instance_path

    path = instance_path(route)
    if path is None:
        return frozenset()
    own = resolve(builtin_schema(versions.eee_schema(version, instance=instance)), route)
    return frozenset(
        names[0]
        for names in _alternatives(version, instance=instance)
        if _is_as_strict(
            _schema_at(builtin_schema(versions.eee_schema(names[0], instance=instance)), path),
            route[-1],
            own,
            member,
        )
    )


def _schema_at(schema: Any, path: Path_) -> dict[str, Any]:
    """Return the part of a schema that applies to the value at `path` unconditionally."""
    node = _plain(schema)
    for key in path:
        inner = node.get("items")
        if isinstance(key, str):
            inner = node.get("properties", {}).get(key, node.get("additionalProperties"))
        node = _plain(inner)
    return node


def _plain(node: Any) -> dict[str, Any]:
    return node if isinstance(node, dict) and _INDIRECT.isdisjoint(node) else {}


def _is_as_strict(node: dict[str, Any], keyword: Any, own: Any, member: str | None) -> bool:
    """Return whether a part of a schema rejects all that `keyword` with value `own` rejects."""
    demanded = node.get(keyword)
    if demanded is None or own is None:
        return False
    if keyword == "required":
        return member in demanded
    if keyword == "type":
        allowed = _names(own)
        return _names(demanded) <= (allowed | {"integer"} if "number" in allowed else allowed)
    if keyword == "enum":
        return all(isinstance(option, str) and option in own for option in demanded)
    if keyword == "minimum":
        return bool(demanded >= own)
    return False


def _names(types: str | list[str]) -> set[str]:
    return {types} if isinstance(types, str) else set(types)


def null_bounds(aggregate: Aggregate) -> Iterator[Violation]:
    """Find null bounds of continuous metrics, for profiles that require what the schema does not."""
    for place, result in aggregate.indexed_results:
        metric = result.get("metric_config")
        if not isinstance(metric, dict) or metric.get("score_type") != "continuous":
            continue
        for member in ("min_score", "max_score"):
            if member in metric and metric[member] is None:
                message = (
                    f"{member} is null; a datastore requires a number,"
                    ' "Infinity" or "-Infinity" for a continuous metric'
                )
                yield schema.ES212.violation(message, f"{RESULTS}/{place}/metric_config/{member}")


def fits_another(
    version: str, fitting: Sequence[str], *, can_migrate: bool = False
) -> Iterator[Violation]:
    """Report the other versions that a document fits, if it fails the one it is checked against.

    `can_migrate` says that `evalstream migrate` takes it without another document.
    """
    if fitting:
        way = _way_to(fitting[0], version, can_migrate=can_migrate)
        message = f"fits {' and '.join(fitting)}, but not {version}; {way}"
        yield ES216.violation(message, "/schema_version", expected=expect_one(fitting))


def _file_fits_another(facts: RunFacts) -> Iterator[Violation]:
    """Report a file of which every row fits one other version and none its own."""
    fitting = facts.tally.fitting.entries()
    common = frozenset.intersection(*(names for names, _, _ in fitting)) if fitting else frozenset()
    if not common or facts.tally.rows < 2 or facts.tally.fitting.total() != facts.tally.rows:
        return
    names = [name for name in versions.INSTANCE_VERSIONS if name in common]
    declared = next((name for name, _, _ in facts.tally.versions.entries()), "")
    way = _way_to(names[0], declared, can_migrate=facts.aggregate is not None)
    message = f"every row fits {' and '.join(names)}, but not its own version; {way}"
    yield ES216.violation(message, expected=expect_one(names), severity=Severity.WARNING)


def _way_to(fitting: str, declared: str, *, can_migrate: bool) -> str:
    """Return the commands that check a document by a version that fits it, and that renew it."""
    check = f"to check against it, use --schema-version {fitting}"
    target = versions.TARGETS[-1]
    is_older = versions.is_below(versions.nearest_version(declared, instance=True), target)
    if not can_migrate or not is_older:
        return check
    return f"{check}; evalstream migrate RUN --to DIR writes it as {target}"


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

RULES: Final = (*schema.RULES, ES215, ES216)

KNOWN_NULLS: Final = {
    "/evaluation_result_id": "every-eval-ever writes it in each row before 0.3.0, and since then of "
    "a sample in which it finds no number as score"
}
"""Members in which converters write null, and when."""

MISSING: Final = {"schema_version": ES215}
"""The rules that report a missing member of a document."""
