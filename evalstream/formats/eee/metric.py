"""The kind of a metric, from the names that an aggregate gives it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.parsing.json import text_or_none
from evalstream.stats.claims import kinds
from evalstream.stats.claims.kinds import ClaimKind, is_plain_name, kind_named

_NAMES: Final = ("metric_name", "metric_id")
_FAMILY: Final = "metric_kind"
_LEVELS: Final = "levels"


def metric_kinds(metric: Mapping[str, Any], evaluation_name: str | None) -> list[ClaimKind]:
    """Return the kinds that the names of a metric say, best first; empty if they say none."""
    found = (kind_named(name) for name in _names(metric, evaluation_name))
    return list(dict.fromkeys(kind for kind in found if kind is not None))


def is_qualified(metric: Mapping[str, Any], evaluation_name: str | None) -> bool:
    """Return whether the name that decides the kind of a metric has further words.

    Such a metric may be over a part of the samples, or over another value than the score of a row.
    """
    names = (name for name in _names(metric, evaluation_name) if kind_named(name) is not None)
    name = next(names, None)
    return name is not None and not is_plain_name(name)


def metric_kind(metric: Mapping[str, Any], evaluation_name: str | None) -> ClaimKind:
    """Return the kind of a metric.

    Its names decide, then metric_kind, then score_type. A metric that has no name at all is an
    average, as all scores of the first versions are; one with another name is of an unknown kind.
    """
    named = metric_kinds(metric, evaluation_name)
    if named:
        return named[0]
    family = text_or_none(metric.get(_FAMILY))
    kind = kind_named(family) if family else None
    if kind is not None:
        return kind
    if metric.get("score_type") == _LEVELS:
        return kinds.LEVEL
    return kinds.UNKNOWN if any(_names(metric, evaluation_name)) or family else kinds.MEAN


def _names(metric: Mapping[str, Any], evaluation_name: str | None) -> Iterator[str]:
    """Yield the names of a metric: its own, and those in texts as converters write them.

    They describe a metric as `accuracy from scorer choice` or `exact_match (filter: number)`, and
    name a result `accuracy on arc_easy for scorer choice`.
    """
    for member in _NAMES:
        name = text_or_none(metric.get(member))
        if name:
            yield name
    described = text_or_none(metric.get("evaluation_description")) or ""
    named = (evaluation_name or "").partition(" on ")
    for text in (described, named[0] if named[1] else ""):
        name = text.partition(" from scorer ")[0].partition(" (filter")[0].strip()
        if name and " " not in name:
            yield name
