"""The sketch of a run: any cut into blocks, taken in any order, gives the same one."""

from __future__ import annotations

import math
import pickle
import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st

from evalstream.model.finding import Severity
from evalstream.model.sketch import Histogram, Sketch
from evalstream.parsing.json import dumps
from evalstream.stats.sketch import (
    LARGEST,
    MOST_BINS,
    MOST_COLUMNS,
    SMALLEST,
    TOKENS,
    Bins,
    BlockSketch,
    BlockSketcher,
    RowFigures,
    SketchTotal,
    sketchable,
)

SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.INFO)
MOST_BYTES = 10_000


class Line(NamedTuple):
    """A line: whether it is a row, its figures, and how many findings it has of each severity."""

    is_row: bool
    figures: RowFigures | None
    found: tuple[int, int, int]


VALUES = st.one_of(
    st.floats(allow_nan=True),
    st.integers(),
    st.sampled_from([None, True, False, 0.1, 0.2, 0.7, 1, "1", 10**400, -(10**400), [], {}]),
)
LINES = st.builds(
    Line,
    st.sampled_from([True, True, True, False]),
    st.one_of(
        st.none(), st.lists(VALUES, min_size=1, max_size=8).map(tuple), st.just((0.1, 250, 17))
    ),
    st.tuples(*[st.sampled_from([0, 0, 0, 1, 2, 255, 1000])] * 3),
)


def block_of(lines: list[Line]) -> BlockSketch:
    """Return the sketch of a block, as it arrives from a worker."""
    sketcher = BlockSketcher()
    for number, line in enumerate(lines, 1):
        for severity, times in zip(SEVERITIES, line.found, strict=True):
            if times:
                sketcher.note(number, severity, times)
        if line.is_row:
            sketcher.row(number, line.figures)
    received: BlockSketch = pickle.loads(pickle.dumps(sketcher.block(len(lines))))
    return received


def sketch_of(lines: list[Line]) -> Sketch | None:
    """Return the sketch of lines that come in one block."""
    total = SketchTotal()
    total.take(block_of(lines), 0)
    return total.sketch()


def score_of(line: Line) -> Fraction | None:
    """Return the score of a line, None if it has no usual one."""
    value: Any = line.figures[0] if line.is_row and line.figures else None
    number = sketchable(value)
    return None if number is None else Fraction(number)


@given(lines=st.lists(LINES, min_size=1, max_size=400))
def test_a_strip_counts_what_its_lines_have(lines: list[Line]) -> None:
    sketch = sketch_of(lines)
    assert sketch is not None
    strip = sketch.strip
    assert strip.total == len(lines)
    assert len(strip.rows) == -(-len(lines) // strip.lines) <= MOST_COLUMNS
    assert strip.lines == 1 or len(strip.rows) > MOST_COLUMNS // 2
    for place in range(len(strip.rows)):
        some = lines[place * strip.lines : (place + 1) * strip.lines]
        scores = [score for line in some if (score := score_of(line)) is not None]
        assert strip.rows[place] == sum(line.is_row for line in some)
        assert strip.scored[place] == len(scores)
        assert strip.scores[place] == float(f"{float(sum(scores)):.9g}")
        found = strip.errors[place], strip.warnings[place], strip.infos[place]
        assert found == tuple(sum(line.found[kind] for line in some) for kind in range(3))
    if sketch.scores is not None:
        assert sum(sketch.scores.counts) == sum(strip.scored)


@given(
    lines=st.lists(LINES, min_size=1, max_size=400),
    cuts=st.lists(st.integers(0, 400), max_size=8),
    seed=st.integers(),
)
def test_any_cut_taken_in_any_order_gives_the_same_sketch(
    lines: list[Line], cuts: list[int], seed: int
) -> None:
    places = [0, *sorted(min(cut, len(lines)) for cut in cuts), len(lines)]
    blocks = [(start, block_of(lines[start:stop])) for start, stop in pairwise(places)]
    random.Random(seed).shuffle(blocks)
    total = SketchTotal()
    for start, block in blocks:
        total.take(block, start)
    assert total.sketch() == sketch_of(lines)


def test_without_lines_there_is_no_sketch() -> None:
    total = SketchTotal()
    assert total.sketch() is None
    total.take(block_of([]), 0)
    total.note(3, Severity.ERROR, 1)
    assert total.sketch() is None


def test_findings_that_a_block_cannot_know_are_added_to_their_line() -> None:
    total = SketchTotal()
    total.take(block_of([Line(True, (1,), (0, 0, 0))] * 4), 0)
    total.note(3, Severity.WARNING, 5)
    sketch = total.sketch()
    assert sketch is not None
    assert sketch.strip.warnings == (0, 0, 5, 0)


def test_a_line_may_have_more_findings_than_a_byte_counts() -> None:
    block = BlockSketcher()
    for _ in range(2):
        block.note(2, Severity.ERROR, 200)
    for line in (1, 2):
        block.row(line, None)
    total = SketchTotal()
    total.take(block.block(2), 0)
    sketch = total.sketch()
    assert sketch is not None
    assert sketch.strip.errors == (0, 400)


def test_amounts_are_told_apart_by_their_kind() -> None:
    sketch = sketch_of([Line(True, (None, 120, 1, 2, 3, 0, None, True), (0, 0, 0))])
    assert sketch is not None
    assert sketch.scores is None
    assert list(sketch.tokens) == ["input", "output", "total", "reasoning"]
    assert (sketch.tokens["reasoning"].counts, sketch.tokens["reasoning"].zeros) == ((), 1)
    assert sketch.latency is not None
    assert sketch.latency.edge(0) <= 120 < sketch.latency.edge(1)


def test_sums_of_scores_are_exact() -> None:
    scores = [1e16, 1.0, -1e16, 1e-9] * MOST_COLUMNS
    sketch = sketch_of([Line(True, (score,), (0, 0, 0)) for score in scores])
    assert sketch is not None
    assert sketch.strip.lines == 4
    assert set(sketch.strip.scores) == {1.0}


def test_a_sketch_of_very_many_rows_is_small() -> None:
    total, chance = SketchTotal(), random.Random(1)
    lines = [
        Line(
            True,
            (
                chance.uniform(-1, 1),
                *(2.0 ** chance.uniform(-9, 20) for _ in range(1 + len(TOKENS))),
            ),
            (1, 2, 3),
        )
        for _ in range(500)
    ]
    block = block_of(lines)
    # As many rows as 100 million, all in columns and bins that are about equally full.
    for name, bins in block.bins.items():
        block.bins[name].counts = {  # type: ignore[attr-defined]
            place: count * 200_000 for place, count in bins.counts.items()
        }
    total.take(block, 0)
    for column in total._columns:
        column[:] = [value * 200_000 for value in column]
    sketch = total.sketch()
    assert sketch is not None
    assert len(dumps(sketch.as_dict())) < MOST_BYTES


SCALES = ("linear", "log")
NUMBERS = st.one_of(
    st.floats(0, 1),
    st.integers(-100, 100_000).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, 5e-324, LARGEST, -LARGEST, 1e308, math.pi, 2.0**48]),
)

