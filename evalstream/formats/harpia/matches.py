"""Which responses of an input of HarpIA Lab are the expected ones, to judge exact matches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeGuard

from evalstream.formats.harpia.documents import find_member
from evalstream.formats.harpia.values import NO_MEAN_WORDS, ODD, metric_words
from evalstream.formats.harpia.views import InputInstance, InputMetric

EXACT_MATCH: Final = "exactmatch"
_IGNORED: Final = re.compile(r"\b(?:a|an|the)\b|[\W_\d]+")
"""What the options of exact matches leave out: articles, punctuation, spaces and digits."""


class Match(NamedTuple):
    """Whether a response is an expected one to the letter, and whether it is one at all.

    Without case, articles, punctuation, spaces and digits more responses are.
    """

    is_literal: bool
    is_loose: bool


def is_exact_match(metric: InputMetric) -> bool:
    """Return whether a metric compares whole responses, and no parameter says what it ignores."""
    name = metric.id or ""
    is_plain = all(
        isinstance(one, (bool, int, float, type(None))) for one in metric.values.values()
    )
    is_named = EXACT_MATCH in ODD.sub("", name.lower())
    return is_named and is_plain and metric_words(name).isdisjoint(NO_MEAN_WORDS)


def collect_matches(instances: Iterable[InputInstance] | None) -> Mapping[str, Match]:
    """Return how the one response of each instance matches what was expected, by the ids."""
    found: dict[str, Match] = {}
    for one in instances or ():
        response = _read_member(one.value, "actual-output")
        expected = _read_member(one.value, "expected-output")
        if one.id in found:
            found[one.id] = Match(is_literal=False, is_loose=True)
        elif one.id is not None and isinstance(response, str) and _is_texts(expected):
            is_loose = _reduce(response) in map(_reduce, expected)
            found[one.id] = Match(response in expected, is_loose)
    return found


def _read_member(value: Any, name: str) -> Any:
    found = find_member(value, name) if isinstance(value, dict) else None
    return None if found is None else found.value


def _is_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value)


def _reduce(text: str) -> str:
    return _IGNORED.sub("", text.casefold())
