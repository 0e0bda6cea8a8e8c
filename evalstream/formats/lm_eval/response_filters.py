"""The filters between the answers of a model and the scored ones (filters/ of lm_eval 0.4.13).

A row shows both: `resps` holds the answers to each request, `filtered_resps` the filtered ones.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from operator import index
from typing import Any, Final
from warnings import catch_warnings, simplefilter

from evalstream.model.data_class import NamedTuple

MOST_STEPS: Final = 20_000_000
"""Most steps of a regular expression in an answer, about a fifth of a second."""

Apply = Callable[[Any], Any]


class NotFollowed(Exception):
    """A filter that is not known here, or that takes too long."""


@lru_cache(maxsize=256)
def build_chain(steps: str, *, is_old: bool = False) -> tuple[Apply, ...] | None:
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


def is_known_step(step: Mapping[str, Any]) -> bool:
    """Tell whether the harness has a filter of this name, with these arguments.

    A class of a task stands in brackets, as Python shows it.
    """
    name = step.get("function")
    if name in _KNOWN:
        # A pattern that is none is another matter.
        is_text = isinstance(step.get("regex_pattern"), str)
        plain = {**step, "regex_pattern": "."} if is_text else step
        return build_chain(json.dumps([plain])) is not None
    return name in _OF_DOCS or str(name).startswith("<")


def gives_texts(steps: str) -> bool:
    """Return whether a chain makes texts of texts, and lists of them."""
    return '"map"' not in steps and build_chain(steps) is not None


def apply_chain(chain: Iterable[Apply], answers: Any) -> Any:
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


class PatternCost(NamedTuple):
    """How a search grows with a text of n characters: at most `ways` times n to `degree` and 1."""

    degree: int = 0
    ways: int = 1


ONE_WAY: Final = PatternCost()


def is_bounded(pattern: str, text: str) -> bool:
    """Return whether a search takes few steps: it may be hostile, and `re` knows no limit."""
    cost = pattern_cost(pattern)
    return cost is not None and cost.ways * len(text) ** (cost.degree + 1) <= MOST_STEPS


@lru_cache(maxsize=256)
def pattern_cost(pattern: str) -> PatternCost | None:
    """Return what a search for a pattern costs; None without a bound.

    Raises what `re.compile` does; a later call of that gives no warning any more.
    """
    # No public name has the parsed pattern. Python's warnings about it are of no use to a user.
    parser = import_module("re._parser")
    with catch_warnings():
        simplefilter("ignore")
        re.compile(pattern)
        return _cost_of_all(parser.parse(pattern))


def _cost_of_all(parsed: Iterable[tuple[Any, Any]]) -> PatternCost | None:
    degree, ways = 0, 1
    for operation, argument in parsed:
        cost = _pattern_cost(str(operation), argument)
        if cost is None:
            return None
        degree, ways = degree + cost.degree, ways * cost.ways
    return PatternCost(degree, ways)


def _pattern_cost(operation: str, argument: Any) -> PatternCost | None:
    if operation in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
        return _cost_of_repeat(*argument)
    if operation == "BRANCH":
        costs = [_cost_of_all(one) for one in argument[1]]
        known = [one for one in costs if one is not None]
        if len(known) < len(costs):
            return None
        return PatternCost(max(one.degree for one in known), sum(one.ways for one in known))
    if operation in {"SUBPATTERN", "ASSERT", "ASSERT_NOT", "ATOMIC_GROUP"}:
        return _cost_of_all(argument if operation == "ATOMIC_GROUP" else argument[-1])
    return None if operation.startswith("GROUPREF") else ONE_WAY


def _cost_of_repeat(least: int, most: int, inner: Any) -> PatternCost | None:
    """Return the cost of repeats, None if the repeated pattern matches in several ways."""
    cost = _cost_of_all(inner)
    if cost is None or most <= 1:
        return None if cost is None else PatternCost(cost.degree, cost.ways + (least < most))
    if cost != ONE_WAY:
        return None
    return ONE_WAY if least == most else PatternCost(1)


def _each(change: Callable[[str], Any]) -> Apply:
    return lambda answers: [change(one) for one in answers]


def _regex(
    regex_pattern: str = r"#### (\-?[0-9\.\,]+)", group_select: int = 0, fallback: str = "[invalid]"
) -> Apply:
    pattern_cost(regex_pattern)
    compiled, place = re.compile(regex_pattern), index(group_select)

    def extract(text: Any) -> str:
        shown = text if isinstance(text, str) else ""
        if not is_bounded(regex_pattern, shown):
            raise NotFollowed
        matches = compiled.findall(shown)
        if not matches:
            return fallback
        match = matches[place]
        if isinstance(match, tuple):
            match = next((one for one in match if one), fallback)
        return str(match).strip()

    return _each(extract)


def _first(k: int) -> Apply:
    number = index(k)
    return lambda answers: answers[:number]


def _replace(mapping_dict: Any = None, default_value: Any = None) -> Apply:
    known = dict(mapping_dict or {})
    return _each(lambda text: known.get(text, default_value))


_KNOWN: Final[Mapping[str, Callable[..., Apply]]] = {
    "take_first": lambda: lambda answers: answers[0],
    "take_first_k": _first,
    "majority_vote": lambda: lambda answers: [Counter(answers).most_common(1)[0][0]],
    "regex": _regex,
    "remove_whitespace": lambda: _each(str.strip),
    "lowercase": lambda: _each(str.lower),
    "uppercase": lambda: _each(str.upper),
    "map": _replace,
}
"""The filters of the harness that need nothing but the answers."""

_OF_DOCS: Final = frozenset(
    {"custom", "decontaminate", "format_span", "multi_choice_regex", "regex_pos"}
    | {"ACP_grammar_filter"}
)
"""Filters of the harness that need a doc, or code."""

_OLD: Final[Mapping[str, Callable[..., Apply]]] = {
    "remove_whitespace": lambda: _each(lambda text: text.removeprefix(" "))
}
"""Filters that were others in older releases: only one leading space was removed."""


def follows(steps: str, answers: Any, shown: Any) -> tuple[bool, Any]:
    """Return whether a filter gives what a row shows, and what it gives for each request.

    The answers to a request are a list, also where there is only one.
    Raises NotFollowed where that is not known.
    """
    first = None
    for is_old in (False, True) if "remove_whitespace" in steps else (False,):
        chain = build_chain(steps, is_old=is_old)
        if chain is None or not isinstance(answers, list):
            raise NotFollowed
        given = [apply_chain(chain, some) if isinstance(some, list) else None for some in answers]
        if given == as_texts(shown):
            return True, given
        first = given if first is None else first
    return False, first
