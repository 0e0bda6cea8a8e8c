"""All rules by code: list, explain, select and ignore."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Final

from evalstream.errors import UsageError
from evalstream.model import Fault, Options, Severity
from evalstream.profiles import PROFILES
from evalstream.rule import Rule
from evalstream.rules import (
    aggregate,
    corpus,
    coverage,
    datastore,
    evalguard,
    evalguard_scores,
    harpia,
    harpia_results,
    identity,
    infereval,
    infereval_evaluation,
    json,
    leak,
    linkage,
    recompute,
    row,
    schema,
    seal,
    stream,
    transcript,
)

_LAYERS: Final = (
    stream,
    json,
    schema,
    row,
    transcript,
    leak,
    identity,
    seal,
    linkage,
    coverage,
    aggregate,
    recompute,
    datastore,
    corpus,
    infereval,
    infereval_evaluation,
    harpia,
    harpia_results,
    evalguard,
    evalguard_scores,
)

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        rule.code: rule
        for rule in sorted(
            (rule for layer in _LAYERS for rule in layer.RULES), key=attrgetter("code")
        )
    }
)

_SEVERITIES: Final = {
    name: {code: profile.severities.get(code, rule.severity) for code, rule in RULES.items()}
    for name, profile in PROFILES.items()
}


def enabled_codes(options: Options) -> frozenset[str]:
    """Return the codes that the options select and do not ignore.

    Without a selection every rule holds that is not optional, and those that the profile adds.
    Raises UsageError for a prefix that no code begins with.
    """
    return _enabled(tuple(options.select), tuple(options.ignore), options.profile)


@lru_cache(maxsize=64)
def _enabled(select: tuple[str, ...], ignore: tuple[str, ...], profile: str) -> frozenset[str]:
    chosen = _matching(select) if select else _usual(profile)
    return frozenset(set(chosen) - set(_matching(ignore)))


def severity_of(fault: Fault, profile: str) -> Severity:
    """Return how bad a fault is: its own severity, else its rule's under a profile."""
    return _SEVERITIES[profile][fault.code] if fault.severity is None else fault.severity


def _usual(profile: str) -> Iterator[str]:
    added = PROFILES[profile].codes
    return (code for code, rule in RULES.items() if not rule.optional or code in added)


def _matching(prefixes: Iterable[str]) -> Iterator[str]:
    for prefix in prefixes:
        codes = [code for code in RULES if code.startswith(prefix.upper())]
        if not codes or not prefix:
            raise UsageError(
                f"no rule has a code that begins with {prefix!r}; see: evalstream rules"
            )
        yield from codes
