"""Random counts: exact by their bits, and the same for the same seed."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator

import pytest

from evalstream.stats.inference.binomial_draws import BinomialTable, Splitter, draw_binomial
from evalstream.stats.inference.distributions import binomial_point


class Bits:
    """Bits from a list, most significant first."""

    def __init__(self, bits: Iterator[int]) -> None:
        self._bits = bits

    def __call__(self, number: int) -> int:
        return sum(next(self._bits) << i for i in reversed(range(number)))


def test_all_fractions_below_the_probability_succeed() -> None:
    # One trial compares a fraction with 5/8: five of the eight fractions of three bits are below.
    won = [draw_binomial(1, 5, 8, Bits(iter(bits))) for bits in itertools.product((0, 1), repeat=3)]
    assert won == [1, 1, 1, 1, 1, 0, 0, 0]


def near(drawn: Counter[int], n: int, p: float) -> bool:
    """Tell whether the frequencies of counts are within five standard errors."""
    total = drawn.total()
    points = {k: binomial_point(k, n, p) for k in range(n + 1)}
    return all(
        abs(drawn[k] - total * point) <= 5 * (total * point) ** 0.5 + 5
        for k, point in points.items()
    )


@pytest.mark.parametrize(("successes", "of"), [(0, 3), (3, 3), (1, 3), (5, 7), (1, 2)])
def test_draws_have_their_distribution(successes: int, of: int) -> None:
    bits = random.Random(1).getrandbits
    drawn = Counter(draw_binomial(20, successes, of, bits) for _ in range(20_000))
    assert near(drawn, 20, successes / of)
    assert not near(drawn, 20, 0.45)


@pytest.mark.parametrize(("successes", "of"), [(1, 3), (5, 7), (7, 7), (1, 20)])
def test_tables_have_their_distribution(successes: int, of: int) -> None:
    bits = random.Random(1).getrandbits
    table = BinomialTable(20, successes, of)
    drawn = Counter(table.draw(bits) for _ in range(20_000))
    assert near(drawn, 20, successes / of)
    assert max(drawn) <= table.most


def test_a_table_of_millions_is_small() -> None:
    table = BinomialTable(7_500_000, 10_000, 7_500_000)
    drawn = [table.draw(random.Random(2).getrandbits) for _ in range(10)]
    assert all(9_400 < one < 10_600 for one in drawn)
    assert table.most < 12_000


@pytest.mark.parametrize("counts", [[5], [1, 2], [3, 1, 4, 1, 5]])
def test_trials_are_split_in_proportion(counts: list[int]) -> None:
    splitter, bits = Splitter(counts), random.Random(3).getrandbits
    drawn = [splitter.split(12, bits) for _ in range(10_000)]
    assert {sum(one) for one in drawn} == {12}
    for cell, count in enumerate(counts):
        assert near(Counter(one[cell] for one in drawn), 12, count / sum(counts))
    assert splitter.split(0, bits) == [0] * len(counts)
