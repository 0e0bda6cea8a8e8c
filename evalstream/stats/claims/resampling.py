"""Standard errors by the bootstrap of lm_eval, whose random numbers have fixed seeds.

Source: `bootstrap_stderr` in api/metrics.py of lm_eval 0.4.13. Chunk i of the draws is seeded with
i, so that the error can be computed again exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from evalstream.stats.claims.evidence import Evidence
from evalstream.stats.claims.kinds import ERROR, Bounds, ClaimKind, Figure

CHUNK: Final = 1000
"""The largest number of draws with one seed."""

MOST_DRAWN: Final = 5_000_000
"""Most values that are drawn for one error: under a second for most metrics."""


class Resampling(NamedTuple):
    """An error from `draws` draws; it is not exact if the harness made more."""

    error: float | None
    draws: int
    is_exact: bool


def resampled_error(
    values: Sequence[Any], statistic: Callable[[Sequence[Any]], float | None], iterations: int
) -> Resampling:
    """Return the standard deviation of a figure over the draws, the first ones if they are many.

    The error is None where the figure of a draw does not exist.
    """
    size = min(CHUNK, iterations)
    wanted = iterations // size * size
    draws = min(wanted, MOST_DRAWN // max(len(values), 1))
    figures: list[float] = []
    for drawn in _draws(values, size, draws):
        figure = statistic(drawn)
        if figure is None:
            return Resampling(None, draws, draws == wanted)
        figures.append(figure)
    return Resampling(_deviation(figures), draws, draws == wanted)


def error_kind(found: Resampling) -> ClaimKind:
    """Return the kind of a claim about an error that was resampled."""

    def figures(_evidence: Evidence) -> Iterator[Figure]:
        if found.error is not None:
            yield Figure("the bootstrapped standard error", found.error)

    return ERROR._replace(figures=figures, bounds=_not_negative)


def _not_negative(_evidence: Evidence) -> Bounds:
    return 0, None


def _draws(values: Sequence[Any], size: int, draws: int) -> Iterator[list[Any]]:
    """Yield samples of the values with replacement, a seed for each chunk of them."""
    for seed in range(-(-draws // size)):
        random = Random(seed)
        for _ in range(min(size, draws - seed * size)):
            yield random.choices(values, k=len(values))


def _deviation(figures: Sequence[float]) -> float | None:
    if len(figures) < 2:
        return None
    mean = sum(figures) / len(figures)
    return math.sqrt(sum((one - mean) ** 2 for one in figures) / (len(figures) - 1))
