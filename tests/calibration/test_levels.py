"""Tests reject at their level and intervals cover, in 2,000 comparisons of equally good runs.

Counts of rejections must be within 3.5 standard errors of what the level says. Seeds are fixed, so
that a run is right or wrong for good.
"""

import math
import random
from collections.abc import Callable
from typing import Final

import pytest

from evalstream.stats.inference.clusters import clustered_difference
from evalstream.stats.inference.difference_tests import (
    bootstrap_intervals,
    exact_mcnemar,
    mid_p_mcnemar,
    sign_flip_test,
    t_test,
    tango_interval,
)
from evalstream.stats.inference.estimate import standard_error
from evalstream.stats.inference.paired import PairedScores

pytestmark = pytest.mark.slow

SIMULATIONS: Final = 2000
LEVEL: Final = 0.05


def share(event: Callable[[random.Random], bool], simulations: int = SIMULATIONS) -> float:
    """Return the share of simulations in which an event happens."""
    rng = random.Random(20_141)
    return sum(event(rng) for _ in range(simulations)) / simulations


def tolerance(p: float, simulations: int = SIMULATIONS) -> float:
    return 3.5 * math.sqrt(p * (1 - p) / simulations)


def equally_good(rng: random.Random, n: int) -> PairedScores:
    """Return the graded scores of two equally good runs, in samples that are more or less hard."""
    hard = [rng.gauss(0.5, 0.3) for _ in range(n)]
    a = [x + rng.expovariate(5) for x in hard]
    b = [x + rng.expovariate(5) for x in hard]
    some = PairedScores()
    some.add(a, b)
    return some


def paired_p(some: PairedScores) -> float:
    error = standard_error(some)
    assert error is not None
    return t_test(some.moments.means[2], error, some.n - 1, "paired t").p


def discordant(rng: random.Random, n: int) -> tuple[int, int]:
    """Return the discordant counts of two equally good runs that differ in 30 % of the samples."""
    both = sum(rng.random() < 0.3 for _ in range(n))
    only_a = rng.getrandbits(both).bit_count()
    return only_a, both - only_a


def clusters(rng: random.Random) -> list[list[float]]:
    """Return differences in 40 clusters of 5 samples, which share half of their variance."""
    centres = [rng.gauss(0, 1) for _ in range(40)]
    return [[centre + rng.gauss(0, 1) for _ in range(5)] for centre in centres]


def clustered_p(groups: list[list[float]]) -> float:
    every = [d for group in groups for d in group]
    mean = math.fsum(every) / len(every)
    sizes, sums = [*map(len, groups)], [*map(math.fsum, groups)]
    found = clustered_difference(sizes, sums, mean, 1 - LEVEL)
    assert found.test is not None
    return found.test.p


def naive_p(groups: list[list[float]]) -> float:
    every = [d for group in groups for d in group]
    some = PairedScores()
    some.add(every, [0.0] * len(every))
    return paired_p(some)


def test_paired_t_rejects_at_its_level() -> None:
    rejected = share(lambda rng: paired_p(equally_good(rng, 80)) <= LEVEL)
    assert rejected == pytest.approx(LEVEL, abs=tolerance(LEVEL))


def test_sign_flips_reject_at_their_level() -> None:
    def rejects(rng: random.Random) -> bool:
        cells = equally_good(rng, 25).differences.cells()
        return sign_flip_test(cells, 199, rng.getrandbits(32)).p <= LEVEL

    assert share(rejects) == pytest.approx(LEVEL, abs=tolerance(LEVEL))


def test_mid_p_rejects_near_its_level_and_the_exact_test_below() -> None:
    mid = share(lambda rng: mid_p_mcnemar(*discordant(rng, 150)).p <= LEVEL)
    exact = share(lambda rng: exact_mcnemar(*discordant(rng, 150)).p <= LEVEL)
    assert mid == pytest.approx(LEVEL, abs=tolerance(LEVEL))
    assert exact < mid


def test_tango_covers_at_its_level() -> None:
    def covers(rng: random.Random) -> bool:
        low, high, _ = tango_interval(*discordant(rng, 150), 150, 1 - LEVEL)
        return low <= 0 <= high

    assert share(covers) == pytest.approx(1 - LEVEL, abs=tolerance(LEVEL))


def test_with_clusters_only_the_clustered_test_rejects_at_its_level() -> None:
    found = share(lambda rng: clustered_p(clusters(rng)) <= LEVEL)
    assert found == pytest.approx(LEVEL, abs=tolerance(LEVEL))
    # Half of the variance is shared by five samples each: the naive error is 1.7 times too small.
    naive = share(lambda rng: naive_p(clusters(rng)) <= LEVEL, 500)
    assert naive > 4 * LEVEL


def test_bootstrap_intervals_cover_near_their_level() -> None:
    misses = dict.fromkeys(("bootstrap percentile", "bootstrap BCa"), 0)
    rng = random.Random(5)
    for _ in range(400):
        cells = equally_good(rng, 60).differences.cells()
        for low, high, method in bootstrap_intervals(cells, 400, 1 - LEVEL, rng.getrandbits(32)):
            misses[method] += not low <= 0 <= high
    for missed in misses.values():
        assert missed / 400 == pytest.approx(LEVEL, abs=tolerance(LEVEL, 400))
