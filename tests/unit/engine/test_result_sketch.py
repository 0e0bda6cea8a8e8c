"""Sketches of blocks: every path of a row gives the same, and hostile bytes do no harm."""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import pairwise
from typing import Any

import pytest
from each import each
from fast_rows import context, engine_of, mixed_rows, slowly, sound
from hypothesis import given
from hypothesis import strategies as st
from rows import bytes_of, mutants, sound_rows, spoilt_bytes

from evalstream.engine.collector import Collector
from evalstream.engine.result import BlockResult
from evalstream.formats.eee.facts import RowContext
from evalstream.model.block import Lines
from evalstream.model.finding import Severity
from evalstream.model.sketch import Sketch

SKETCHED = context("0.2.0", "concat", sketches=True)
MARK = b"\xef\xbb\xbf"


def checked(within: RowContext, data: bytes, **lines: Any) -> BlockResult:
    """Check a block that ends the input."""
    return engine_of(within).run(Lines(data, **{"final": True, **lines}))


def sketch_of(within: RowContext, *blocks: bytes) -> Sketch | None:
    """Return the sketch of some blocks that follow each other."""
    collector, base = Collector(within, "rows", lambda _: None), 0
    try:
        for number, data in enumerate(blocks):
            is_last = number == len(blocks) - 1
            collector.add(checked(within, data, base=base, final=is_last))
            base += len(data)
        collector.end_of_rows()
        return collector.sketch
    finally:
        collector.close()


@lru_cache(maxsize=1)
def hostile() -> bytes:
    """Return rows with and without faults, with blank lines, a mark and no last newline."""
    rows = mixed_rows()
    return MARK + rows + b"\n" * 40 + b"  \n{}\n[1]\nno row\n" + rows + bytes_of([sound()])[:-1]


def agree(result: BlockResult) -> None:
    """Require that a sketch counts the rows and the findings of its block."""
    sketch, found = result.sketch, dict.fromkeys(Severity, 0)
    assert sketch is not None
    assert len(sketch.rows) == result.tally.lines
    assert sum(sketch.rows) == result.tally.rows
    for (_, severity), times in result.counts.items():
        found[severity] += times
    for severity, counts in sketch.found.items():
        found[severity] -= sum(counts)
    for severity, _, times in sketch.many:
        found[severity] -= times
    assert not any(found.values())


def test_without_the_option_there_is_no_sketch() -> None:
    within = context("0.2.0", "concat")
    assert checked(within, mixed_rows()).sketch is None
    assert sketch_of(within, mixed_rows()) is None


@each("most", [0, 1, 5])
@pytest.mark.parametrize("noise", [{}, {"skip_noise": True}])
def test_every_path_gives_the_same_sketch(most: int, noise: dict[str, Any]) -> None:
    within = context("0.2.0", "concat", sketches=True, **noise)
    options = {**{name: getattr(within.options, name) for name in within.options.__data_fields__}}
    limited = within.__replace__(options=type(within.options)(**{**options, "max_findings": most}))
    fast, slow = checked(limited, hostile()), checked(slowly(limited), hostile())
    agree(fast)
    assert fast.sketch == slow.sketch == checked(within, hostile()).sketch


@given(data=st.data())
def test_any_cut_gives_the_same_sketch(data: st.DataObject) -> None:
    rows = hostile()
    ends = [place + 1 for place, byte in enumerate(rows) if byte == 10]
    cuts = sorted(data.draw(st.sets(st.sampled_from(ends), max_size=6)))
    places = [0, *cuts, len(rows)]
    blocks = [rows[start:stop] for start, stop in pairwise(places)]
    assert sketch_of(SKETCHED, *blocks) == sketch_of(SKETCHED, rows)


@given(data=spoilt_bytes(mixed_rows()))
def test_spoilt_bytes_give_the_same_sketch_on_every_path(data: bytes) -> None:
    fast, slow = checked(SKETCHED, data), checked(slowly(SKETCHED), data)
    agree(fast)
    assert fast.sketch == slow.sketch


@given(rows=st.lists(mutants("0.2.0"), min_size=1, max_size=4))
def test_any_row_can_be_sketched(rows: list[Any]) -> None:
    fast, slow = checked(SKETCHED, bytes_of(rows)), checked(slowly(SKETCHED), bytes_of(rows))
    agree(fast)
    assert fast.sketch == slow.sketch


@each(
    ("text", "scores"),
    [
        ("1.0", [1.0]),
        ("true", [1.0]),
        ("1" + "0" * 400, []),
        ("-1e300", []),
        ("1e999", []),
        ("NaN", []),
        ('"1"', []),
        ("null", []),
        ("[]", []),
        ("-0.0", [0.0]),
    ],
)
def test_scores_are_numbers_of_a_usual_size(text: str, scores: list[float]) -> None:
    row = json.dumps({**sound(), "evaluation": {"score": "HERE", "is_correct": True}})
    sketch = checked(SKETCHED, row.replace('"HERE"', text).encode() + b"\n").sketch
    assert sketch is not None
    assert list(sketch.scores) == scores


@pytest.mark.parametrize("place", ["evaluation", "token_usage", "performance"])
@each("value", [None, 1, "text", [], [[]], {"score": [1]}, True])
def test_figures_of_another_shape_are_left_out(place: str, value: Any) -> None:
    rows = [{**sound(), place: value}, sound()]
    sketch = checked(SKETCHED, bytes_of(rows)).sketch
    assert sketch is not None
    assert list(sketch.scored) == ([1] if place == "evaluation" else [0, 1])


def test_a_row_with_a_lone_surrogate_has_figures() -> None:
    row = json.dumps(sound()).replace("Question", "\\ud800", 1).encode() + b"\n"
    sketch = checked(SKETCHED, row).sketch
    assert sketch is not None
    assert list(sketch.scored) == [0]


def test_a_duplicate_key_makes_figures_uncertain() -> None:
    row = b'{"schema_version": "0.2.0", "schema_version": "0.2.0",' + bytes_of([sound()])[1:]
    sketch = checked(SKETCHED, row).sketch
    assert sketch is not None
    assert (list(sketch.rows), list(sketch.scored)) == ([1], [])


def test_an_overlong_line_is_a_row_without_figures() -> None:
    within = context("0.2.0", "concat", sketches=True, max_line_bytes=500)
    sketch = checked(within, bytes_of(sound_rows("0.2.0", 2)), overlong=True).sketch
    assert sketch is not None
    assert (list(sketch.rows), list(sketch.scored)) == ([1], [])
