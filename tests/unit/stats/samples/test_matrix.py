"""What each two of many runs share: as the join of the two says, and as sets say."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st
from sample_reference import scores_of, store_of

from evalstream.model.sample_record import SampleRow, SampleScore
from evalstream.stats.samples.joining import join_runs
from evalstream.stats.samples.matrix import pairwise
from evalstream.stats.samples.sample_store import SampleStore

INPUTS = st.integers(0, 5)
RUNS = st.lists(
    st.lists(st.tuples(INPUTS, st.integers(0, 3), st.integers(0, 1)), max_size=8),
    min_size=1,
    max_size=4,
)
"""Runs of (input, sample id, group); each two inputs are of one question, and 0 is unknown."""


def store(rows: Sequence[tuple[int, int, int]]) -> SampleStore:
    return store_of(
        SampleRow(1, number, sample, group, line, 0, 1.0, 0, number // 2, number, 0, 0)
        for line, (number, sample, group) in enumerate(rows, 1)
    )


def samples(run: SampleStore) -> list[SampleScore]:
    return [one for some in run.samples() for one in scores_of(some)]


@given(RUNS, st.sampled_from([1, 1 << 20]))
def test_each_two_runs_meet_as_their_join_says(
    rows: list[list[tuple[int, int, int]]], limit: int
) -> None:
    # All groups of a sample count as one.
    runs = [store([(number, sample, 0) for number, sample, _ in run]) for run in rows]
    both = [store(run) for run in rows]
    found = pairwise(both, limit)
    assert found == pairwise(runs, limit)
    assert list(found.samples) == [len(samples(run)) for run in runs]
    for row, column in combinations(range(len(runs)), 2):
        joined = join_runs(runs[row], runs[column], [0], [0])
        assert found.matched[row][column] == sum(len(one.pairs) for one in joined)
    for square in (found.matched, found.drifted, found.relabelled):
        assert all(square[at][at] == 0 for at in range(len(runs)))
        assert square == [list(column) for column in zip(*square, strict=True)]


@given(RUNS)
def test_drift_is_that_of_sets(rows: list[list[tuple[int, int, int]]]) -> None:
    runs = [store(run) for run in rows]
    found = pairwise(runs)
    for row, column in combinations(range(len(runs)), 2):
        met = meeting_samples(runs[row], runs[column])
        sides = []
        for only in (runs[row], runs[column]):
            inputs: dict[int, set[int]] = defaultdict(set)
            for sample in samples(only):
                if sample.sample and sample.input and (sample[:3], only is runs[row]) not in met:
                    inputs[sample.sample].add(sample.input)
            sides.append(inputs)
        drifted = relabelled = 0
        for sample in sides[0].keys() & sides[1].keys():
            a, b = sides[0][sample], sides[1][sample]
            if a & b:
                continue
            is_relabelled = bool({one // 2 for one in a} & {one // 2 for one in b} - {0})
            relabelled += is_relabelled
            drifted += not is_relabelled
        assert (found.drifted[row][column], found.relabelled[row][column]) == (drifted, relabelled)


def meeting_samples(a: SampleStore, b: SampleStore) -> set[tuple[tuple[int, ...], bool]]:
    """Return the samples of both runs that meet, and whether they are of the first."""
    ids: tuple[dict[tuple[int, ...], set[int]], ...] = defaultdict(set), defaultdict(set)
    for side, data in zip(ids, (a, b), strict=True):
        for sample in samples(data):
            side[sample[:2]].add(sample.sample)
    met = set()
    for identity in ids[0].keys() & ids[1].keys():
        of_a, of_b = ids[0][identity], ids[1][identity]
        if len(of_a) > 1 or len(of_b) > 1:
            of_a = of_b = of_a & of_b
        met |= {((*identity, sample), True) for sample in of_a}
        met |= {((*identity, sample), False) for sample in of_b}
    return met


def test_a_run_shares_all_samples_with_its_copy() -> None:
    run = store([(number, number, 0) for number in range(1, 6)])
    found = pairwise([run, run, run])
    assert found.overlap(0, 1) == found.overlap(2, 1) == 1
    assert found.drifted == found.relabelled == [[0] * 3] * 3


def test_runs_without_samples_share_nothing() -> None:
    found = pairwise([store([]), store([(1, 1, 0)]), store([])])
    assert found.overlap(0, 1) == found.overlap(0, 2) == 0


def test_more_runs_than_bits_of_a_word() -> None:
    runs = [store([(2, 1, 0)] if run % 2 else [(4, 1, 0)]) for run in range(130)]
    found = pairwise(runs)
    assert found.drifted[0][129] == found.drifted[129][0] == found.matched[1][129] == 1
    assert found.drifted[0][128] == found.matched[0][129] == 0
