"""The samples of a run: as dictionaries have them, whatever the memory, the order and the cut."""

import math
import random
from collections.abc import Sequence
from contextlib import closing

import pytest
from depth import deep
from hypothesis import given
from hypothesis import strategies as st
from sample_reference import NAN, ROWS, Key, cut, random_rows, reduced, scores_of

from evalstream.model.sample_record import (
    ROW_BYTES,
    SampleFlag,
    SampleRow,
    SampleScore,
    sample_rows,
)
from evalstream.stats.samples.sample_store import MOST_GROUPS, SampleStore

LIMITS = st.sampled_from([1, 500, 3000, 1 << 20])
PLACES = st.lists(st.integers(1, 9), max_size=3)


def row(**values: float) -> SampleRow:
    usual = {
        "high": 1, "low": 1, "sample": 1, "group": 0, "line": 1, "offset": 0, "score": 1.0,
        "flags": 0, "question": 0, "input": 0, "prompt": 0, "cluster": 0,
    }  # fmt: skip
    return SampleRow(**{**usual, **values})  # type: ignore[arg-type]


def stored(
    rows: bytes, limit: int = 1 << 20, places: Sequence[int] = ()
) -> tuple[list[SampleScore], int, int]:
    """Return the samples of rows, their number, and the number of rows without an identity."""
    with closing(SampleStore(limit)) as store:
        for chunk in cut(rows, ROW_BYTES, places):
            store.add(chunk)
        store.finish()
        samples = [one for some in store.samples() for one in scores_of(some)]
        assert repr([one for some in store.samples() for one in scores_of(some)]) == repr(samples)
        return samples, store.sample_count, store.without_identity


def reduced_samples(*rows: SampleRow) -> list[SampleScore]:
    return stored(b"".join(one.pack() for one in rows))[0]


@given(ROWS, LIMITS, PLACES)
def test_samples_are_those_of_dictionaries(
    rows: list[SampleRow], limit: int, places: list[int]
) -> None:
    data = b"".join(one.pack() for one in rows)
    samples, count, without = stored(data, limit, places)
    expected = reduced(rows)
    found: dict[Key, SampleScore] = {one[:4]: one for one in samples}
    assert list(found) == list(expected)
    for key, sample in found.items():
        one = expected[key]
        assert sample[4:6] == one.first[4:6]
        assert sample[8:12] == one.first[8:12]
        assert SampleFlag(sample.flags) == one.flags
        assert (sample.rows, sample.scored, sample.failed) == (one.rows, one.scored, one.failed)
        if one.mean is None:
            assert math.isnan(sample.score)
        else:
            assert sample.score == pytest.approx(float(one.mean), rel=1e-12)
        # The square of 1e300 is infinite.
        if one.spread < 10**300:
            assert sample.spread == pytest.approx(float(one.spread), rel=1e-9, abs=1e-30)
    assert without == sum(not one.high and not one.low for one in rows)
    assert count == len({key[:3] for key in expected})


@given(ROWS, st.randoms(use_true_random=False), LIMITS)
def test_shuffled_rows_give_the_same_scores(
    rows: list[SampleRow], numbers: random.Random, limit: int
) -> None:
    lines = [(one.line, one.offset) for one in rows]
    numbers.shuffle(lines)
    shuffled = [
        one._replace(line=line, offset=offset)
        for one, (line, offset) in zip(rows, lines, strict=True)
    ]
    numbers.shuffle(shuffled)
    before, after = (
        [
            (one[:4], repr(one[6:8]), one[12:14], repr(one[14:]))
            for one in stored(b"".join(one.pack() for one in some), limit)[0]
        ]
        for some in (rows, shuffled)
    )
    assert before == after


@pytest.mark.parametrize(
    ("identities", "ids", "groups"),
    [(1, 1, 5000), (3, 2000, 2), deep(1, 1, 1), deep(9000, 9000, 3)],
)
def test_many_samples_are_those_of_dictionaries(identities: int, ids: int, groups: int) -> None:
    rows = random_rows(7, 8_000, identities, ids, groups)
    found = {one[:4]: one for one in stored(rows, 1 << 18, [2730])[0]}
    expected = reduced(sample_rows(rows))
    assert list(found) == list(expected)
    for key, one in expected.items():
        assert (found[key].rows, found[key].flags) == (one.rows, one.flags)


def test_the_first_row_by_line_names_the_sample() -> None:
    (sample,) = reduced_samples(
        row(line=9, offset=90, score=0.0, cluster=8), row(line=2, offset=20, cluster=8)
    )
    assert (sample.line, sample.offset, sample.cluster) == (2, 20, 8)
    assert (sample.score, sample.spread, sample.rows) == (0.5, 0.5, 2)
    for other in (7, 0):
        repeat = row(offset=90, score=0.0, cluster=other)
        (sample,) = reduced_samples(repeat, row(offset=20, cluster=8))
        assert (sample.offset, sample.cluster) == (20, 0)


def test_rows_without_scores_are_counted() -> None:
    (sample,) = reduced_samples(row(score=NAN), row(line=2, score=0.25, flags=SampleFlag.FAILED))
    assert (sample.score, sample.rows, sample.scored, sample.failed) == (0.25, 2, 1, 1)
    (sample,) = reduced_samples(row(score=NAN))
    assert math.isnan(sample.score)
    assert sample.scored == 0


def test_scores_that_are_too_large_have_no_finite_mean() -> None:
    scores = 1e308, -1e308, math.inf
    (sample,) = reduced_samples(*(row(line=at, score=one) for at, one in enumerate(scores)))
    assert math.isnan(sample.score) or math.isinf(sample.score)


def test_an_identity_of_several_ids_is_ambiguous_in_all_groups() -> None:
    samples = reduced_samples(
        row(group=0),
        row(group=1, line=2),
        row(sample=2, group=0, line=3),
        row(low=2, line=4),
        row(low=3, sample=3, line=5),
    )
    assert [bool(one.flags & SampleFlag.AMBIGUOUS) for one in samples] == [True] * 3 + [False] * 2


def test_no_rows_have_no_samples() -> None:
    assert reduced_samples() == []
    assert reduced_samples(row(high=0, low=0)) == []


def test_a_group_number_out_of_bounds_is_an_error() -> None:
    for group in (MOST_GROUPS, 2**64 - 1):
        with closing(SampleStore()) as store, pytest.raises(ValueError, match="group"):
            store.add(row(group=group).pack())


def test_lines_and_groups_are_those_of_the_run() -> None:
    with closing(SampleStore()) as store:
        store.add(row(line=1).pack() + row(line=2, group=1).pack(), 100, [5, 3])
        store.add(row(line=1, group=1).pack(), 200, [3, 5])
        store.add(b"", 300, [])
        store.finish()
        found = [one for some in store.samples() for one in scores_of(some)]
    assert [(one.group, one.line, one.rows) for one in found] == [(3, 102, 1), (5, 101, 2)]


def test_each_group_of_a_block_needs_a_number() -> None:
    with closing(SampleStore()) as store, pytest.raises(ValueError, match="group"):
        store.add(row(group=1).pack(), 0, [0])


def test_a_part_of_a_row_is_an_error() -> None:
    with closing(SampleStore()) as store, pytest.raises(ValueError, match="rows"):
        store.add(row().pack()[:-1])
