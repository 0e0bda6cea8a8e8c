"""The filters between the answers of a model and the scored ones (filters/ of lm_eval 0.4.13).

A row shows both: `resps` holds the answers to each request, `filtered_resps` the filtered ones.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from itertools import takewhile
from operator import index
from typing import Any, Final
from warnings import catch_warnings, simplefilter

from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import member

MOST_STEPS: Final = 20_000_000
"""Most steps of a regular expression in an answer, about a fifth of a second."""

MOST_REPEATS: Final = 2
"""Most repeats of any length in one alternative of the patterns of the harness's tasks."""

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
    """The cost of a try in a text of n characters: at most `ways` times n to the power `degree`.

    Before that, or at its start, the text has `opening`; only the first try may go beyond the
    beginning of a text if that `is_anchored`.
    """

    degree: int = 0
    ways: int = 1
    opening: str = ""
    is_anchored: bool = False

    def count_steps(self, text: str) -> int:
        """Return the most steps that all tries take together."""
        opening, size = self.opening, len(text)
        places = range(1, len(opening) + 1)
        period = next((one for one in places if opening.startswith(opening[one:])), 1)
        starts = text.count(opening) * -(-len(opening) // period) if opening else size + 1
        starts = 1 if self.is_anchored else starts
        each: int = self.ways * size**self.degree
        return size * max(len(opening), 1) + starts * each

    def count_most(self, size: int) -> int:
        """Return at least as many steps as all tries in any text of a size take."""
        each: int = self.ways * size**self.degree
        return size * max(len(self.opening), 1) + (size + 1) * each


ONE_WAY: Final = PatternCost()


def is_bounded(pattern: str, text: str) -> bool:
    """Return whether a search takes few steps: it may be hostile, and `re` knows no limit."""
    if len(text) <= bounded_size(pattern):
        return True
    costs = pattern_costs(pattern)
    return costs is not None and sum(one.count_steps(text) for one in costs) <= MOST_STEPS


@lru_cache(maxsize=256)
def bounded_size(pattern: str) -> int:
    """Return a number of characters up to which a search in any text takes few steps."""
    costs, size = pattern_costs(pattern), 0
    if costs is not None:
        while sum(one.count_most(2 * size + 1) for one in costs) <= MOST_STEPS:
            size = 2 * size + 1
    return size


@lru_cache(maxsize=256)
def pattern_costs(pattern: str) -> tuple[PatternCost, ...] | None:
    """Return what a search for each alternative of a pattern costs; None without a bound.

    Raises what `re.compile` does; a later call of that gives no warning any more.
    """
    # No public name has the parsed pattern. Python's warnings about it are of no use to a user.
    parser = import_module("re._parser")
    with catch_warnings():
        simplefilter("ignore")
        flags = re.compile(pattern).flags
        found = []
        for items in _alternatives(parser.parse(pattern)):
            cost = _cost_of_all(items, is_last=True)
            if cost is None:
                return None
            is_anchored = items[:1] == [_BEGINNING] and not flags & re.MULTILINE
            opening = "" if flags & re.IGNORECASE else _opening(items)
            found.append(cost._replace(opening=opening, is_anchored=is_anchored))
    return tuple(found)


def may_take_long(pattern: Any) -> bool:
    """Tell whether a search takes long in a usual text: no pattern of the harness's tasks does."""
    if not isinstance(pattern, str):
        return True
    try:
        costs = pattern_costs(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return costs is None or any(one.degree > MOST_REPEATS for one in costs)


Parsed = tuple[Any, Any]
"""An operation of a parsed pattern and its argument."""

_BEGINNING: Final = next(iter(import_module("re._parser").parse("^")))


def _alternatives(parsed: Iterable[Parsed]) -> Iterator[list[Parsed]]:
    items = list(parsed)
    operation, argument = items[0] if len(items) == 1 else ("", None)
    if argument is not None and str(operation) == "BRANCH":
        for one in argument[1]:
            yield from _alternatives(one)
    elif argument is not None and str(operation) == "SUBPATTERN" and not any(argument[1:3]):
        yield from _alternatives(argument[-1])
    else:
        yield items


def _opening(items: list[Parsed]) -> str:
    """Return the characters that all matches begin with, or that stand before them."""
    if items and str(items[0][0]) == "ASSERT" and items[0][1][0] < 0:
        items = list(items[0][1][1])
    literals = takewhile(lambda one: str(one[0]) == "LITERAL", items)
    return "".join(chr(character) for _, character in literals)


_REPEATS: Final = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}


def _cost_of_all(items: Iterable[Parsed], *, is_last: bool = False) -> PatternCost | None:
    """Return the cost of a sequence; after the last one of a pattern nothing more can fail."""
    degree, ways = 0, 1
    for operation, argument in reversed(list(items)):
        cost = _pattern_cost(str(operation), argument, is_last=is_last)
        if cost is None:
            return None
        degree, ways = degree + cost.degree, ways * cost.ways
        is_last = is_last and str(operation) in _REPEATS and argument[0] == 0
    return PatternCost(degree, ways)


def _pattern_cost(operation: str, argument: Any, *, is_last: bool) -> PatternCost | None:
    if operation in _REPEATS:
        return _cost_of_repeat(*argument, is_last=is_last)
    if operation == "BRANCH":
        costs = [_cost_of_all(one, is_last=is_last) for one in argument[1]]
        known = [one for one in costs if one is not None]
        if len(known) < len(costs):
            return None
        return PatternCost(max(one.degree for one in known), sum(one.ways for one in known))
    if operation == "SUBPATTERN":
        return _cost_of_all(argument[-1], is_last=is_last)
    if operation in {"ASSERT", "ASSERT_NOT", "ATOMIC_GROUP"}:
        return _cost_of_all(argument if operation == "ATOMIC_GROUP" else argument[-1])
    return None if operation.startswith("GROUPREF") else ONE_WAY


def _cost_of_repeat(least: int, most: int, inner: Any, *, is_last: bool) -> PatternCost | None:
    """Return the cost of repeats, None if the repeated pattern matches in several ways.

    What the last repeat has read is in the match, so that no other try reads it again.
    """
    cost = _cost_of_all(inner, is_last=is_last and most <= 1)
    if cost is None or most <= 1:
        return None if cost is None else PatternCost(cost.degree, cost.ways + (least < most))
    if cost != ONE_WAY:
        return None
    if is_last:
        return PatternCost(ways=max(least, 1))
    return ONE_WAY if least == most else PatternCost(1)


def _each(change: Callable[[str], Any]) -> Apply:
    return lambda answers: [change(one) for one in answers]


def _regex(
    regex_pattern: str = r"#### (\-?[0-9\.\,]+)", group_select: int = 0, fallback: str = "[invalid]"
) -> Apply:
    pattern_costs(regex_pattern)
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


def needs_code(step: Any) -> bool:
    """Tell whether a step of a filter is a class of a task, or a filter that takes a function."""
    name = str(member(step, "function"))
    return name == "custom" or name.startswith("<")


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
    """Return whether a filter gives the answers of a row, and its answer for each request.

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
