"""Single rows against single samples of a log: what differs, and what a score may be."""

import itertools
import math
from typing import Any

import pytest
from each import each

from evalstream.formats.eee.source_rows import compare_row, is_same_figure, match_output
from evalstream.formats.eee.source_store import KnownSample, SampleState, Spellings
from evalstream.model.finding import Severity
from evalstream.model.source_log import SourceScore

SAMPLE = KnownSample(0, "q", "", "", 0, 0, {}, (), {}, SourceScore(None))
ODD: list[Any] = [None, 7, True, {}, {"a": 1}, [], [None], [["B"]], "A"]


def row_with(reference: Any, raw: Any, score: Any = 1.0, version: str = "0.2.0") -> dict[str, Any]:
    return {
        "schema_version": version,
        "input": {"reference": reference},
        "output": {"raw": raw},
        "evaluation": {"score": score},
    }


@each(
    ("reference", "raw", "expected"),
    [
        ("B", "B", 1.0),
        ("B", "A", 0.0),
        (["A", "B"], "B", 1.0),
        (["A", "B"], ["C", "B"], 1.0),
        (["A", "B"], ["C"], 0.0),
        ("B", ["B"], 1.0),
        ("AB", "B", 0.0),
    ],
)
def test_an_output_matches_if_it_is_a_reference(reference: Any, raw: Any, expected: float) -> None:
    assert match_output(row_with(reference, raw)) == expected


def test_odd_values_match_nothing_but_their_equals() -> None:
    texts: dict[int, list[Any]] = {
        place: [value] if isinstance(value, str) else value
        for place, value in enumerate(ODD)
        if isinstance(value, str | list)
    }
    for reference, raw in itertools.product(range(len(ODD)), repeat=2):
        shared = [one for one in texts.get(raw, []) if one in texts.get(reference, [])]
        row = row_with(ODD[reference], ODD[raw])
        assert match_output(row) == float(bool(shared)), (ODD[reference], ODD[raw])
    for row in ({}, {"input": "B", "output": "B"}, {"input": None, "output": [1]}):
        assert match_output(row) == 0.0


@each(
    ("one", "other", "expected"),
    [
        (1.0, 1.0 + 1e-12, True),
        (1.0, 1.0 + 1e-6, False),
        (0.0, 1e-10, True),
        (math.nan, math.nan, True),
        (math.nan, 1.0, False),
        (math.inf, math.inf, True),
        (math.inf, 1e308, False),
        (10**400, 10**400, True),
        (10**400, 1e308, False),
        (10**400, math.nan, False),
        (None, None, False),
        (None, 0.0, False),
    ],
)
def test_figures_are_equal_up_to_rounding(
    one: float | None, other: float | None, expected: bool
) -> None:
    assert is_same_figure(one, other) is expected
    assert is_same_figure(other, one) is expected


OWN, REDUCED = SampleState.OWN_DIFFERS, SampleState.REDUCED_DIFFERS


@each(
    ("score", "given", "codes", "state"),
    [
        (SourceScore(1.0, None), 1.0, [], 0),
        (SourceScore(1.0, None), 1, [], 0),
        (SourceScore(1.0, None), True, ["ES654"], SampleState.DIFFERS),
        (SourceScore(1.0, None), "1", ["ES654"], SampleState.DIFFERS),
        (SourceScore(1.0, None), 10**400, ["ES654"], SampleState.DIFFERS),
        (SourceScore(1.0, None), 0.0, ["ES654"], SampleState.DIFFERS),
        (SourceScore(1.0, 1.0), 1.0, [], 0),
        (SourceScore(1.0, 0.5), 1.0, ["ES654"], REDUCED),
        (SourceScore(1.0, 0.5), 0.5, ["ES654"], OWN),
        (SourceScore(1.0, 0.5), 0.25, ["ES654"], SampleState.DIFFERS),
        (SourceScore(None, 0.5), 0.5, [], 0),
        (SourceScore(None, 0.5), 1.0, ["ES654"], SampleState.DIFFERS),
        (SourceScore(None, None), 0.0, ["ES655"], 0),
        (SourceScore(None, None), 1.0, ["ES655"], 0),
        (SourceScore(None, None), 0.5, ["ES654"], SampleState.DIFFERS),
        (SourceScore(None, None), None, ["ES654"], SampleState.DIFFERS),
    ],
)
def test_a_score_is_that_of_the_log(
    score: SourceScore, given: Any, codes: list[str], state: int
) -> None:
    found = compare_row(row_with("B", "B", given), SAMPLE, score, was_matched=False)
    assert [one.code for one, _ in found.violations] == codes
    assert found.state == state
    assert not found.is_foreign
    is_info = codes == ["ES655"]
    assert all((one.severity is Severity.INFO) == is_info for one, _ in found.violations)


@each("version", ["0.2.0", "0.2.1", "0.2.2"])
@pytest.mark.parametrize("was_matched", [True, False])
def test_early_converters_scored_by_the_reference(version: str, was_matched: bool) -> None:
    row = row_with("B", "A", 0.0, version)
    found = compare_row(row, SAMPLE, SourceScore(1.0), was_matched=was_matched)
    is_early = was_matched and version != "0.2.2"
    assert [one.code for one, _ in found.violations] == ["ES655" if is_early else "ES654"]
    assert found.is_foreign is is_early
    assert found.state == SampleState.DIFFERS


def test_what_differs_is_in_the_order_of_rules_and_places() -> None:
    known = Spellings(("=log",), "log")
    places = ("output/raw/*", "input/raw", "answer_attribution/*/extracted_value")
    sample = SAMPLE._replace(members=dict.fromkeys(places, known))
    row = row_with("B", ["x", "y"]) | {"answer_attribution": [{"extracted_value": "z"}]}
    row["input"]["raw"] = "v"
    found = compare_row(row, sample, SourceScore(1.0), was_matched=False)
    assert [(one.code, one.pointer) for one, _ in found.violations] == [
        ("ES652", "/input/raw"),
        ("ES653", "/answer_attribution/0/extracted_value"),
        ("ES653", "/output/raw/0"),
        ("ES653", "/output/raw/1"),
    ]
