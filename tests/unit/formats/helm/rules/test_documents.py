"""What the members of a statistic say of each other."""

import math

from each import each

from evalstream.formats.helm.rules.documents import find_contradiction
from evalstream.formats.helm.statistics import Stat


def stat_of(*values: float) -> Stat:
    """Return a statistic as HELM computes it (`Stat` of crfm-helm): a negative variance is 0."""
    count, total, squares = len(values), sum(values), sum(value * value for value in values)
    mean = total / count
    variance = squares / count - mean * mean
    variance = 0.0 if variance < 0 else variance
    more = (min(values), max(values), mean, variance, math.sqrt(variance))
    return Stat(count, total, squares, *more)


@each(
    "values",
    [(1.0,), (0.1, 0.1, 0.1), (0.0, 1.0, 1.0), (-3e8, -3e8 - 1), (1e200, 1e200), (7.1,) * 99],
)
def test_members_that_the_harness_computes_agree(values: tuple[float, ...]) -> None:
    assert find_contradiction(stat_of(*values)) is None


@each("values", [(1.0,), (1.0, 1.0), (-2.0, -2.0, -2.0)])
def test_squares_that_are_too_small_for_the_sum_are_found(values: tuple[float, ...]) -> None:
    stat = stat_of(*values)
    stat.sum_squared /= 2
    found = find_contradiction(stat)
    assert found is not None
    assert found[0] == "sum_squared"


def test_a_statistic_of_no_value_has_no_figures() -> None:
    assert find_contradiction(Stat(0, 0, 0)) is None
    assert find_contradiction(Stat(0, 0, 0, mean=0.0)) == ("mean", None, "there is no value")