every_scale = pytest.mark.parametrize("scale", SCALES)


def bins_of(scale: str, numbers: list[float]) -> Bins:
    """Return the bins of some numbers."""
    bins = Bins(scale)
    bins.add(Counter(numbers))
    return bins


def held(scale: str, numbers: list[float]) -> list[float]:
    """Return the numbers that a scale has a place for, without zeros on a logarithmic one."""
    usual = [number for number in numbers if abs(number) <= LARGEST]
    return usual if scale == "linear" else [number for number in usual if number >= SMALLEST]


def expected(bins: Histogram, numbers: list[float]) -> list[int]:
    """Count the numbers between the edges of each bin."""
    edges = [bins.edge(number) for number in range(len(bins.counts) + 1)]
    return [sum(low <= number < high for number in numbers) for low, high in pairwise(edges)]


@every_scale
@given(numbers=st.lists(NUMBERS, max_size=80))
def test_every_number_is_between_the_edges_of_its_bin(scale: str, numbers: list[float]) -> None:
    bins, inside = bins_of(scale, numbers).histogram(), held(scale, numbers)
    zeros = numbers.count(0.0) if scale == "log" else 0
    if not inside and not zeros:
        assert bins is None
        return
    assert bins is not None
    assert bins.zeros == zeros
    assert len(bins.counts) <= MOST_BINS
    if inside:
        assert list(bins.counts) == expected(bins, inside)
        assert bins.counts[0]
        assert bins.counts[-1]


@every_scale
@given(
    numbers=st.lists(NUMBERS, max_size=80),
    cuts=st.lists(st.integers(0, 80), max_size=6),
    seed=st.integers(),
)
def test_any_partition_merged_in_any_order_gives_the_same_bins(
    scale: str, numbers: list[float], cuts: list[int], seed: int
) -> None:
    places = [0, *sorted(cuts), len(numbers)]
    parts = [
        bins_of(scale, numbers[start:stop]) for start, stop in pairwise(places) if start < stop
    ]
    random.Random(seed).shuffle(parts)
    merged = Bins(scale)
    while parts:
        # Groups of parts are merged first, as blocks may be.
        one = parts.pop()
        if parts and len(parts) % 2:
            one.merge(parts.pop())
        merged.merge(one)
    assert merged == bins_of(scale, numbers)


@given(numbers=st.lists(NUMBERS, min_size=1, max_size=40))
def test_linear_bins_are_as_narrow_as_their_number_allows(numbers: list[float]) -> None:
    inside = [Fraction(number) for number in held("linear", numbers)]
    bins = bins_of("linear", numbers).histogram()
    if bins is None or bins.width == 2.0**-10:
        return
    low, high = (math.floor(2 * end / Fraction(bins.width)) for end in (min(inside), max(inside)))
    assert high - low >= MOST_BINS or max(high, -low) > 2**48


def test_scores_from_0_to_1_keep_an_own_bin_for_1() -> None:
    bins = bins_of("linear", [0.0, 1.0, 1.0, 0.999]).histogram()
    assert bins is not None
    assert (bins.width, bins.first, len(bins.counts)) == (2.0**-5, 0, 33)
    assert bins.counts[-2:] == (1, 2)


def test_powers_of_two_begin_a_bin() -> None:
    for power in range(-300, 300):
        bins = bins_of("log", [2.0**power]).histogram()
        assert bins is not None
        assert bins.edge(0) == 2.0**power
        below = bins_of("log", [math.nextafter(2.0**power, 0)]).histogram()
        assert below is not None
        assert below.edge(1) == 2.0**power


@each(
    ("value", "number"),
    [(1, 1.0), (True, 1.0), (0.5, 0.5), (-3, -3.0), (10**99, 1e99), (-0.0, 0.0)],
)
def test_numbers_are_sketched(value: object, number: float) -> None:
    assert sketchable(value) == number


@each("value", [None, "1", [1], {}, math.nan, math.inf, -math.inf, 1e101, 10**400, -(10**400)])
def test_other_values_are_left_out(value: object) -> None:
    assert sketchable(value) is None
