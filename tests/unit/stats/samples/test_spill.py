"""The samples of a run: as dictionaries have them, whatever the memory, the order and the cut."""

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_reference import NAN, ROWS, Key, counted, cut, random_rows, reduced, without_library

from evalstream.model.sample_record import (
    ROW_BYTES,
    SampleFlag,
    SampleRow,
    SampleScore,
    sample_rows,
    sample_scores,
)
from evalstream.stats.samples.spill import MOST_GROUPS, SampleCounts, SampleSpill

LIMITS = st.sampled_from([1, 500, 3000, 1 << 20])
PLACES = st.lists(st.integers(1, 9), max_size=3)


def row(**values: float) -> SampleRow:
    usual = {
        "high": 1, "low": 1, "sample": 1, "group": 0, "line": 1, "offset": 0, "score": 1.0,
        "flags": 0, "question": 0, "input": 0, "prompt": 0, "cluster": 0,
    }  # fmt: skip
    return SampleRow(**{**usual, **values})  # type: ignore[arg-type]


def spilled(
    rows: bytes, limit: int = 1 << 20, places: Sequence[int] = ()
) -> tuple[bytes, SampleCounts, int]:
    with SampleSpill(limit) as spill:
        for chunk in cut(rows, ROW_BYTES, places):
            spill.add(chunk)
        spill.finish()
        data = b"".join(spill.samples())
        counts = spill.counts()
        assert b"".join(spill.samples()) == data
        assert spill.counts() == counts
        return data, counts, spill.without_identity


def samples_of(*rows: SampleRow) -> list[SampleScore]:
    data = b"".join(one.pack() for one in rows)
    compiled = spilled(data)
    with without_library():
        assert spilled(data) == compiled
    return list(sample_scores(compiled[0]))


@given(ROWS, LIMITS, PLACES)
def test_samples_are_those_of_dictionaries(
    rows: list[SampleRow], limit: int, places: list[int]
) -> None:
    data = b"".join(one.pack() for one in rows)
    packed, counts, without = spilled(data, limit, places)
    with without_library():
        assert spilled(data, limit, places) == (packed, counts, without)
    expected = reduced(rows)
    found: dict[Key, SampleScore] = {one[:4]: one for one in sample_scores(packed)}
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
    assert counts.rows == len(rows) - without
    assert counts.samples == len({key[:3] for key in expected})
    repeated = counted(key for key, one in expected.items() if one.rows > 1)
    for group, (of_rows, of_samples, of_repeated) in enumerate(counts.groups):
        assert of_samples == counted(expected)[group]
        assert of_rows == sum(one.rows for key, one in expected.items() if key[3] == group)
        assert of_repeated == repeated[group]


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
            (one[:4], one.pack()[48:64], one[12:14], one.pack()[112:])
            for one in sample_scores(spilled(b"".join(one.pack() for one in some), limit)[0])
        ]
        for some in (rows, shuffled)
    )
    assert before == after


@pytest.mark.parametrize(
    ("identities", "ids", "groups"), [(1, 1, 1), (1, 1, 5000), (3, 2000, 2), (9000, 9000, 3)]
)
def test_both_ways_agree_to_the_bit(identities: int, ids: int, groups: int) -> None:
    rows = random_rows(7, 20_000, identities, ids, groups)
    compiled = spilled(rows, 1 << 19, [2730])
    with without_library():
        assert spilled(rows, 1 << 18, [999]) == compiled
    expected = reduced(sample_rows(rows))
    found = {one[:4]: one for one in sample_scores(compiled[0])}
    assert list(found) == list(expected)
    for key, one in expected.items():
        assert (found[key].rows, found[key].flags) == (one.rows, one.flags)


def test_the_first_row_by_line_names_the_sample() -> None:
    (sample,) = samples_of(
        row(line=9, offset=90, score=0.0, cluster=7), row(line=2, offset=20, cluster=8)
    )
    assert (sample.line, sample.offset, sample.cluster) == (2, 20, 8)
    assert (sample.score, sample.spread, sample.rows) == (0.5, 0.5, 2)
    (sample,) = samples_of(row(offset=90, score=0.0, cluster=7), row(offset=20, cluster=8))
    assert (sample.offset, sample.cluster) == (20, 8)


def test_unknown_prompts_do_not_differ() -> None:
    unknown, one, other = row(line=1), row(line=2, prompt=5), row(line=3, prompt=6)
    assert not samples_of(unknown, one)[0].flags & SampleFlag.SEVERAL_PROMPTS
    assert samples_of(unknown, one, other)[0].flags & SampleFlag.SEVERAL_PROMPTS


def test_rows_without_scores_are_counted() -> None:
    (sample,) = samples_of(row(score=NAN), row(line=2, score=0.25, flags=SampleFlag.FAILED))
    assert (sample.score, sample.rows, sample.scored, sample.failed) == (0.25, 2, 1, 1)
    (sample,) = samples_of(row(score=NAN))
    assert math.isnan(sample.score)
    assert sample.scored == 0


def test_scores_that_are_too_large_do_not_differ_by_engine() -> None:
    (sample,) = samples_of(row(score=1e308), row(line=2, score=-1e308), row(line=3, score=math.inf))
    assert math.isnan(sample.score) or math.isinf(sample.score)


def test_an_identity_of_several_ids_is_ambiguous_in_all_groups() -> None:
    samples = samples_of(
        row(group=0),
        row(group=1, line=2),
        row(sample=2, group=0, line=3),
        row(low=2, line=4),
        row(low=3, sample=3, line=5),
    )
    assert [bool(one.flags & SampleFlag.AMBIGUOUS) for one in samples] == [True] * 3 + [False] * 2


def test_no_rows_have_no_samples() -> None:
    assert samples_of() == []
    assert samples_of(row(high=0, low=0)) == []


def test_counts_read_the_samples_themselves() -> None:
    with SampleSpill() as spill:
        spill.add(row().pack() + row(line=2).pack())
        spill.finish()
        assert spill.counts() == SampleCounts(2, 1, ((2, 1, 1),))


def test_a_group_number_out_of_bounds_is_an_error() -> None:
    for group in (MOST_GROUPS, 2**64 - 1):
        with SampleSpill() as spill, pytest.raises(ValueError, match="group"):
            spill.add(row(group=group).pack())
        with without_library(), SampleSpill() as spill, pytest.raises(ValueError, match="group"):
            spill.add(row(group=group).pack())


def test_lines_and_groups_are_those_of_the_run() -> None:
    def once() -> list[SampleScore]:
        with SampleSpill() as spill:
            spill.add(row(line=1).pack() + row(line=2, group=1).pack(), 100, [5, 3])
            spill.add(row(line=1, group=1).pack(), 200, [3, 5])
            spill.add(b"", 300, [])
            spill.finish()
            return list(sample_scores(b"".join(spill.samples())))

    found = once()
    with without_library():
        assert once() == found
    assert [(one.group, one.line, one.rows) for one in found] == [(3, 102, 1), (5, 101, 2)]


def test_each_group_of_a_block_needs_a_number() -> None:
    with SampleSpill() as spill, pytest.raises(ValueError, match="group"):
        spill.add(row(group=1).pack(), 0, [0])
    with without_library(), SampleSpill() as spill, pytest.raises(ValueError, match="group"):
        spill.add(row(group=1).pack(), 0, [0])


def test_a_part_of_a_row_is_an_error() -> None:
    with SampleSpill() as spill, pytest.raises(ValueError, match="rows"):
        spill.add(row().pack()[:-1])
