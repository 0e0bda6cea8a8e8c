"""Which other versions of the format a document fits that fails its own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from evalstream.formats.eee import versions
from evalstream.parsing.json import resolve
from evalstream.parsing.json_schema import (
    builtin_schema,
    builtin_validator,
    demands_of,
    finite_check,
)
from evalstream.parsing.schema_errors import Path_, SchemaError, path_of

_INDIRECT: Final = frozenset({"$ref", "patternProperties"})
"""Members of a schema beside which the others do not always hold."""


def versions_that_fit(
    value: Any,
    version: str,
    engine: str,
    *,
    instance: bool,
    violations: Iterable[SchemaError] = (),
) -> list[str]:
    """Return the versions that a row or aggregate fits, the nearest to `version` first.

    Versions that demand the same are asked once, and those not at all that surely refuse one
    of the `violations` which `version` finds. Nothing fits that holds an infinite number.
    """
    alternatives = _alternatives(version, instance=instance)
    refusing: frozenset[str] = frozenset()
    for violation in violations:
        # What is kept of violations depends on the schemas alone: data may name unknown members.
        if (
            violation.keyword == violation.route[-1]
            and "additionalProperties" not in violation.route
        ):
            refusing |= _refusing(version, violation.route, violation.member, instance=instance)
    if len(refusing) == len(alternatives):
        return []
    fitting = [
        name
        for names in alternatives
        if names[0] not in refusing
        and builtin_validator(versions.schema_name(names[0], instance=instance), engine).fits(value)
        for name in names
    ]
    return fitting if fitting and finite_check(engine)(value) else []


@lru_cache(maxsize=64)
def _alternatives(version: str, *, instance: bool) -> tuple[tuple[str, ...], ...]:
    """Group the other versions by what they demand."""
    own = demands_of(versions.schema_name(version, instance=instance))
    groups: dict[str, list[str]] = {}
    for name in versions.others(version, instance=instance):
        demands = demands_of(versions.schema_name(name, instance=instance))
        if demands != own:
            groups.setdefault(demands, []).append(name)
    return tuple(map(tuple, groups.values()))


@lru_cache(maxsize=1024)
def _refusing(version: str, route: Path_, member: str | None, *, instance: bool) -> frozenset[str]:
    """Return the first of each group of versions that surely refuses what `version` refuses.

    `route` leads through the schema of `version` to the keyword that refuses a value, and
    `member` is the one that the value lacks. Whether the keyword holds under a condition is all
    the same there, for the value is as it is; it holds without one in the versions returned.
    """
    path = path_of(route)
    if path is None:
        return frozenset()
    own = resolve(builtin_schema(versions.schema_name(version, instance=instance)), route)
    return frozenset(
        names[0]
        for names in _alternatives(version, instance=instance)
        if _is_as_strict(
            _check_of(builtin_schema(versions.schema_name(names[0], instance=instance)), path),
            route[-1],
            own,
            member,
        )
    )


def _check_of(schema: Any, path: Path_) -> dict[str, Any]:
    """Return the part of a schema that judges the value at `path` whatever else there is."""
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
    """Tell whether a part of a schema refuses all that `own` as the value of `keyword` does."""
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
