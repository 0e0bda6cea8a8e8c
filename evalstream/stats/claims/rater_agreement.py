"""Krippendorff's alpha: how far several raters of the same samples agree.

Source: K. Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011; the ordinal level as in
scorer/_metrics/krippendorff.py of inspect_ai 0.3.285.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

Ratings = Sequence[Any]
"""The ratings of one sample."""

LEVELS: Final = ("nominal", "ordinal", "interval")


def krippendorff_alpha(samples: Callable[[], Iterable[Ratings]], level: str) -> float:
    """Return alpha over the samples with two ratings or more; NaN without any.

    The samples are iterated over twice, so that only different ratings are kept in memory.
    """
    counts: Counter[Any] = Counter()
    for ratings in samples():
        if len(ratings) > 1:
            counts.update(ratings)
    number = counts.total()
    if number < 2:
        return math.nan
    place = _midpoints(counts) if level == "ordinal" else None
    disagreement = _nominal if level == "nominal" else _squared_error
    everything = _counts_at(counts, place)
    observed = math.fsum(
        disagreement(_counts_at(Counter(ratings), place)) / (len(ratings) - 1)
        for ratings in samples()
        if len(ratings) > 1
    )
    expected = disagreement(everything) / (number * (number - 1))
    return 1.0 if expected == 0 else 1.0 - observed / number / expected


def _counts_at(counts: Mapping[Any, int], place: Mapping[Any, float] | None) -> Mapping[Any, int]:
    return counts if place is None else {place[one]: times for one, times in counts.items()}


def _midpoints(counts: Mapping[Any, int]) -> dict[Any, float]:
    """Return for each rating the middle of its ranks."""
    places: dict[Any, float] = {}
    below = 0
    for rating in sorted(counts):
        places[rating] = below + counts[rating] / 2
        below += counts[rating]
    return places


def _nominal(counts: Mapping[Any, int]) -> float:
    number = sum(counts.values())
    return float(number * number - sum(times * times for times in counts.values()))


def _squared_error(counts: Mapping[Any, int]) -> float:
    number = sum(counts.values())
    middle = math.fsum(float(one) * times for one, times in counts.items()) / number
    squares = math.fsum((float(one) - middle) ** 2 * times for one, times in counts.items())
    return 2 * number * squares
