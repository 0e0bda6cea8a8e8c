"""The values of a finding: what is expected, in words where that is shorter, and what was found."""

from __future__ import annotations

from typing import Final, NamedTuple

from evalstream.model.finding import Excerpt, Finding
from evalstream.parsing.json import dumps


class Values(NamedTuple):
    """What a finding expects and what it found, as text; "" where it does not say it."""

    expected: str
    found: str


def values_of(finding: Finding) -> Values | Excerpt | None:
    """Return the values of a finding, or the excerpt around a syntax violation."""
    if isinstance(finding.found, Excerpt):
        return finding.found
    if finding.expected is None and finding.found is None:
        return None
    return Values(
        "" if finding.expected is None else _wanted(finding.expected),
        "" if finding.found is None else _shown(finding.found),
    )


def _shown(value: object) -> str:
    return dumps(value).decode()


def _wanted(expected: object) -> str:
    """Write what is expected, a small JSON Schema in words."""
    if not isinstance(expected, dict) or len(expected) != 1:
        return _shown(expected)
    ((keyword, value),) = expected.items()
    if keyword == "enum" and isinstance(value, list):
        return f"one of {', '.join(map(_shown, value))}"
    if keyword == "type":
        return " or ".join(value) if isinstance(value, list) else str(value)
    words = _LIMITS.get(keyword)
    return _shown(expected) if words is None else f"{words} {_shown(value)}"


_LIMITS: Final = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
}
