"""Reduce the scores of epochs, and compute metrics, as inspect_ai does.

Formulas: scorer/_reducer/reducer.py, scorer/_metric.py and scorer/_metrics/ of inspect_ai 0.3.285.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, NamedTuple

Reducer = Callable[[Sequence[Any]], Any]
"""Reduces the scalar values of one sample's epochs, without NaN, to one value."""


class Observation(NamedTuple):
    """One value that a metric takes, and the number of its sample."""

    value: Any
    sample: int


class CannotCompute(Exception):
    """A figure that cannot be computed from the samples; the message says why."""


_NAMED: Final[Mapping[str, float]] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS: Final[Mapping[str, float]] = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_NUMBER: Final = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)
_WITH_NUMBER: Final = re.compile(r"(at_least|pass_at|pass_k)_(\d{1,6})")


def to_float(value: Any) -> float:
    """Return a score as a number, as the default `value_to_float` of inspect_ai does.

    What is not a number, nor one of the known words, is 0.
    """
    if isinstance(value, str):
        word = _NAMED.get(value)
        if word is None:
            word = _WORDS.get(value.lower())
        if word is None and _NUMBER.fullmatch(value):
            word = float(value)
        return 0.0 if word is None else word
    return float(value) if isinstance(value, (int, float)) else 0.0


def is_unscored(value: Any) -> bool:
    """Tell whether a value stands for a missing score: NaN, and null in older logs."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def reducer_named(name: str | None) -> Reducer | None:
    """Return a reducer by the name that a log gives it, None for one that is not known.

    A log without a name uses the mean.
    """
    if name is None:
        return _REDUCERS["mean"]
    found = _WITH_NUMBER.fullmatch(name)
    if found is None:
        return _REDUCERS.get(name)
    kind, number = found[1], int(found[2])
    if kind == "at_least":
        return lambda values: int(_right(values) >= number)
    return lambda values: (_pass_at if kind == "pass_at" else _pass_k)(
        len(values), _right(values), number
    )


def reduced(values: Sequence[Any], reducer: Reducer) -> Any:
    """Reduce the values of one sample's epochs; dicts are reduced key by key, lists by index.

    Raises CannotCompute for values of different shapes, which the harness refuses.
    """
    found = [value for value in values if not is_unscored(value)]
    if not found:
        return math.nan
    first = found[0]
    if isinstance(first, dict):
        if not all(isinstance(one, dict) and one.keys() == first.keys() for one in found):
            raise CannotCompute("the scores of one sample have different keys")
        return {key: _reduced_part([one[key] for one in found], reducer) for key in first}
    if isinstance(first, list):
        if not all(isinstance(one, list) and len(one) == len(first) for one in found):
            raise CannotCompute("the scores of one sample have different lengths")
        return [_reduced_part([one[i] for one in found], reducer) for i in range(len(first))]
    if any(isinstance(one, (dict, list)) for one in found):
        raise CannotCompute("the scores of one sample have different shapes")
    return reducer(found)


def _reduced_part(values: Sequence[Any], reducer: Reducer) -> Any:
    found = [value for value in values if not is_unscored(value)]
    if any(isinstance(one, (dict, list)) for one in found):
        raise CannotCompute("a score is nested")
    return reducer(found) if found else math.nan


def _right(values: Sequence[Any]) -> int:
    return sum(to_float(value) >= 1.0 for value in values)


def _pass_at(total: int, right: int, number: int) -> float:
    if total < number:
        return math.nan
    if total - right < number:
        return 1.0
    return 1.0 - math.prod(1.0 - number / i for i in range(total - right + 1, total + 1))


def _pass_k(total: int, right: int, number: int) -> float:
    return math.nan if total < number else math.comb(right, number) / math.comb(total, number)


class Tied(list[Any]):
    """The most common values, where several are: which one counts depends on an unknown order."""


def _mode(values: Sequence[Any]) -> Any:
    counts = Counter(values)
    most = max(counts.values())
    winners = [value for value, count in counts.items() if count == most]
    return winners[0] if len(winners) == 1 else Tied(winners)


def _greatest(values: Sequence[Any]) -> Any:
    return max(values, key=to_float)


_REDUCERS: Final[Mapping[str, Reducer]] = {
    "mean": lambda values: statistics.fmean(map(to_float, values)),
    "median": lambda values: statistics.median(map(to_float, values)),
    "mode": _mode,
    "max": _greatest,
}

Numbers = Sequence[float]


def mean(values: Numbers) -> float:
    """Return the mean; NaN of nothing."""
    return math.fsum(values) / len(values) if values else math.nan


def variance(values: Numbers) -> float:
    """Return the sample variance, 0 of fewer than two values."""
    if len(values) < 2:
        return 0.0
    middle = mean(values)
    return math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)


def deviation(values: Numbers) -> float:
    """Return the sample standard deviation, 0 of fewer than two values."""
    return math.sqrt(variance(values))


def standard_error(values: Numbers) -> float:
    """Return the standard error of the mean, 0 of fewer than two values."""
    return deviation(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def clustered_error(values: Numbers, clusters: Sequence[Hashable]) -> float:
    """Return the standard error of the mean with clusters, 0 of fewer than two clusters."""
    middle = mean(values)
    sums: dict[Hashable, float] = {}
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + value - middle
    count = len(sums)
    if count < 2:
        return 0.0
    total = math.fsum(one * one for one in sums.values())
    return math.sqrt(total * count / (count - 1)) / len(values)


PLAIN: Final[Mapping[str, Callable[[Numbers], float]]] = {
    "accuracy": mean,
    "mean": mean,
    "std": deviation,
    "var": variance,
    "stderr": standard_error,
}
"""The metrics over numbers alone, by name."""
