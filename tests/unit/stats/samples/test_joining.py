"""The join of two runs: which samples meet, and what is said of the pairs."""

from typing import Any

import numpy as np
import pytest
from depth import deep
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sample_reference import ROWS, array_of, meeting, random_rows, samples_of, scores_of, store_of

from evalstream.model.sample_record import (
    B_SHIFT,
    PairFlag,
    SampleFlag,
    SamplePair,
    SampleRow,
    SampleScore,
)
from evalstream.stats.samples.joining import Joined, join, join_runs

Array = NDArray[Any]

GROUPS = st.lists(st.integers(-1, 3), min_size=4, max_size=4)


def sample(**values: float) -> SampleScore:
    usual = dict.fromkeys(SampleScore._fields, 0)
    return SampleScore(**{**usual, "high": 1, "score": 1.0, "scored": 1, **values})  # type: ignore[arg-type]


def pair_of(a: SampleScore, b: SampleScore) -> SamplePair:
    (pair,) = pairs_of(join(array_of(a), array_of(b), [0], [0]).pairs)
    return pair


def pairs_of(pairs: Array) -> list[SamplePair]:
    return [SamplePair._make(one) for one in pairs.tolist()]


@given(ROWS, ROWS, GROUPS, GROUPS)
def test_samples_meet_as_in_dictionaries(
    rows_a: list[SampleRow], rows_b: list[SampleRow], groups_a: list[int], groups_b: list[int]
) -> None:
    a, b = samples_of(rows_a), samples_of(rows_b)
    found = join(a, b, groups_a, groups_b)
    of_a, of_b = scores_of(a), scores_of(b)
    expected = meeting(of_a, of_b, groups_a, groups_b)
    assert found.only_a.tobytes() == a[sorted(expected.only_a)].tobytes()
    assert found.only_b.tobytes() == b[sorted(expected.only_b)].tobytes()
    places = {(one.line, one.offset, one.sample, one.group): at for at, one in enumerate(of_a)}
    ordinals = {key: at for at, key in enumerate(dict.fromkeys(one[:3] for one in of_a))}
    pairs = pairs_of(found.pairs)
    assert len(pairs) == len(expected.pairs)
    for pair, (one, other) in zip(pairs, sorted(expected.pairs), strict=True):
        first, second = of_a[one], of_b[other]
        assert places[pair.line_a, pair.offset_a, pair.sample_a, first.group] == one
        assert pair.metric == groups_a[first.group] == groups_b[second.group]
        assert pair.ordinal == ordinals[first[:3]]
        assert (pair.line_b, pair.offset_b, pair.sample_b) == (*second[4:6], second.sample)
        # NaN equals itself as text.
        assert repr(pair[2:8]) == repr(
            (
                first.score, second.score, first.scored, second.scored, first.spread,
                second.spread,
            )
        )  # fmt: skip


@pytest.mark.parametrize(
    ("identities", "ids", "groups"),
    [(1, 1, 3000), (2, 3000, 2), deep(4000, 1, 3), deep(9000, 9000, 1)],
)
def test_many_samples_meet_as_in_dictionaries(identities: int, ids: int, groups: int) -> None:
    stores = [store_of(random_rows(seed, 9000, identities, ids, groups)) for seed in (1, 2)]
    sides = [np.concatenate(list(store.samples())) for store in stores]
    numbers = [number % 40 - 1 for number in range(groups)], list(range(groups))
    found = list(join_runs(*stores, *numbers))
    expected = meeting(*map(scores_of, sides), *numbers)
    for name in Joined._fields:
        assert sum(len(getattr(one, name)) for one in found) == len(getattr(expected, name))


def test_a_run_meets_itself_whatever_its_ids() -> None:
    a = samples_of([SampleRow(n, 1, n, 0, n, n, 1.0, 0, 0, 0, 0, 0) for n in range(9)])
    b = array_of(*(one._replace(sample=99 + one.high) for one in scores_of(a)))
    assert list(map(len, join(a, b, [0], [0]))) == [9, 0, 0]


def test_an_ambiguous_identity_needs_equal_ids_on_both_sides() -> None:
    one = sample(sample=1)
    several = [sample(sample=n, flags=SampleFlag.AMBIGUOUS) for n in (1, 2)]
    found = join(array_of(one), array_of(*several), [0], [0])
    assert [pair.sample_b for pair in pairs_of(found.pairs)] == [1]
    assert scores_of(found.only_b) == several[1:]
    found = join(array_of(one._replace(sample=3)), array_of(*several), [0], [0])
    assert (pairs_of(found.pairs), scores_of(found.only_b)) == ([], several)


def test_a_metric_of_several_groups_is_not_paired() -> None:
    several = [sample(group=group) for group in (0, 1, 2)]
    found = join(array_of(*several), array_of(*several), [0, 0, 1], [0, 2, 1])
    assert [pair.metric for pair in pairs_of(found.pairs)] == [1]
    assert scores_of(found.only_a) == scores_of(found.only_b) == several[:2]


def test_groups_that_are_not_compared_take_part_in_nothing() -> None:
    a = array_of(sample())
    assert list(map(len, join(a, a, [-1], [0]))) == [0, 0, 1]
    assert list(map(len, join(a, a, [-1], [-1]))) == [0, 0, 0]


def test_differences_need_both_sides_to_be_known() -> None:
    one = sample(question=1, input=1, prompt=1, cluster=1)
    assert pair_of(one, one).flags == 0
    assert pair_of(one, sample(prompt=1)).flags == PairFlag.OTHER_CLUSTER
    assert pair_of(one, one._replace(prompt=2)).flags == PairFlag.OTHER_PROMPT
    assert pair_of(one, one._replace(prompt=0)).flags == PairFlag.ONE_PROMPT
    assert not pair_of(*[one._replace(prompt=0)] * 2).flags
    both = PairFlag.OTHER_INPUT | PairFlag.OTHER_REFERENCE
    assert pair_of(one, one._replace(input=2)).flags == both
    assert pair_of(one, one._replace(input=2, question=2)).flags == PairFlag.OTHER_INPUT
    unknown = one._replace(question=0)
    assert pair_of(unknown, unknown._replace(input=2)).flags == PairFlag.OTHER_INPUT


def test_flags_of_both_sides_are_kept() -> None:
    pair = pair_of(sample(flags=SampleFlag.RIGHT), sample(flags=SampleFlag.FAILED))
    assert pair.flags == SampleFlag.RIGHT | SampleFlag.FAILED << B_SHIFT


def test_the_cluster_is_the_one_that_both_runs_have() -> None:
    assert pair_of(sample(cluster=1), sample(cluster=1)).cluster == 1
    for a, b in ((1, 2), (0, 2), (2, 0), (0, 0)):
        assert pair_of(sample(cluster=a), sample(cluster=b)).cluster == 0


def test_every_group_needs_a_number() -> None:
    for group in (1, 2**64 - 1):
        a, b = array_of(sample()), array_of(sample(group=group))
        for sides in ((a, b), (b, a)):
            with pytest.raises(ValueError, match="group"):
                join(*sides, [0], [0])


def test_nothing_is_joined() -> None:
    assert list(map(len, join(array_of(), array_of(), [], []))) == [0, 0, 0]
