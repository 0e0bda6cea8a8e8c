"""The filters between what a model answered and what was scored (filters/ of lm_eval 0.4.13).

A row shows both: `resps` holds the answers to each request, `filtered_resps` what the filter made
of them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

MOST_STEPS: Final = 20_000_000
"""Most steps of a regular expression in an answer, about a fifth of a second."""

UNBOUNDED: Final = 30
"""From so many repeats on a pattern counts as repeated without a bound."""

_POSSESSIVE: Final = "POSSESSIVE_REPEAT"

Apply = Callable[[Any], Any]


class NotFollowed(Exception):
    """A filter that is not known here, or that takes too long."""


@lru_cache(maxsize=256)
def chain_of(steps: str, *, is_old: bool = False) -> tuple[Apply, ...] | None:
    """Return the functions of a chain, from the JSON of its steps; None with an unknown one.

    With `is_old` they are those of older releases.
    """
    found = []
    known = {**_KNOWN, **_OLD} if is_old else _KNOWN
    for step in json.loads(steps):
        name = step.pop("function", None) if isinstance(step, dict) else None
        make = known.get(name) if isinstance(name, str) else None
        try:
            apply = None if make is None else make(**step)
        except (TypeError, ValueError, re.error, OverflowError, RecursionError):
            apply = None
        if apply is None:
            return None
        found.append(apply)
    return tuple(found)


def gives_texts(steps: str) -> bool:
    """Return whether a chain makes texts of texts, and lists of them."""
    return '"map"' not in steps and chain_of(steps) is not None


def filtered(chain: Iterable[Apply], answers: Any) -> Any:
    """Return what a chain makes of the answers to one request, with all values as texts.

    Raises NotFollowed where that is not known.
    """
    value = answers
    try:
        for apply in chain:
            value = apply(value)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise NotFollowed from error
    return as_texts(value)


def as_texts(value: Any) -> Any:
    """Return nested lists with all values in them as texts, as the harness writes them."""
    return [as_texts(one) for one in value] if isinstance(value, list) else str(value)


def pattern_degree(pattern: str) -> int | None:
    """Return how a search for a pattern grows: n to this power and one; None without a bound."""
    # No public name has the parsed pattern.
    parser = import_module("re._parser")
    return _degree(parser.parse(pattern))


def is_bounded(pattern: str, text: str) -> bool:
    """Return whether a search takes few steps: it may be hostile, and `re` knows no limit."""
    degree = _cached_degree(pattern)
    return degree is not None and len(text) ** (degree + 1) <= MOST_STEPS


@lru_cache(maxsize=256)
def _cached_degree(pattern: str) -> int | None:
    return pattern_degree(pattern)


def _degree(parsed: Iterable[tuple[Any, Any]]) -> int | None:
    total = 0
    for operation, argument in parsed:
        found = _degree_of(str(operation), argument)
        if found is None:
            return None
        total += found
    return total


def _degree_of(operation: str, argument: Any) -> int | None:
    if operation in {"MAX_REPEAT", "MIN_REPEAT", _POSSESSIVE}:
        _, most, inner = argument
        degree = _degree(inner)
        if degree is None or (degree and most > 1):
            return None
        return 1 if most >= UNBOUNDED else degree
    if operation == "BRANCH":
        degrees = [_degree(one) for one in argument[1]]
        known = [one for one in degrees if one is not None]
        return max(known) if len(known) == len(degrees) else None
    if operation in {"SUBPATTERN", "ASSERT", "ASSERT_NOT", "ATOMIC_GROUP"}:
        return _degree(argument if operation == "ATOMIC_GROUP" else argument[-1])
    return None if operation in {"GROUPREF", "GROUPREF_EXISTS", "GROUPREF_IGNORE"} else 0


def _take_first() -> Apply:
    return lambda answers: answers[0]


def _take_first_k(k: int) -> Apply:
    return lambda answers: answers[:k]


def _majority_vote() -> Apply:
    return lambda answers: [Counter(answers).most_common(1)[0][0]]


def _each(change: Callable[[str], Any]) -> Apply:
    return lambda answers: [change(one) for one in answers]


def _map(mapping_dict: Mapping[str, Any] | None = None, default_value: Any = None) -> Apply:
    return _each(lambda text: (mapping_dict or {}).get(text, default_value))


def _regex(
    regex_pattern: str = r"#### (\-?[0-9\.\,]+)", group_select: int = 0, fallback: str = "[invalid]"
) -> Apply:
    compiled = re.compile(regex_pattern)

    def extract(text: Any) -> str:
        shown = text if isinstance(text, str) else ""
        if not is_bounded(regex_pattern, shown):
            raise NotFollowed
        return _selected(compiled.findall(shown), group_select, fallback)

    return _each(extract)


def _selected(matches: Sequence[Any], place: int, fallback: str) -> str:
    if not matches:
        return fallback
    match = matches[place]
    if isinstance(match, tuple):
        match = next((one for one in match if one), fallback)
    return str(match).strip()


_KNOWN: Final[Mapping[str, Callable[..., Apply]]] = {
    "take_first": _take_first,
    "take_first_k": _take_first_k,
    "majority_vote": _majority_vote,
    "regex": _regex,
    "remove_whitespace": lambda: _each(str.strip),
    "lowercase": lambda: _each(str.lower),
    "uppercase": lambda: _each(str.upper),
    "map": _map,
}
"""The filters of the harness that need nothing but the answers."""

_OLD: Final[Mapping[str, Callable[..., Apply]]] = {
    "remove_whitespace": lambda: _each(lambda text: text.removeprefix(" "))
}
"""Filters that were others in older releases: only one leading space was removed."""


def follows(steps: str, answers: Any, shown: Any) -> tuple[bool, Any]:
    """Return whether a filter gives what a row shows, and what it gives for each request.

    Raises NotFollowed where that is not known.
    """
    first = None
    for is_old in (False, True) if "remove_whitespace" in steps else (False,):
        chain = chain_of(steps, is_old=is_old)
        if chain is None or not isinstance(answers, list):
            raise NotFollowed
        given = [filtered(chain, some) for some in answers]
        if given == as_texts(shown):
            return True, given
        first = given if first is None else first
    return False, first
