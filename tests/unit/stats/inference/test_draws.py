"""Sums of random draws: the same with and without the scanner, and rightly distributed."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstream.parsing.native.resample import resamplers
from evalstream.stats.inference import draws as module
from evalstream.stats.inference.draws import DrawnSums

numbers = st.integers(-(2**40), 2**40)


@pytest.mark.skipif(resamplers() is None, reason="the scanner is not compiled")
@given(
    width=st.integers(1, 4),
    data=st.data(),
    draws=st.lists(st.integers(0, 300), min_size=1, max_size=20),
    seed=st.integers(0, 9),
)
def test_python_gives_the_numbers_of_the_scanner(
    width: int, data: st.DataObject, draws: list[int], seed: int
) -> None:
    rows = data.draw(
        st.lists(st.lists(numbers, min_size=width, max_size=width), min_size=1, max_size=20)
    )
    counts = data.draw(st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_WORDS_AT_ONCE", 500)
        compiled = [list(one) for one in DrawnSums(rows, counts, seed).sums(draws)]
        patch.setattr(module, "resamplers", lambda: None)
        plain = [list(one) for one in DrawnSums(rows, counts, seed).sums(draws)]
    assert compiled == plain
    assert [len(one) for one in compiled] == [width] * len(draws)


@pytest.mark.parametrize("worth", [1, 10**9])
def test_sums_have_the_mean_and_the_spread_of_draws(
    monkeypatch: pytest.MonkeyPatch, worth: int
) -> None:
    monkeypatch.setattr(module, "_WORTH_SPLITTING", worth)
    rows, counts = [(-10, 1), (3, 1), (20, 1)], [5, 2, 13]
    every = [row[0] for row, count in zip(rows, counts, strict=True) for _ in range(count)]
    sums = list(DrawnSums(rows, counts, 5).sums([40] * 5000))
    assert {one[1] for one in sums} == {40}
    mean, deviation = statistics.mean(every), statistics.pstdev(every)
    error = deviation * math.sqrt(40 / 5000)
    assert statistics.mean(one[0] for one in sums) == pytest.approx(40 * mean, abs=5 * error)
    spread = statistics.stdev(one[0] for one in sums)
    assert spread == pytest.approx(deviation * math.sqrt(40), rel=0.05)


def test_each_row_is_drawn_as_often_as_any_other() -> None:
    rows = [tuple(int(i == j) for j in range(7)) for i in range(7)]
    (drawn,) = DrawnSums(rows, [1] * 7, 1).sums([70_000])
    assert all(abs(count - 10_000) < 500 for count in drawn)


def test_seeds_make_a_difference() -> None:
    some = [list(DrawnSums([(i,) for i in range(9)], [1] * 9, seed).sums([5])) for seed in (1, 2)]
    assert random.Random(1).random() != random.Random(2).random()
    assert some[0] != some[1]
