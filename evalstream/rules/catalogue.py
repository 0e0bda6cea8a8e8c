"""All rules by code: list, explain, select and ignore."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final

from evalstream.formats.eee.rules import (
    aggregate,
    coverage,
    cross_run,
    datastore,
    leak,
    linkage,
    recompute,
    row,
    sample_hash,
    schema,
    seal,
    transcript,
)
from evalstream.model.errors import UsageError
from evalstream.model.finding import Severity, Violation
from evalstream.model.options import Options
from evalstream.rules import inputs, syntax
from evalstream.rules.base import Rule
from evalstream.rules.profiles import PROFILES

_LAYERS: Final = (
    inputs,
    syntax,
    schema,
    row,
    transcript,
    leak,
    sample_hash,
    seal,
    linkage,
    coverage,
    aggregate,
    recompute,
    datastore,
    cross_run,
)

_MAIN: Final = "ES"
_SYSTEMS: Final = {
    _MAIN: (),
    "EVG": ("evalguard.rules.documents", "evalguard.rules.scores"),
    "HAR": ("harpia.rules.input", "harpia.rules.results"),
    "INF": ("infereval.rules.benchmark", "infereval.rules.evaluation"),
}
"""The systems by the letters of their codes, in order, with the modules of rules that are loaded
only once they are asked for: the main system's are loaded with this one."""


def _by_code(layers: Iterable[Any]) -> Mapping[str, Rule]:
    rules = sorted((rule for layer in layers for rule in layer.RULES), key=attrgetter("code"))
    return MappingProxyType({rule.code: rule for rule in rules})


MAIN_RULES: Final = _by_code(_LAYERS)
"""The rules of the main system by code: those that look at rows, and at runs of rows."""


@lru_cache(maxsize=len(_SYSTEMS))
def _rules_of(system: str) -> Mapping[str, Rule]:
    """Return the rules of a system by code. Raises KeyError where there is no such system."""
    if system == _MAIN:
        return MAIN_RULES
    return _by_code(import_module(f"evalstream.formats.{name}") for name in _SYSTEMS[system])


def _letters_of(code: str) -> str:
    return code.rstrip("0123456789")


class _Rules(Mapping[str, Rule]):
    """All rules by code, in the order of the codes."""

    def __getitem__(self, code: str) -> Rule:
        return MAIN_RULES[code] if code in MAIN_RULES else _rules_of(_letters_of(code))[code]

    def __iter__(self) -> Iterator[str]:
        return (code for system in _SYSTEMS for code in _rules_of(system))

    def __len__(self) -> int:
        return sum(map(len, map(_rules_of, _SYSTEMS)))


RULES: Final[Mapping[str, Rule]] = _Rules()


class _Severities(dict[str, Severity]):
    """How bad the rules are under a profile, by code; each is noted once it is asked for."""

    def __missing__(self, code: str) -> Severity:
        return self.setdefault(code, RULES[code].severity)


_SEVERITIES: Final = {name: _Severities(profile.severities) for name, profile in PROFILES.items()}


def enabled_codes(options: Options) -> frozenset[str]:
    """Return the codes that the options select and do not ignore.

    Without a selection every rule holds that is not optional, and those that the profile adds.
    Raises UsageError for a prefix that no code begins with.
    """
    return _enabled(tuple(options.select), tuple(options.ignore), options.profile, tuple(_SYSTEMS))


def enabled_main_codes(options: Options) -> frozenset[str]:
    """Return those of the enabled codes that are the main system's. Raises UsageError, too."""
    return _enabled(tuple(options.select), tuple(options.ignore), options.profile, (_MAIN,))


@lru_cache(maxsize=64)
def _enabled(
    select: tuple[str, ...], ignore: tuple[str, ...], profile: str, systems: tuple[str, ...]
) -> frozenset[str]:
    chosen = set(_matching(select)) if select else set(_usual(profile, systems))
    enabled = chosen.difference(_matching(ignore))
    return frozenset(code for code in enabled if _letters_of(code) in systems)


def severity_of(fault: Violation, profile: str) -> Severity:
    """Return how bad a fault is: its own severity, else its rule's under a profile."""
    return _SEVERITIES[profile][fault.code] if fault.severity is None else fault.severity


def _usual(profile: str, systems: Iterable[str]) -> Iterator[str]:
    added = PROFILES[profile].codes
    for system in systems:
        for code, rule in _rules_of(system).items():
            if not rule.optional or code in added:
                yield code


def _matching(prefixes: Iterable[str]) -> Iterator[str]:
    for prefix in prefixes:
        wanted = prefix.upper()
        systems = (name for name in _SYSTEMS if name.startswith(wanted) or wanted.startswith(name))
        codes = [
            code for system in systems for code in _rules_of(system) if code.startswith(wanted)
        ]
        if not codes or not prefix:
            raise UsageError(
                f"no rule has a code that begins with {prefix!r}; see: evalstream rules"
            )
        yield from codes
