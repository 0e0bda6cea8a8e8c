"""Drift among samples without a partner: what is relabelled, what has drifted, and what is not."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from each import each
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sample_reference import ROWS, array_of, random_rows, samples_of, scores_of

from evalstream.model.sample_record import SampleRow, SampleScore
from evalstream.stats.samples.joining import DriftedPair, DriftFinder, DriftKind, Joined
from evalstream.stats.samples.sample_store import PAIR

Array = NDArray[Any]

GROUPS = st.lists(st.sampled_from([-1, 0, 1, 70]), min_size=4, max_size=4)


class Found(NamedTuple):
    pairs: list[DriftedPair]
    drifted: int
    relabelled: int
    by_metric: list[list[int]]


def found(
    a: Array,
    b: Array,
    groups: tuple[Sequence[int], Sequence[int]] = ([0], [0]),
    limit: int = 1 << 22,
    most: int = 10_000,
) -> Found:
    """Find drift among samples of which none meets."""
    finder = DriftFinder(*groups, most, limit)
    with closing(finder):
        finder.add(Joined(np.empty(0, PAIR), a, b))
        finder.finish()
        return Found(finder.first, finder.drifted, finder.relabelled, finder.by_metric)


class Alone(NamedTuple):
    """A sample without a partner, by its first record."""

    first: SampleScore
    metrics: set[int]

    def by_line(self) -> tuple[int, ...]:
        return self.first.line, self.first.offset


def alone(samples: Iterable[SampleScore], groups: Sequence[int]) -> list[Alone]:
    known: dict[tuple[int, ...], list[SampleScore]] = defaultdict(list)
    for sample in samples:
        known[sample[:3]].append(sample)
    return [
        Alone(
            min(same, key=lambda one: (one.line, one.offset)),
            {groups[one.group] for one in same} - {-1},
        )
        for same in known.values()
    ]


Key = Callable[[Alone], tuple[int, ...]]


def by_question_and_id(one: Alone) -> tuple[int, ...]:
    return one.first.question, one.first.sample


def by_question(one: Alone) -> tuple[int, ...]:
    return (one.first.question,)


def by_id(one: Alone) -> tuple[int, ...]:
    return (one.first.sample,)


def expected(a: list[Alone], b: list[Alone]) -> tuple[Counter[DriftedPair], list[list[int]]]:
    """Return what is found by lists and dictionaries."""
    pairs: Counter[DriftedPair] = Counter()
    by_metric = [[0, 0] for _ in range(71)]
    left_a, left_b = sorted(a, key=Alone.by_line), sorted(b, key=Alone.by_line)
    for key, kind in (
        (by_question_and_id, DriftKind.RELABELLED),
        (by_question, DriftKind.RELABELLED),
        (by_id, DriftKind.DRIFT),
    ):
        for value in {key(one) for one in left_a}:
            if not value[0]:
                continue
            of_a = [one for one in left_a if key(one) == value]
            of_b = [one for one in left_b if key(one) == value]
            for one, other in zip(of_a, of_b, strict=False):
                differs = 0 != one.first.input != other.first.input != 0
                if differs:
                    pairs[DriftedPair(
                        *one.first[4:6], *other.first[4:6], one.first.sample, other.first.sample,
                        kind,
                    )] += 1  # fmt: skip
                    for metric in one.metrics & other.metrics:
                        by_metric[metric][kind] += 1
                if differs or key is by_question_and_id:
                    left_a.remove(one)
                    left_b.remove(other)
    return pairs, by_metric


@given(ROWS, ROWS, GROUPS, GROUPS, st.sampled_from([1, 5000, 1 << 22]))
def test_drift_is_that_of_dictionaries(
    rows_a: list[SampleRow],
    rows_b: list[SampleRow],
    groups_a: list[int],
    groups_b: list[int],
    limit: int,
) -> None:
    a, b = samples_of(rows_a), samples_of(rows_b)
    result = found(a, b, (groups_a, groups_b), limit)
    pairs, by_metric = expected(alone(scores_of(a), groups_a), alone(scores_of(b), groups_b))
    assert Counter(result.pairs) == pairs
    assert [pair.line_a for pair in result.pairs] == sorted(pair.line_a for pair in result.pairs)
    kinds = Counter(pair.kind for pair in result.pairs)
    assert (result.drifted, result.relabelled) == (
        kinds[DriftKind.DRIFT],
        kinds[DriftKind.RELABELLED],
    )
    assert result.by_metric == by_metric[: len(result.by_metric)]
    assert not any(map(any, by_metric[len(result.by_metric) :]))


@each(("identities", "ids"), [(1, 3000), (2000, 3), (3000, 9000)])
def test_memory_changes_nothing(identities: int, ids: int) -> None:
    a, b = (samples_of(random_rows(seed, 5000, identities, ids, 3)) for seed in (1, 2))
    result = found(a, b, ([0, 1, 2], [0, 1, 2]), 1 << 17)
    assert result.drifted or result.relabelled
    assert found(a, b, ([0, 1, 2], [0, 1, 2])) == result


def test_the_first_pairs_by_line_are_kept() -> None:
    a, b = (samples_of(random_rows(seed, 5000, 3000, 9000, 1)) for seed in (1, 2))
    assert found(a, b, most=7).pairs == found(a, b).pairs[:7]


def alone_samples(*samples: dict[str, int]) -> Array:
    usual = {**dict.fromkeys(SampleScore._fields, 0), "line": 1, "rows": 1}
    return array_of(*(SampleScore(**{**usual, **one}) for one in samples))


def alone_sample(**values: int) -> Array:
    return alone_samples(values)


def test_another_reference_is_not_drift() -> None:
    a = alone_sample(high=1, sample=5, question=7, input=71)
    b = alone_sample(high=2, sample=5, question=7, input=72)
    result = found(a, b)
    assert (result.drifted, result.relabelled) == (0, 1)
    assert result.by_metric == [[0, 1]]


def test_the_same_sample_id_comes_before_the_line() -> None:
    a = alone_sample(high=1, sample=5, question=7, input=71)
    b = alone_samples(
        {"high": 2, "sample": 4, "question": 7, "input": 72},
        {"high": 3, "sample": 5, "question": 7, "input": 73, "line": 2},
    )
    assert [pair.sample_b for pair in found(a, b).pairs] == [5]


def test_a_relabelled_sample_is_not_drift_of_another() -> None:
    a = alone_sample(high=1, sample=5, question=7, input=71)
    b = alone_samples(
        {"high": 2, "sample": 4, "question": 7, "input": 72},
        {"high": 3, "sample": 5, "question": 8, "input": 81},
    )
    assert [(pair.sample_b, pair.kind) for pair in found(a, b).pairs] == [(4, DriftKind.RELABELLED)]


def test_unknown_inputs_are_not_drift() -> None:
    known = alone_sample(high=1, sample=5, question=7, input=71)
    for values in ({"sample": 5}, {"question": 7}, {"sample": 5, "question": 7}):
        assert found(known, alone_sample(high=2, **values)).pairs == []
    unnamed = alone_sample(high=1, input=71), alone_sample(high=2, input=72)
    assert found(*unnamed).pairs == []


def test_a_sample_of_many_metrics_is_counted_once() -> None:
    numbers = list(range(200))
    a, b = (
        alone_samples(
            *(
                {"high": high, "sample": 5, "question": high, "input": high, "group": group}
                for group in range(start, 200)
            )
        )
        for high, start in ((1, 0), (2, 150))
    )
    result = found(a, b, (numbers, numbers))
    assert result.drifted == len(result.pairs) == 1
    assert result.by_metric == [[0, 0]] * 150 + [[1, 0]] * 50
