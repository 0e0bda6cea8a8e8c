"""The tallies of joined samples: each count moves with its samples, and with nothing else."""

import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from each import each

from evalstream.batch.comparing.flips import FlipStore
from evalstream.batch.comparing.tallies import (
    MOST_DRIFTS,
    MOST_FIRST,
    MetricTally,
    PairTally,
    select_first_lines,
)
from evalstream.model.comparison import MetricName
from evalstream.model.sample_record import B_SHIFT, PairFlag, SampleFlag, SamplePair, SampleScore
from evalstream.stats.inference.estimate import difference_bounds
from evalstream.stats.samples.joining import DriftKind, Joined
from evalstream.stats.samples.sample_store import PAIR, SAMPLE

NAN = float("nan")
RIGHT, WRONG, FAILED = SampleFlag.RIGHT, SampleFlag.WRONG, SampleFlag.FAILED


def pair(score_a: float = 1.0, score_b: float = 0.0, **values: Any) -> tuple[Any, ...]:
    usual = dict.fromkeys(SamplePair._fields, 0) | {"rows_a": 1, "rows_b": 1, "cluster": 1}
    return tuple({**usual, "score_a": score_a, "score_b": score_b, **values}.values())


def sample(score: float = 1.0, **values: Any) -> tuple[Any, ...]:
    usual = dict.fromkeys(SampleScore._fields, 0) | {"rows": 1, "scored": 1}
    return tuple({**usual, "score": score, **values}.values())


def tally_of(
    *pairs: tuple[Any, ...], is_clustered: bool = False, lower: bool = False
) -> MetricTally:
    tally = MetricTally(is_clustered=is_clustered, lower_is_better=lower)
    tally.add_pairs(np.array(list(pairs), PAIR))
    return tally


def flags(a: int, b: int) -> int:
    return int(a) | int(b) << B_SHIFT


def test_samples_without_a_score_on_one_side_are_matched_and_unscored() -> None:
    tally = tally_of(pair(), pair(NAN, 0.5), pair(0.25, NAN), pair(NAN, NAN))
    assert (tally.matched, tally.unscored, tally.paired.n) == (4, 3, 1)
    only_a, only_b = tally.paired.only_a, tally.paired.only_b
    assert (only_a.scored, only_a.unscored, only_a.total) == (1, 0, 0.25)
    assert (only_b.scored, only_b.unscored, only_b.total) == (1, 1, 0.5)
    assert tally.alignment(0, 0).unscored == 3
    assert tally_of(pair()).unscored == 0


def test_samples_of_one_run_count_on_its_side() -> None:
    tally = MetricTally(is_clustered=False, lower_is_better=False)
    samples = [
        sample(0.5, scored=2, rows=3, flags=FAILED),
        sample(NAN, scored=0),
        sample(flags=SampleFlag.AMBIGUOUS),
    ]
    tally.add_unmatched(np.array(samples, SAMPLE), is_a=True)
    tally.add_unmatched(np.array(samples[:1], SAMPLE), is_a=False)
    found = tally.alignment(0, 0)
    assert (found.only_a, found.only_b, found.ambiguous) == (3, 1, 1)
    assert (found.repeated_a, found.repeated_b) == (1, 1)
    assert (found.samples_a, found.samples_b, found.matched) == (3, 1, 0)
    assert (tally.paired.only_a.scored, tally.paired.only_a.unscored) == (2, 1)
    assert (tally.paired.only_b.scored, tally.paired.only_b.unscored) == (1, 0)
    for failed in (tally.paired.failed_a, tally.paired.failed_b):
        assert (failed.scored, failed.total) == (1, 0.5)


def test_flags_of_pairs_are_counted_each_for_itself() -> None:
    reference = PairFlag.OTHER_INPUT | PairFlag.OTHER_REFERENCE
    pairs = (
        pair(flags=PairFlag.OTHER_INPUT),
        pair(flags=PairFlag.OTHER_INPUT),
        pair(flags=reference | PairFlag.OTHER_PROMPT),
        pair(flags=PairFlag.OTHER_CLUSTER | PairFlag.ONE_PROMPT),
        pair(flags=PairFlag.ONE_PROMPT),
    )
    found = tally_of(*pairs, is_clustered=True).alignment(10, 20)
    assert (found.drifted, found.relabelled) == (12, 21)
    assert (found.other_prompts, found.one_prompt, found.other_clusters) == (1, 2, 1)
    assert tally_of(*pairs).alignment(0, 0).other_clusters == 0


