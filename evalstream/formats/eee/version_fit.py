"""Find the other versions of the format that fit a document that fails its own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from evalstream.formats.eee import versions
from evalstream.parsing.json import resolve
from evalstream.parsing.json_schema import finite_check
from evalstream.parsing.schema_errors import Path_, SchemaError, instance_path
from evalstream.parsing.schema_files import builtin_schema, builtin_validator, constraint_text

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
    return fitting if fitting and finite_check(engine)(value) else []


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
    """Group the other versions by their requirements."""
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
