"""The values of logs: counts, ids, times and scores, as the harness reads and compares them.

Scores become numbers as the default `value_to_float` of scorer/_metric.py of inspect_ai 0.3.285
makes them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from evalstream.parsing.json import member
from evalstream.parsing.json_values import holds_double, to_number
from evalstream.stats.claims.reducers import is_missing

MOST_COUNT: Final = 10**15
"""More than any count of samples, epochs or tokens."""

_NEAR: Final = 1e-9

LETTERS: Final[Mapping[str, float]] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
WORDS: Final[Mapping[str, float]] = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_NUMBER: Final = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)


def is_count(value: Any) -> bool:
    """Tell whether a value is an integer from 0 to 10^15; true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_COUNT


def is_id(value: Any) -> bool:
    """Tell whether a value can be the id of a sample."""
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal, numbers up to a relative difference of 1e-9.

    NaN equals NaN, and null, which stands for it in some logs.
    """
    if one is other:
        return True
    if one.__class__ is str:
        return bool(one == other)
    if one is None or other is None or isinstance(one, float) or isinstance(other, float):
        return _are_near(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(map(same, one.values(), map(other.get, one)))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _are_near(one: Any, other: Any) -> bool:
    if is_missing(one) or is_missing(other):
        return is_missing(one) and is_missing(other)
    if holds_double(one) and holds_double(other):
        return math.isclose(one, other, rel_tol=_NEAR, abs_tol=_NEAR)
    return bool(one == other)


def read_time(value: Any) -> datetime | None:
    """Return a time with its zone, None for anything else."""
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return None if found.tzinfo is None else found


def score_value(score: Any) -> Any:
    """Return the value of a score, NaN for null as the harness reads it."""
    value = member(score, "value")
    return math.nan if value is None else value


def known_number(value: Any) -> float | None:
    """Return a score as a number; None for one that is not a number and none of the known words."""
    if isinstance(value, str):
        word = LETTERS.get(value)
        if word is None:
            word = WORDS.get(value.lower())
        if word is None and _NUMBER.fullmatch(value):
            word = float(value)
        return word
    return to_number(value)


def score_to_float(value: Any) -> float:
    """Return a score as a number, 0 for one that is none."""
    number = known_number(value)
    return 0.0 if number is None else number


def find_clusters(value: Any, depth: int) -> Iterator[str]:
    """Iterate over the values of `cluster` and `group_key` anywhere in a value."""
    if not depth:
        return
    if isinstance(value, dict):
        for name, part in value.items():
            if name in ("cluster", "group_key") and isinstance(part, str):
                yield part
            else:
                yield from find_clusters(part, depth - 1)
    elif isinstance(value, list):
        for part in value:
            yield from find_clusters(part, depth - 1)


_THOUGHT: Final = re.compile(r"<think([^>]*)>(.*?)</think>", re.DOTALL)
"""Reasoning within a text, which Inspect takes out of it when it reads a log."""


def find_thoughts(text: str) -> Iterator[re.Match[str]]:
    """Yield each reasoning within a text.

    A beginning without an end has none after it either: a search would read the rest of the text
    for each of them.
    """
    start = text.find("<think")
    while start >= 0 and (found := _THOUGHT.match(text, start)):
        yield found
        start = text.find("<think", found.end())
