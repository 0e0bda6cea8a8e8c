"""Roots of monotone functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_MOST_STEPS: Final = 200


def falling_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function that falls from `low` to `high` is 0, by bisection.

    The result is as exact as doubles are, unless it is within 1e-300 of 0. Without a root it is the
    bound next to one.
    """
    for _ in range(_MOST_STEPS):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2
