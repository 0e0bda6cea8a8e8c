"""Which other versions of the format a document fits that fails its own."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from evalstream.formats import eee
from evalstream.schema import builtin_validator, demands_of, finite_check


def versions_that_fit(value: Any, version: str, engine: str, *, instance: bool) -> list[str]:
    """Return the versions that a row or aggregate fits, the nearest to `version` first.

    Versions that demand the same are asked once. Nothing fits that holds an infinite number.
    """
    fitting = [
        name
        for names in _alternatives(version, instance=instance)
        if builtin_validator(eee.schema_name(names[0], instance=instance), engine).fits(value)
        for name in names
    ]
    return fitting if fitting and finite_check(engine)(value) else []


@lru_cache(maxsize=64)
def _alternatives(version: str, *, instance: bool) -> tuple[tuple[str, ...], ...]:
    """Group the other versions by what they demand."""
    own = demands_of(eee.schema_name(version, instance=instance))
    groups: dict[str, list[str]] = {}
    for name in eee.others(version, instance=instance):
        demands = demands_of(eee.schema_name(name, instance=instance))
        if demands != own:
            groups.setdefault(demands, []).append(name)
    return tuple(map(tuple, groups.values()))
