"""The join of two runs: which samples meet, and what is said of the pairs."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_reference import ROWS, cut, meeting, random_rows, without_library

from evalstream.model.sample_record import (
    B_SHIFT,
    SAMPLE_BYTES,
    PairFlag,
    SampleFlag,
    SamplePair,
    SampleRow,
    SampleScore,
    sample_pairs,
    sample_scores,
)
from evalstream.stats.samples.joining import MOST_METRICS, Joined, join
from evalstream.stats.samples.spill import SampleSpill

GROUPS = st.lists(st.integers(-1, 3), min_size=4, max_size=4)
PLACES = st.lists(st.integers(1, 5), max_size=3)


def samples_of(rows: bytes) -> bytes:
    with SampleSpill() as spill:
        spill.add(rows)
        spill.finish()
        return b"".join(spill.samples())


def joined(
    a: bytes,
    b: bytes,
    groups: tuple[Sequence[int], Sequence[int]],
    places: tuple[Sequence[int], Sequence[int]] = ((), ()),
) -> Joined:
    """Join, by both ways."""

    def once() -> Joined:
        sides = (cut(side, SAMPLE_BYTES, cuts) for side, cuts in zip((a, b), places, strict=True))
        parts = list(join(*sides, *groups))
        return (
            Joined(*(b"".join(chunks) for chunks in zip(*parts, strict=True)))
            if parts
            else (Joined(b"", b"", b""))
        )

    compiled = once()
    with without_library():
        assert once() == compiled
    return compiled


def sample(**values: float) -> SampleScore:
    usual = dict.fromkeys(SampleScore._fields, 0)
    return SampleScore(**{**usual, "high": 1, "score": 1.0, "scored": 1, **values})  # type: ignore[arg-type]


def pair_of(a: SampleScore, b: SampleScore) -> SamplePair:
    (pair,) = sample_pairs(joined(a.pack(), b.pack(), ([0], [0])).pairs)
    return pair


@given(ROWS, ROWS, GROUPS, GROUPS, PLACES, PLACES)
def test_samples_meet_as_in_dictionaries(
    rows_a: list[SampleRow],
    rows_b: list[SampleRow],
    groups_a: list[int],
    groups_b: list[int],
    places_a: list[int],
    places_b: list[int],
) -> None:
    a, b = (samples_of(b"".join(row.pack() for row in rows)) for rows in (rows_a, rows_b))
    found = joined(a, b, (groups_a, groups_b), (places_a, places_b))
    of_a, of_b = list(sample_scores(a)), list(sample_scores(b))
    expected = meeting(of_a, of_b, groups_a, groups_b)
    assert found.only_a == b"".join(of_a[place].pack() for place in sorted(expected.only_a))
    assert found.only_b == b"".join(of_b[place].pack() for place in sorted(expected.only_b))
    places = {(one.line, one.offset, one.sample, one.group): at for at, one in enumerate(of_a)}
    ordinals = {key: at for at, key in enumerate(dict.fromkeys(one[:3] for one in of_a))}
    pairs = list(sample_pairs(found.pairs))
    assert len(pairs) == len(expected.pairs)
    for pair, (one, other) in zip(pairs, sorted(expected.pairs), strict=True):
        first, second = of_a[one], of_b[other]
        assert places[pair.line_a, pair.offset_a, pair.sample_a, first.group] == one
        assert pair.metric == groups_a[first.group] == groups_b[second.group]
        assert pair.ordinal == ordinals[first[:3]]
        assert (pair.line_b, pair.offset_b, pair.sample_b) == (*second[4:6], second.sample)
        assert pair.pack()[16:64] == b"".join(
            side.pack()[part]
            for part in (slice(48, 56), slice(104, 112), slice(112, 120))
            for side in (first, second)
        )


@pytest.mark.parametrize(
    ("identities", "ids", "groups"), [(1, 1, 3000), (2, 3000, 2), (4000, 1, 3), (9000, 9000, 1)]
)
def test_both_ways_agree_to_the_bit(identities: int, ids: int, groups: int) -> None:
    sides = [samples_of(random_rows(seed, 9000, identities, ids, groups)) for seed in (1, 2)]
    numbers = [number % 40 - 1 for number in range(groups)], list(range(groups))
    found = joined(*sides, numbers, ([700], [311]))
    expected = meeting(*(list(sample_scores(side)) for side in sides), *numbers)
    assert len(list(sample_pairs(found.pairs))) == len(expected.pairs)
    assert len(found.only_a) // SAMPLE_BYTES == len(expected.only_a)
    assert len(found.only_b) // SAMPLE_BYTES == len(expected.only_b)


def test_a_run_meets_itself_whatever_its_ids() -> None:
    a = samples_of(
        b"".join(SampleRow(n, 1, n, 0, n, n, 1.0, 0, 0, 0, 0, 0).pack() for n in range(9))
    )
    b = b"".join(one._replace(sample=99 + one.low).pack() for one in sample_scores(a))
    found = joined(a, b, ([0], [0]))
    assert (len(list(sample_pairs(found.pairs))), found.only_a, found.only_b) == (9, b"", b"")


def test_an_ambiguous_identity_needs_equal_ids_on_both_sides() -> None:
    one = sample(sample=1)
    several = [sample(sample=n, flags=SampleFlag.AMBIGUOUS) for n in (1, 2)]
    packed = b"".join(item.pack() for item in several)
    found = joined(one.pack(), packed, ([0], [0]))
    assert [pair.sample_b for pair in sample_pairs(found.pairs)] == [1]
    assert found.only_b == several[1].pack()
    found = joined(one._replace(sample=3).pack(), packed, ([0], [0]))
    assert (found.pairs, found.only_b) == (b"", packed)


def test_a_metric_of_several_groups_is_not_paired() -> None:
    a = b"".join(sample(group=group).pack() for group in (0, 1, 2))
    found = joined(a, a, ([0, 0, 1], [0, 2, 1]))
    assert [pair.metric for pair in sample_pairs(found.pairs)] == [1]
    assert found.only_a == a[: 2 * SAMPLE_BYTES]
    assert found.only_b == a[: 2 * SAMPLE_BYTES]


def test_groups_that_are_not_compared_take_part_in_nothing() -> None:
    a = sample().pack()
    assert joined(a, a, ([-1], [0])) == Joined(b"", b"", a)
    assert joined(a, a, ([-1], [-1])) == Joined(b"", b"", b"")


def test_differences_need_both_sides_to_be_known() -> None:
    one = sample(question=1, input=1, prompt=1, cluster=1)
    assert pair_of(one, one).flags == 0
    assert pair_of(one, sample()).flags == PairFlag.OTHER_CLUSTER
    assert pair_of(one, one._replace(prompt=2)).flags == PairFlag.OTHER_PROMPT
    both = PairFlag.OTHER_INPUT | PairFlag.OTHER_REFERENCE
    assert pair_of(one, one._replace(input=2)).flags == both
    assert pair_of(one, one._replace(input=2, question=2)).flags == PairFlag.OTHER_INPUT
    unknown = one._replace(question=0)
    assert pair_of(unknown, unknown._replace(input=2)).flags == PairFlag.OTHER_INPUT


def test_flags_of_both_sides_are_kept() -> None:
    pair = pair_of(sample(flags=SampleFlag.RIGHT), sample(flags=SampleFlag.FAILED))
    assert pair.flags == SampleFlag.RIGHT | SampleFlag.FAILED << B_SHIFT


def test_the_cluster_is_that_of_the_first_run_if_it_has_one() -> None:
    assert pair_of(sample(cluster=1), sample(cluster=2)).cluster == 1
    assert pair_of(sample(), sample(cluster=2)).cluster == 2


def test_every_group_needs_a_number() -> None:
    for group in (1, 2**64 - 1):
        a, b = sample().pack(), sample(group=group).pack()
        for sides in ((a, b), (b, a)):
            with pytest.raises(ValueError, match="group"):
                list(join(*([side] for side in sides), [0], [0]))
            with without_library(), pytest.raises(ValueError, match="group"):
                list(join(*([side] for side in sides), [0], [0]))


def test_a_metric_number_out_of_bounds_is_an_error() -> None:
    with pytest.raises(ValueError, match="metric"):
        join([], [], [MOST_METRICS], [])


def test_nothing_is_joined() -> None:
    assert joined(b"", b"", ([], [])) == Joined(b"", b"", b"")
