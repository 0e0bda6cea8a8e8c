"""Reduce the scores of a sample's repeats to one score.

Formulas and names: scorer/_reducer/reducer.py of inspect_ai 0.3.285.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from evalstream.model.claim import Reason

ToFloat = Callable[[Any], float]
"""Returns a score as a number; NaN for one that does not count."""

Reducer = Callable[[Sequence[Any], int, ToFloat], Any]
"""Reduces the scores that count, in the order of the repeats, given the number of all scores."""

_WITH_NUMBER: Final = re.compile(r"(at_least|pass_at|pass_k)_(\d{1,6})")

RIGHT: Final = 1.0
"""The least score that counts as right."""


class CannotCompute(Exception):
    """A figure that cannot be computed; `reason` says why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


def reducer_named(name: str | None) -> Reducer | None:
    """Return a reducer by its name, the mean without one; None for one that is not known."""
    found = _WITH_NUMBER.fullmatch(name or "mean")
    if found is None:
        return _REDUCERS.get(name or "mean")
    function, number = _COUNTING[found[1]], int(found[2])

    def reduce(values: Sequence[Any], _all: int, to_float: ToFloat) -> Any:
        return function(len(values), sum(to_float(one) >= RIGHT for one in values), number)

    return reduce


def reduce_repeats(scores: Sequence[Any], reducer: Reducer, to_float: ToFloat) -> Any:
    """Reduce the scores of one sample; those of objects key by key, of lists by index.

    Scores that are None or NaN do not count; without any other the reduced score is NaN. Raises
    CannotCompute for scores of different shapes.
    """
    found = [one for one in scores if not is_missing(one)]
    if not found:
        return math.nan
    first, total = found[0], len(scores)
    if reducer is _collect:
        return _reduce_part(found, reducer, total, to_float)
    if isinstance(first, dict):
        if not all(isinstance(one, dict) and one.keys() == first.keys() for one in found):
            raise CannotCompute(Reason.EVIDENCE)
        return {
            key: _reduce_part([one[key] for one in found], reducer, total, to_float)
            for key in first
        }
    if isinstance(first, list):
        if not all(isinstance(one, list) and len(one) == len(first) for one in found):
            raise CannotCompute(Reason.EVIDENCE)
        return [
            _reduce_part([one[i] for one in found], reducer, total, to_float)
            for i in range(len(first))
        ]
    return _reduce_part(found, reducer, total, to_float)


def is_missing(score: Any) -> bool:
    """Return whether a score does not count: NaN, and null in older logs."""
    return score is None or (isinstance(score, float) and math.isnan(score))


def _reduce_part(scores: Sequence[Any], reducer: Reducer, total: int, to_float: ToFloat) -> Any:
    found = [one for one in scores if not is_missing(one)]
    if any(isinstance(one, (dict, list)) for one in found):
        raise CannotCompute(Reason.EVIDENCE)
    return reducer(found, total, to_float) if found else math.nan


def _pass_at(total: int, right: int, number: int) -> float:
    """Return the chance that one of `number` repeats is right (arXiv:2107.03374)."""
    if total < number:
        return math.nan
    if total - right < number:
        return 1.0
    return 1.0 - math.prod(1.0 - number / i for i in range(total - right + 1, total + 1))


def _pass_k(total: int, right: int, number: int) -> float:
    """Return the chance that all of `number` repeats are right (arXiv:2406.12045)."""
    return math.nan if total < number else math.comb(right, number) / math.comb(total, number)


_COUNTING: Final[Mapping[str, Callable[[int, int, int], float]]] = {
    "at_least": lambda _total, right, number: int(right >= number),
    "pass_at": _pass_at,
    "pass_k": _pass_k,
}


def _mean(values: Sequence[Any], _all: int, to_float: ToFloat) -> float:
    return (
        to_float(values[0]) if len(values) == 1 else math.fsum(map(to_float, values)) / len(values)
    )


def _median(values: Sequence[Any], _all: int, to_float: ToFloat) -> float:
    from statistics import median  # it loads random

    return median(map(to_float, values))


def _majority(values: Sequence[Any], total: int, _to_float: ToFloat) -> Any:
    value, count = Counter(values).most_common(1)[0]
    return value if 2 * count > total else math.nan


def _collect(values: Sequence[Any], _all: int, _to_float: ToFloat) -> list[Any]:
    return list(values)


_REDUCERS: Final[Mapping[str, Reducer]] = {
    "mean": _mean,
    "median": _median,
    "mode": lambda values, _all, _to_float: Counter(values).most_common(1)[0][0],
    "majority": _majority,
    "max": lambda values, _all, to_float: max(values, key=to_float),
    "collect": _collect,
}