def test_errors_of_one_run_alone_and_of_both() -> None:
    tally = tally_of(
        pair(0.5, 1.0, flags=flags(FAILED, 0)),
        pair(0.5, 0.0, flags=flags(0, FAILED)),
        pair(0.25, 0.75, flags=flags(FAILED, FAILED)),
        pair(NAN, 0.0, flags=flags(FAILED, 0)),
        *[pair()] * 5,
    )
    assert (tally.failed, tally.paired.failed) == (3, 3)
    assert (tally.paired.failed_a.scored, tally.paired.failed_a.total) == (2, 0.75)
    assert (tally.paired.failed_b.scored, tally.paired.failed_b.total) == (2, 0.75)


def test_a_score_of_one_run_alone_that_comes_from_an_error_counts_as_missing() -> None:
    tally = tally_of(pair(1.0, 1.0), pair(1.0, NAN, flags=flags(FAILED, 0)))
    for is_a in (True, False):
        samples = [sample(1.0, flags=FAILED), sample(1.0)]
        tally.add_unmatched(np.array(samples, SAMPLE), is_a=is_a)
    metric = MetricName("exact", minimum=0.0, maximum=1.0)
    # Of six samples, one in both runs is equal; each other one is missing at least once.
    assert difference_bounds(tally.paired, metric, 0.0).values == pytest.approx((-4 / 6, 4 / 6))


def test_repeats_are_counted_by_side_and_give_the_noise() -> None:
    b = pair(rows_b=2, spread_b=0.5)
    found = tally_of(pair(rows_a=3, spread_a=0.6), b, b, pair())
    alignment = found.alignment(0, 0)
    assert (alignment.repeated_a, alignment.repeated_b) == (1, 2)
    assert found.paired.noise_floor == pytest.approx((0.6 / 6 + 2 * 0.5 / 2) ** 0.5 / 4)


def test_scored_samples_without_a_cluster_are_counted() -> None:
    other = pair(cluster=0, flags=PairFlag.OTHER_CLUSTER)
    tally = tally_of(pair(), pair(cluster=0), pair(NAN, cluster=0), other, is_clustered=True)
    assert (tally.unclustered, tally.clusterless) == (2, 1)
    assert tally.clusters is not None
    found = tally.clusters.cluster_statistics(tally.paired, 0.95)
    assert found is not None
    assert found.clusters == 2
    assert tally_of(pair(cluster=0)).unclustered == 0


@each(
    ("scores", "judged", "lower", "losses", "gains"),
    [
        ((1.0, 0.0), (RIGHT, WRONG), False, 1, 0),
        ((0.0, 1.0), (WRONG, RIGHT), False, 0, 1),
        ((1.0, 1.0), (RIGHT, WRONG), False, 0, 0),  # the scores say what is right
        ((1.0, 0.0), (WRONG, RIGHT), True, 0, 1),
        ((0.5, 0.0), (RIGHT, WRONG), False, 1, 0),  # is_correct says it
        ((0.5, 0.7), (WRONG, RIGHT), False, 0, 1),
        ((1.0, 0.0), (0, 0), False, 0, 0),  # nobody says it
        ((0.5, 0.0), (RIGHT, 0), False, 0, 0),
    ],
)
def test_flips_go_by_scores_of_0_and_1_else_by_is_correct(
    scores: tuple[float, float], judged: tuple[int, int], lower: bool, losses: int, gains: int
) -> None:
    tally = tally_of(pair(*scores, flags=flags(*judged)), lower=lower)
    assert (tally.losses, tally.gains, tally.failed_changes) == (losses, gains, 0)


def test_flips_with_an_error_are_counted_apart() -> None:
    tally = tally_of(
        pair(1.0, 0.0, flags=flags(RIGHT, WRONG | FAILED)),
        pair(0.5, 0.7, flags=flags(WRONG | FAILED, RIGHT)),
        *[pair(1.0, 1.0, flags=flags(RIGHT, RIGHT | FAILED))] * 3,
    )
    assert (tally.losses, tally.gains, tally.failed_changes) == (0, 0, 2)


