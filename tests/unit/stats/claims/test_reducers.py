"""Tests of reducers, also against the harness's own where it is installed."""

import math
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded

from evalstream.formats.inspect.values import known_number, same, score_to_float
from evalstream.stats.claims.reducers import CannotCompute, reduce_repeats, reducer_named

REDUCERS = (
    *("mean", "median", "mode", "majority", "max", "collect"),
    *("at_least_2", "pass_at_2", "pass_k_2"),
)
VALUES = st.sampled_from(
    ["C", "I", "P", "N", "yes", "No", "2.5", "word", 1, 0, 0.25, 1.5, True, math.nan]
)


def reduced(values: list[Any], name: str | None) -> Any:
    reducer = reducer_named(name)
    assert reducer is not None
    return reduce_repeats(values, reducer, score_to_float)


@each(
    ("value", "expected"),
    [
        ("C", 1.0),
        ("I", 0.0),
        ("P", 0.5),
        ("N", 0.0),
        ("TRUE", 1.0),
        ("no", 0.0),
        ("1e2", 100.0),
        ("maybe", None),
        (True, 1.0),
        (3, 3.0),
        ({"a": 1}, None),
        ([1], None),
    ],
)
def test_scores_as_numbers(value: Any, expected: float | None) -> None:
    assert known_number(value) == expected
    assert score_to_float(value) == (expected or 0.0)


@each(
    ("name", "values", "expected"),
    [
        (None, ["C", "I"], 0.5),
        ("mean", ["C"], 1.0),
        ("mode", ["C", "I", "C"], "C"),
        ("mode", ["I", "C"], "I"),
        ("median", ["C", "I", "P"], 0.5),
        ("median", ["C", "I"], 0.5),
        ("majority", ["C", "I", "C"], "C"),
        ("majority", ["C", "I"], math.nan),
        ("majority", ["C", math.nan], math.nan),
        ("max", ["I", "C"], "C"),
        ("at_least_2", ["C", "I", "C"], 1),
        ("at_least_3", ["C", "I", "C"], 0),
        ("pass_at_1", ["C", "I", "I", "I"], 0.25),
        ("pass_at_2", ["C", "I", "I", "I"], 0.5),
        ("pass_k_2", ["C", "C", "I"], 1 / 3),
        ("pass_at_3", ["C", math.nan], math.nan),
        ("mean", [math.nan, math.nan], math.nan),
        ("collect", ["C", math.nan, 2], ["C", 2]),
        ("mean", [{"a": 1, "b": "C"}, {"a": 0, "b": math.nan}], {"a": 0.5, "b": 1.0}),
        ("majority", [{"a": 1}, {"a": 1}, math.nan], {"a": 1}),
        ("max", [[1, 5], [2, 3]], [2, 5]),
    ],
)
def test_reduced_scores(name: str | None, values: list[Any], expected: Any) -> None:
    assert same(reduced(values, name), expected)


@each("values", [[{"a": 1}, {"b": 1}], [[1], [1, 2]], [1, {"a": 1}], [{"a": {"b": 1}}]])
def test_scores_of_different_shapes_are_not_reduced(values: list[Any]) -> None:
    with pytest.raises(CannotCompute):
        reduced(values, "mean")


def test_objects_are_not_collected() -> None:
    with pytest.raises(CannotCompute):
        reduced([{"a": 1}], "collect")


@each("name", ["own", "pass_at", "at_least_x", "top_5"])
def test_other_reducers_are_not_known(name: str) -> None:
    assert reducer_named(name) is None


@bounded()
@given(st.lists(VALUES, min_size=1, max_size=8), st.sampled_from(REDUCERS))
def test_reducers_are_those_of_the_harness(values: list[Any], name: str) -> None:
    pytest.importorskip("inspect_ai", reason="compares with inspect_ai")
    from inspect_ai.scorer import Score
    from inspect_ai.scorer._reducer import create_reducers

    (theirs,) = create_reducers(name)
    assert same(reduced(values, name), theirs([Score(value=one) for one in values]).value)
