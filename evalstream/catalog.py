"""All rules by code: list, explain, select and ignore."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Final

from evalstream.errors import UsageError
from evalstream.model import Options
from evalstream.rule import Rule
from evalstream.rules import coverage, identity, json, linkage, recompute, schema, seal, stream

_LAYERS: Final = (stream, json, schema, identity, seal, linkage, coverage, recompute)

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        rule.code: rule
        for rule in sorted(
            (rule for layer in _LAYERS for rule in layer.RULES), key=attrgetter("code")
        )
    }
)


def enabled_codes(options: Options) -> frozenset[str]:
    """Return the codes that the options select and do not ignore.

    Without a selection every rule holds that is not optional. Raises UsageError for a
    prefix that no code begins with.
    """
    selected = set(_matching(options.select)) if options.select else set(_default())
    return frozenset(selected - set(_matching(options.ignore)))


def _default() -> Iterator[str]:
    return (rule.code for rule in RULES.values() if not rule.optional)


def _matching(prefixes: Iterable[str]) -> Iterator[str]:
    for prefix in prefixes:
        codes = [code for code in RULES if code.startswith(prefix.upper())]
        if not codes or not prefix:
            raise UsageError(
                f"no rule has a code that begins with {prefix!r}; see: evalstream rules"
            )
        yield from codes
