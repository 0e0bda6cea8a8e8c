"""Ranks of several runs, and the share of resamples in which they hold."""

import random
import statistics

import numpy as np
import pytest

from evalstream.model.comparison import Rank, Ranking
from evalstream.stats.inference import ranks as module
from evalstream.stats.inference.ranks import RankedScores


def ranked(
    columns: list[list[float]], *, size: int = 10**6, seed: int = 1, lower: bool = False
) -> Ranking:
    some = RankedScores(len(columns))
    for start in range(0, len(columns[0]), size):
        some.add([*zip(*(column[start : start + size] for column in columns), strict=True)])
    found = some.ranking("m", "ABCDEFG"[: len(columns)], 2000, seed, lower_is_better=lower)
    assert found is not None
    return found


def graded(n: int, runs: int, step: float = 0.05) -> list[list[float]]:
    rng = random.Random(7)
    hard = [rng.random() for _ in range(n)]
    return [[x + rng.gauss(step * run, 0.3) for x in hard] for run in range(runs)]


def test_better_means_come_first() -> None:
    columns = graded(400, 3, 0.5)
    found = ranked(columns)
    assert [(one.label, one.rank, one.share) for one in found.ranks] == [
        ("C", 1, 1.0),
        ("B", 2, 1.0),
        ("A", 3, 1.0),
    ]
    assert found.n == 400
    assert found.ranks[2].mean == pytest.approx(statistics.fmean(columns[0]))
    assert [one.label for one in ranked(columns, lower=True).ranks] == ["A", "B", "C"]


def test_equal_runs_share_the_better_rank() -> None:
    columns = graded(100, 2, 0.5)
    found = ranked([columns[1], columns[0], columns[1]])
    assert [(one.label, one.rank, one.share) for one in found.ranks] == [
        ("A", 1, 1.0),
        ("C", 1, 1.0),
        ("B", 3, 1.0),
    ]
    lower = ranked([columns[1], columns[0], columns[1]], lower=True)
    assert [(one.label, one.rank) for one in lower.ranks] == [("B", 1), ("A", 2), ("C", 2)]


def test_means_that_differ_by_rounding_tie() -> None:
    found = ranked([[1 / 3, 1 / 3, 1.0], [1.0, 1.0, 2 / 3], [2 / 3, 1.0, 1.0]])
    assert [(one.label, one.rank) for one in found.ranks] == [("B", 1), ("C", 1), ("A", 3)]


def test_one_run_against_itself() -> None:
    column = [0.5, 1.0, 0.0]
    found = ranked([column, column])
    error = pytest.approx(statistics.stdev(column) / 3**0.5)
    assert found.ranks == [Rank(label, 0.5, 1, 1.0, standard_error=error) for label in "AB"]


def test_shares_are_those_of_a_plain_bootstrap() -> None:
    columns = graded(60, 3)
    found = ranked(columns)
    rng = random.Random(9)
    held = dict.fromkeys("ABC", 0)
    expected = {one.label: one.rank for one in found.ranks}
    for _ in range(2000):
        drawn = rng.choices(range(60), k=60)
        means = [sum(column[i] for i in drawn) for column in columns]
        for label, mean in zip("ABC", means, strict=True):
            held[label] += expected[label] == 1 + sum(other > mean for other in means)
    for one in found.ranks:
        assert one.share == pytest.approx(held[one.label] / 2000, abs=0.06)


def test_the_normal_limit_agrees_with_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = graded(1500, 4, 0.01)
    drawn = ranked(columns)
    monkeypatch.setattr(module, "MOST_DRAWN", 100)
    limit = ranked(columns)
    for one, other in zip(drawn.ranks, limit.ranks, strict=True):
        assert one[:3] == other[:3]
        assert one.share == pytest.approx(other.share, abs=0.06)


def test_a_constant_lead_is_certain_in_the_normal_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_DRAWN", 10)
    column = [0.25, 0.5] * 20
    found = ranked([column, [x + 0.125 for x in column], column])
    assert [(one.label, one.rank, one.share) for one in found.ranks] == [
        ("B", 1, 1.0),
        ("A", 2, 1.0),
        ("C", 2, 1.0),
    ]


@pytest.mark.parametrize("most", [20_000, 50])
def test_the_cut_changes_nothing_and_seeds_decide(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(module, "MOST_DRAWN", most)
    columns = graded(300, 3)
    whole = ranked(columns)
    assert [one[2:5] for one in ranked(columns, size=7).ranks] == [one[2:5] for one in whole.ranks]
    assert [one.standard_error for one in ranked(columns, size=7).ranks] == pytest.approx(
        [one.standard_error for one in whole.ranks]
    )
    assert ranked(columns) == whole
    assert ranked(columns, seed=2) != whole


def test_nothing_and_extremes_have_no_ranks() -> None:
    assert RankedScores(2).ranking("m", "AB", 100, 1) is None
    some = RankedScores(2)
    some.add(np.empty((0, 2)))
    some.add([[1.0, 1e200]])
    some.add([[1.0, 1.0]])
    assert some.ranking("m", "AB", 100, 1) is None


def test_each_sample_has_a_score_in_each_run() -> None:
    with pytest.raises(ValueError, match="each run"):
        RankedScores(2).add([[1.0]])