def joined(*pairs: tuple[Any, ...], a: Any = (), b: Any = ()) -> Joined:
    return Joined(np.array(list(pairs), PAIR), np.array([*a], SAMPLE), np.array([*b], SAMPLE))


def test_samples_go_to_the_tally_of_their_metric() -> None:
    tally = PairTally([MetricName("x"), MetricName("y")], None, is_clustered=False)
    only = [sample(group=0), sample(group=1), sample(group=1)]
    tally.add(
        joined(pair(metric=1), pair(metric=0), pair(metric=1), a=only, b=only[1:2]), [1, 0], [0, 1]
    )
    assert [(one.matched, one.only_a, one.only_b) for one in tally.metrics] == [
        (1, 2, 0),
        (2, 1, 1),
    ]


def test_drift_of_one_sample_under_several_metrics_counts_once() -> None:
    tally = PairTally([MetricName("x"), MetricName("y")], None, is_clustered=False)
    drift, both = PairFlag.OTHER_INPUT, PairFlag.OTHER_INPUT | PairFlag.OTHER_REFERENCE
    pairs = [
        pair(metric=0, flags=drift, ordinal=1, line_a=9),
        pair(metric=1, flags=drift, ordinal=1, line_a=9),
        pair(metric=0, flags=both, ordinal=2, line_a=4),
        pair(metric=0, ordinal=3, line_a=1),
    ]
    for _ in range(2):
        tally.add(joined(*pairs), [], [])
    assert tally.drifted == 4
    assert [(one.line_a, one.kind) for one in tally.drifts] == [
        (4, DriftKind.RELABELLED),
        (4, DriftKind.RELABELLED),
        (9, DriftKind.DRIFT),
        (9, DriftKind.DRIFT),
    ]


def test_the_first_drifts_by_line_and_the_first_pairs_are_kept() -> None:
    tally = PairTally([MetricName("x")], None, is_clustered=False)
    for start in (500, 0):
        pairs = [
            pair(flags=PairFlag.OTHER_INPUT, ordinal=n, line_a=start + n, sample_a=start + n)
            for n in range(40)
        ]
        tally.add(joined(*pairs), [], [])
    assert [one.line_a for one in tally.drifts] == [*range(MOST_DRIFTS)]
    assert [one.sample_a for one in tally.first] == [*range(500, 540), *range(MOST_FIRST - 40)]


def test_the_first_lines_keep_those_that_share_the_last_one() -> None:
    pairs = np.array([pair(line_a=line) for line in (5, 3, 9, 3, 4, 9)], PAIR)
    assert select_first_lines(pairs, 2)["line_a"].tolist() == [3, 3]
    assert select_first_lines(pairs, 3)["line_a"].tolist() == [3, 3, 4]
    assert select_first_lines(pairs, 5)["line_a"].tolist() == [5, 3, 9, 3, 4, 9]
    assert len(select_first_lines(pairs, 0)) == len(select_first_lines(pairs, 6)) == 6
    assert len(select_first_lines(pairs, 7)) == 6
    lines = random.Random(1).sample(range(3000), 3000)
    many = np.array([pair(line_a=line) for line in lines], PAIR)
    for most in (1, 2, 100, 900, 2999):
        assert sorted(select_first_lines(many, most)["line_a"]) == [*range(most)]


class Flips(FlipStore):
    """Notes the lines of flips, those of losses below 0."""

    def __init__(self, latest: int) -> None:
        super().__init__(0)
        self.latest, self.lines = latest, list[int]()

    def add(self, pairs: Iterable[SamplePair], *, is_loss: bool) -> None:
        self.lines += [-one.line_a if is_loss else one.line_a for one in pairs]


def test_scored_flips_up_to_the_latest_line_are_kept() -> None:
    flips = Flips(latest=8)
    judged = {"flags": flags(RIGHT, WRONG)}
    pairs = [
        pair(1.0, 0.0, line_a=9, **judged),
        pair(1.0, 0.0, line_a=8, **judged),
        pair(0.0, 1.0, line_a=7, **judged),
        pair(1.0, 1.0, line_a=6, **judged),
        pair(0.5, NAN, line_a=5, **judged),
        pair(0.5, 0.5, line_a=4, **judged),
    ]
    PairTally([MetricName("x")], flips, is_clustered=False).add(joined(*pairs), [], [])
    assert flips.lines == [-8, -4, 7]
