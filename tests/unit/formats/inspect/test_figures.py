"""Tests of reducers and metrics, also against the harness's own where it is installed."""

import math
import statistics
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import bounded

from evalstream.formats.inspect.figures import (
    PLAIN,
    CannotCompute,
    Tied,
    clustered_error,
    reduced,
    reducer_named,
    to_float,
)
from evalstream.formats.inspect.views import same

REDUCERS = ("mean", "median", "mode", "max", "at_least_2", "pass_at_2", "pass_k_2")
VALUES = st.sampled_from(["C", "I", "P", "N", "yes", "No", "2.5", "word", 1, 0, 0.25, 1.5, True])
NUMBERS = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("C", 1.0),
        ("I", 0.0),
        ("P", 0.5),
        ("N", 0.0),
        ("TRUE", 1.0),
        ("no", 0.0),
        ("1e2", 100.0),
        ("maybe", 0.0),
        (True, 1.0),
        (3, 3.0),
        ({"a": 1}, 0.0),
        ([1], 0.0),
    ],
)
def test_scores_as_numbers(value: Any, expected: float) -> None:
    assert to_float(value) == expected


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        (None, ["C", "I"], 0.5),
        ("mean", ["C"], 1.0),
        ("mode", ["C", "I", "C"], "C"),
        ("median", ["C", "I", "P"], 0.5),
        ("max", ["I", "C"], "C"),
        ("at_least_2", ["C", "I", "C"], 1),
        ("at_least_3", ["C", "I", "C"], 0),
        ("pass_at_1", ["C", "I", "I", "I"], 0.25),
        ("pass_at_2", ["C", "I", "I", "I"], 0.5),
        ("pass_k_2", ["C", "C", "I"], 1 / 3),
        ("pass_at_3", ["C", math.nan], math.nan),
        ("mean", [math.nan, math.nan], math.nan),
        ("mean", [{"a": 1, "b": "C"}, {"a": 0, "b": math.nan}], {"a": 0.5, "b": 1.0}),
        ("max", [[1, 5], [2, 3]], [2, 5]),
    ],
)
def test_reduced_scores(name: str | None, values: list[Any], expected: Any) -> None:
    reducer = reducer_named(name)
    assert reducer is not None
    assert same(reduced(values, reducer), expected)


@pytest.mark.parametrize(
    "values", [[{"a": 1}, {"b": 1}], [[1], [1, 2]], [1, {"a": 1}], [{"a": {"b": 1}}]]
)
def test_scores_of_different_shapes_are_not_reduced(values: list[Any]) -> None:
    reducer = reducer_named("mean")
    assert reducer is not None
    with pytest.raises(CannotCompute):
        reduced(values, reducer)


def test_tied_epochs_leave_the_mode_open() -> None:
    reducer = reducer_named("mode")
    assert reducer is not None
    found = reduced(["C", "I"], reducer)
    assert isinstance(found, Tied)
    assert set(found) == {"C", "I"}


@pytest.mark.parametrize("name", ["majority", "own", "pass_at", "at_least_x", "top_5"])
def test_other_reducers_are_not_known(name: str) -> None:
    assert reducer_named(name) is None


@bounded()
@given(NUMBERS)
def test_metrics_are_those_of_the_standard_library(values: list[float]) -> None:
    close = {"rel_tol": 1e-6, "abs_tol": 1e-6}
    assert math.isclose(PLAIN["mean"](values), statistics.fmean(values), **close)
    assert math.isclose(PLAIN["var"](values), statistics.variance(values), **close)
    assert math.isclose(PLAIN["std"](values), statistics.stdev(values), **close)
    error = statistics.stdev(values) / math.sqrt(len(values))
    assert math.isclose(PLAIN["stderr"](values), error, **close)
    # With a cluster for each value the errors are the same.
    assert math.isclose(clustered_error(values, range(len(values))), error, **close)


@bounded()
@given(st.lists(VALUES, min_size=1, max_size=8), st.sampled_from(REDUCERS))
def test_reducers_are_those_of_the_harness(values: list[Any], name: str) -> None:
    pytest.importorskip("inspect_ai", reason="compares with inspect_ai")
    from inspect_ai.scorer import Score
    from inspect_ai.scorer._reducer import create_reducers

    counts = Counter(values)
    (theirs,) = create_reducers(name)
    reducer = reducer_named(name)
    assert reducer is not None
    mine, expected = reduced(values, reducer), theirs([Score(value=one) for one in values]).value
    if isinstance(mine, Tied):
        assert expected in mine
        assert len(counts) > 1
    else:
        assert same(to_float(mine), to_float(expected))
