"""Samples of compared runs by dictionaries and exact numbers, and rows to try them on."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from evalstream.model.sample_record import SampleFlag, SampleRow, SampleScore
from evalstream.stats.samples.sample_store import SAMPLE, SampleStore

Array = NDArray[Any]
NAN = float("nan")
FEW = st.sampled_from([0, 1, 2, 3, 2**64 - 1])
SCORES = st.sampled_from([0.0, 1.0, 0.5, 0.1, 0.7, -3.0, 1e300, 1e-9, NAN])
ROWS = st.lists(
    st.builds(
        SampleRow,
        high=st.sampled_from([0, 1, 2**63]),
        low=FEW,
        sample=FEW,
        group=st.integers(0, 3),
        line=st.integers(1, 2**40),
        offset=st.integers(0, 2**50),
        score=SCORES,
        flags=st.sampled_from([0, 1, 2, 4, 5, 6]),
        question=FEW,
        input=FEW,
        prompt=FEW,
        cluster=FEW,
    ),
    max_size=60,
    unique_by=lambda row: (row.line, row.offset),
)


def cut(data: bytes, size: int, places: Sequence[int]) -> Iterator[bytes]:
    """Cut records of `size` bytes into chunks of these lengths, over and over."""
    start = turn = 0
    while start < len(data):
        stop = start + size * max(1, places[turn % len(places)] if places else len(data))
        yield data[start:stop]
        start, turn = stop, turn + 1


def array_of(*samples: SampleScore) -> Array:
    """Return samples as an array."""
    return np.array([tuple(one) for one in samples], SAMPLE)


def scores_of(samples: Array) -> list[SampleScore]:
    """Return the samples of an array."""
    return [SampleScore._make(one) for one in samples.tolist()]


def samples_of(rows: Iterable[SampleRow] | bytes) -> Array:
    """Return the samples of rows, in their order."""
    with closing(store_of(rows)) as store:
        return np.concatenate([np.empty(0, SAMPLE), *store.samples()])


def store_of(rows: Iterable[SampleRow] | bytes) -> SampleStore:
    """Return the store of some rows."""
    store = SampleStore()
    store.add(rows if isinstance(rows, bytes) else b"".join(row.pack() for row in rows))
    store.finish()
    return store


class Reduced(NamedTuple):
    """A sample, but with an exact mean and spread; None without scores."""

    first: SampleRow
    flags: SampleFlag
    rows: int
    scored: int
    failed: int
    mean: Fraction | None
    spread: Fraction


Key = tuple[int, int, int, int]


def reduced(rows: Iterable[SampleRow]) -> dict[Key, Reduced]:
    """Return the samples of some rows."""
    groups: dict[Key, list[SampleRow]] = defaultdict(list)
    ids: dict[tuple[int, int], set[int]] = defaultdict(set)
    for row in rows:
        if row.high or row.low:
            groups[row[:4]].append(row)
            ids[row.high, row.low].add(row.sample)
    return {
        key: _reduced(same, is_ambiguous=len(ids[key[:2]]) > 1)
        for key, same in sorted(groups.items())
    }


def _reduced(rows: Sequence[SampleRow], *, is_ambiguous: bool) -> Reduced:
    flags = SampleFlag(0)
    for flag in (SampleFlag.RIGHT, SampleFlag.WRONG):
        if all(row.flags & flag for row in rows):
            flags |= flag
    failed = sum(1 for row in rows if row.flags & SampleFlag.FAILED)
    flags |= SampleFlag.FAILED if failed else SampleFlag(0)
    flags |= SampleFlag.AMBIGUOUS if is_ambiguous else SampleFlag(0)
    scores = [Fraction(row.score) for row in rows if not math.isnan(row.score)]
    mean = sum(scores) / len(scores) if scores else None
    spread = sum((score - mean) ** 2 for score in scores) if mean is not None else Fraction(0)
    first = min(rows, key=lambda row: (row.line, row.offset))
    if len({row.cluster for row in rows}) > 1:
        first = first._replace(cluster=0)
    return Reduced(first, flags, len(rows), len(scores), failed, mean, Fraction(spread))


class Meeting(NamedTuple):
    """The records of two runs that are paired, and those that are not, as places in their lists."""

    pairs: set[tuple[int, int]]
    only_a: set[int]
    only_b: set[int]


def meeting(
    a: Sequence[SampleScore],
    b: Sequence[SampleScore],
    groups_a: Sequence[int],
    groups_b: Sequence[int],
) -> Meeting:
    """Return which records meet."""
    ambiguous = {record[:2] for record in (*a, *b) if record.flags & SampleFlag.AMBIGUOUS}
    sides = []
    for records, groups in ((a, groups_a), (b, groups_b)):
        places: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for place, record in enumerate(records):
            if groups[record.group] >= 0:
                key = record[: 3 if record[:2] in ambiguous else 2]
                places[*key, groups[record.group]].append(place)
        sides.append(places)
    pairs = {
        (places[0], sides[1][key][0])
        for key, places in sides[0].items()
        if len(places) == 1 and len(sides[1].get(key, ())) == 1
    }
    every_a, every_b = ({place for same in side.values() for place in same} for side in sides)
    return Meeting(
        pairs, every_a - {one for one, _ in pairs}, every_b - {other for _, other in pairs}
    )


def random_rows(seed: int, count: int, identities: int, ids: int, groups: int) -> bytes:
    """Return packed rows in a random order; the fewer identities, the more of them are repeated."""
    numbers = random.Random(seed)
    rows = []
    for line in range(1, count + 1):
        identity = numbers.randrange(identities)
        rows.append(
            SampleRow(
                high=(identity * 0x9E3779B97F4A7C15) % 2**64,
                low=identity + 1,
                sample=numbers.randrange(ids),
                group=numbers.randrange(groups),
                line=line,
                offset=line * 100,
                score=numbers.choice([0.0, 1.0, NAN, numbers.random()]),
                flags=numbers.choice([0, 1, 2, 4]),
                question=identity // 2,
                input=numbers.randrange(3),
                prompt=numbers.randrange(3),
                cluster=numbers.randrange(3),
            ).pack()
        )
    numbers.shuffle(rows)
    return b"".join(rows)
