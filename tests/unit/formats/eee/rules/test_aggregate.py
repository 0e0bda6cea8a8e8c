"""The borders of the rules about the aggregate and about the results that rows name."""

import copy
import json
import math
import statistics
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from each import each
from hypothesis import assume, example, given
from hypothesis import strategies as st
from rows import (
    ODD_VALUES,
    VERSIONS,
    Place,
    aggregate_of,
    at,
    bounded,
    bytes_of,
    places,
    sound_rows,
)

import evalstream
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.row_engine import EngineContext
from evalstream.formats.registry import CATALOGUE
from evalstream.model.finding import Severity, Violation
from evalstream.model.options import Options

ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO
LEVELS = {"score_type": "levels", "level_names": ["wrong", "partly", "right"]}
HUGE = 10**400
RESAMPLED = {"method": "bootstrap"}
AGGREGATE_RULES = sorted(code for code, rule in CATALOGUE.items() if rule.aggregate)
LINK_RULES = ("ES603", "ES605")


def read(document: Any) -> Aggregate:
    """Return the aggregate that a document is once it was written and read again."""
    text = json.dumps(document)
    return Aggregate(json.loads(text), text.encode())


def said(code: str, document: Any) -> list[tuple[str | None, Severity]]:
    """Return the places at which a rule finds fault with an aggregate, and how bad it is."""
    rule = CATALOGUE[code]
    assert rule.aggregate is not None
    violations = list(rule.aggregate(read(document)))
    assert {violation.code for violation in violations} <= {code}
    return [(violation.pointer, violation.severity or rule.severity) for violation in violations]


def one_result(score: Any = 0.75, metric: Any = None, uncertainty: Any = None) -> dict[str, Any]:
    """Make an aggregate with one result; a None leaves the example's part as it is."""
    document = aggregate_of("0.3.0", b"", 0)
    (result,) = document["evaluation_results"]
    result["metric_config"] |= metric or {}
    result["score_details"]["score"] = score
    if uncertainty is not None:
        result["score_details"]["uncertainty"] = uncertainty
    return document


SCORE = "/evaluation_results/0/score_details/score"
LEAST = "/evaluation_results/0/metric_config/min_score"
UNCERTAINTY = "/evaluation_results/0/score_details/uncertainty"
INTERVAL = f"{UNCERTAINTY}/confidence_interval"


@each(
    ("score", "metric", "expected"),
    [
        (0, {}, []),
        (1, {}, []),
        (1.0000000000000002, {}, []),  # a float sum of ten tenths and its like
        (-1e-17, {}, []),
        (1.000001, {}, [SCORE]),
        (-0.000001, {}, [SCORE]),
        (75, {}, [SCORE]),
        (75, {"max_score": 100}, []),
        (-1, {}, [SCORE]),
        (75, {"max_score": "Infinity"}, []),
        (-75, {"min_score": "-Infinity"}, []),
        (75, {"max_score": None}, []),
        (75, {"max_score": "100"}, []),  # no bound; the schema speaks of its type
        (75, {"max_score": True}, []),
        (0.5, {"min_score": 1, "max_score": 0}, [LEAST]),
        (7, {"min_score": 1, "max_score": 0}, [LEAST]),
        (7, {"min_score": "Infinity", "max_score": 0}, [LEAST]),
        (0.5, {"min_score": 0.5, "max_score": 0.5}, []),
        (HUGE, {"max_score": "Infinity"}, [SCORE]),
        (True, {}, []),
        ("2", {}, []),
        (None, {}, []),
        (-1, LEVELS, []),  # ES708
        (9, LEVELS, []),
        (1, {**LEVELS, "min_score": 2, "max_score": 0}, [LEAST]),
    ],
)
def test_scores_lie_within_their_bounds(score: Any, metric: Any, expected: list[str]) -> None:
    assert said("ES701", one_result(score, metric)) == [(place, ERROR) for place in expected]


@each(("score", "is_placeholder"), [(-1, True), (-1.0, True), (-2, False)])
def test_a_placeholder_for_a_score_is_named(score: float, is_placeholder: bool) -> None:
    rule = CATALOGUE["ES701"]
    assert rule.aggregate is not None
    (found,) = rule.aggregate(read(one_result(score, {"min_score": 0})))
    assert ("leave out a result that has no score" in found.message) == is_placeholder


@each(
    ("score", "has_unknown_level", "expected"),
    [
        (0, False, []),
        (2, False, []),
        (2.0, False, []),
        (3, False, [SCORE]),
        (1.5, False, [SCORE]),
        (-1, False, [SCORE]),
        (-1, True, []),
        (-1, None, [SCORE]),
        (-2, True, [SCORE]),
        ("1", True, []),
        (True, True, []),
    ],
)
def test_scores_of_levels_are_indices(
    score: Any, has_unknown_level: Any, expected: list[str]
) -> None:
    metric = {**LEVELS, "has_unknown_level": has_unknown_level}
    assert said("ES708", one_result(score, metric)) == [(place, WARNING) for place in expected]


@pytest.mark.parametrize("metric", [{"level_names": 3}, {"score_type": "continuous"}])
def test_levels_that_are_none_are_left_to_the_schema(metric: dict[str, Any]) -> None:
    assert said("ES708", one_result(99, {**LEVELS, **metric})) == []


@each(
    ("uncertainty", "expected"),
    [
        ({"standard_error": {"value": 0}}, []),
        ({"standard_error": {"value": -0.0}}, []),
        ({"standard_error": {"value": -1e-9}}, [(f"{UNCERTAINTY}/standard_error/value", ERROR)]),
        ({"standard_error": {"value": HUGE}}, [(f"{UNCERTAINTY}/standard_error/value", ERROR)]),
        ({"standard_error": {"value": "-1"}}, []),
        ({"standard_error": -1}, []),
        ({"standard_deviation": -0.5}, [(f"{UNCERTAINTY}/standard_deviation", ERROR)]),
        ({"standard_deviation": True}, []),
        ([], []),
    ],
)
def test_spreads_are_finite_and_not_negative(uncertainty: Any, expected: list[Any]) -> None:
    assert said("ES702", one_result(uncertainty=uncertainty)) == expected


@each(
    ("score", "lower", "upper", "expected"),
    [
        (0.7, 0.7, 0.7, []),
        (0.7, 0.6, 0.6999, []),  # 0.7 may be a rounded 0.6999
        (0.70001, 0.6, 0.6999, [WARNING]),
        (0.7, 0.6, 0.62, [WARNING]),
        (0.7, 0.85, 0.95, [WARNING]),
        (1.0, 0.5, 0.9999999999999999, []),  # Wilson's interval for 10 of 10, in floats
        (1, 0.52, 0.98, [WARNING]),
        (0.68, -0.03, 0.03, [WARNING]),  # a distance from the score
        (0, -0.03, 0.03, []),
        (75, 0.7, 0.8, [WARNING]),
        (0.7, 0.9, 0.6, [ERROR]),
        (0.7, 0.6, "0.5", []),
        (0.7, None, 0.5, []),
        ("0.7", 0.8, 0.9, []),
        (0.7, HUGE, 0.9, [ERROR]),
    ],
)
def test_a_score_lies_within_its_interval(
    score: Any, lower: Any, upper: Any, expected: list[Severity]
) -> None:
    document = one_result(
        score, uncertainty={"confidence_interval": {"lower": lower, "upper": upper}}
    )
    assert said("ES702", document) == [(INTERVAL, severity) for severity in expected]


@each(("level", "wrong"), [(0, False), (1, False), (1.01, True), (-0.1, True)])
@pytest.mark.parametrize("version", ["0.2.0", "0.3.0"])
def test_a_confidence_level_outside_0_to_1_is_said_once(
    tmp_path: Path, version: str, level: float, wrong: bool
) -> None:
    document = aggregate_of(version, b"", 0)
    interval = {"lower": 0.5, "upper": 0.9, "confidence_level": level}
    details = document["evaluation_results"][0]["score_details"]
    details["uncertainty"] = {"confidence_interval": interval}
    path = tmp_path / "aggregate.json"
    path.write_text(json.dumps(document))
    found = evalstream.check(path, select=("ES2", "ES702"))
    expected = wrong * [("ES702", f"{INTERVAL}/confidence_level")]
    assert [(finding.code, finding.pointer) for finding in found] == expected


def error_over(deviation: Any, samples: Any, error: Any, method: Any = "analytic") -> list[Any]:
    """Return what ES703 says of three numbers."""
    claimed = {"value": error} if method == "absent" else {"value": error, "method": method}
    uncertainty = {
        "standard_deviation": deviation,
        "num_samples": samples,
        "standard_error": claimed,
    }
    return said("ES703", one_result(uncertainty=uncertainty))


@each(
    ("deviation", "samples", "error", "follows"),
    [
        (0.5, 4, 0.25, True),
        (0.5, 4, 0.2886751, True),  # over the root of n - 1: the deviation was taken over n
        (0.4330127, 4, 0.25, True),  # over n, and the same error
        (0.4330127, 4, 0.27, False),
        (0.46291, 8, 0.16, True),
        (0.46291, 8, 0.21, False),
        (0.46291, 8, 0.46291, False),  # not divided at all
        (1, 100, 0.1, True),
        (1, 100, 0.14, False),  # a small whole number is exact
        (0.0, 4, 0.0, True),
        (0.0, 4, 0.02, False),
        (0.02, 100, 0.0, True),  # 0.002 to two digits
        (0.3, 1, 0.3, True),
        (0.31, 1, 0.25, False),
        (0.5, 10**400, 0.25, False),
    ],
)
def test_an_error_follows_from_its_deviation(
    deviation: Any, samples: Any, error: Any, follows: bool
) -> None:
    expected = [] if follows else [(f"{UNCERTAINTY}/standard_error/value", WARNING)]
    for method in ("analytic", "Analytic", "", "absent"):
        assert error_over(deviation, samples, error, method) == expected
    for method in ("bootstrap", "jackknife"):
        assert error_over(deviation, samples, error, method) == []


@each(
    ("deviation", "samples", "error"),
    [
        (-0.5, 4, 0.9), (0.5, 4, -0.01), (0.5, 0, 0.9), (0.5, -4, 0.9), (0.5, 4.5, 0.9),
        ("0.5", 4, 0.9), (0.5, "4", 0.9), (0.5, 4, None), (0.5, True, 0.9), (None, 4, 0.9),
    ],
)  # fmt: skip
def test_an_error_is_not_judged_by_what_is_no_number(
    deviation: Any, samples: Any, error: Any
) -> None:
    assert error_over(deviation, samples, error) == []


SAMPLES = st.lists(st.floats(0, 1).map(lambda value: round(value, 3)), min_size=3, max_size=60)


@given(scores=SAMPLES, digits=st.tuples(st.integers(2, 17), st.integers(2, 17)))
@bounded(max_examples=examples(300))
def test_figures_computed_from_scores_agree_however_they_are_rounded(
    scores: list[float], digits: tuple[int, int]
) -> None:
    count = len(scores)
    error = round(statistics.stdev(scores) / math.sqrt(count), digits[1])
    for deviation in (statistics.stdev(scores), statistics.pstdev(scores)):
        rounded = round(deviation, digits[0])
        # A zero is taken at its word: it does not show what it was rounded from.
        assert not (rounded and error) or error_over(rounded, count, error) == []


@given(scores=SAMPLES, factor=st.sampled_from([0.5, 0.8, 1.25, 2.0]))
@bounded(max_examples=examples(200))
def test_figures_that_are_off_by_more_than_their_digits_do_not_agree(
    scores: list[float], factor: float
) -> None:
    deviation, count = statistics.stdev(scores), len(scores)
    error = factor * deviation / math.sqrt(count)
    # Numbers that come out short, as 0.5 does, may have been rounded from far away.
    assume(deviation > 0.001 and min(map(decimals, (deviation, error))) >= 6)
    # By the root of n - 1 an error is larger by at most a factor of 1.2247, for n = 3.
    assert error_over(deviation, count, error)


NEAR = [0, 1e-16, 1e-13, 1e-12, 1e-11, 3e-11, 1e-10, 1e-9, 2e-9, 3e-9, 1e-8, 1e-3]
"""Relative differences on both sides of every limit of a comparison."""


@given(
    st.floats(1e-120, 1e120, allow_nan=False),
    st.integers(1, 10**9),
    st.sampled_from(NEAR),
    st.sampled_from([-1, 1]),
    st.booleans(),
)
def test_an_error_is_compared_with_the_same_result_by_floats_and_by_digits(
    deviation: float, samples: int, off: float, sign: int, as_of_less: bool
) -> None:
    count = max(samples - 1, 1) if as_of_less else samples
    error = deviation / math.sqrt(count) * (1 + sign * off)
    document = one_result(
        uncertainty={
            "standard_error": {"value": error},
            "standard_deviation": deviation,
            "num_samples": samples,
        }
    )
    follows = read(document).claims[0].error_follows()
    assert bool(said("ES703", document)) != follows


@given(st.floats(-2, 2), st.sampled_from(NEAR), st.sampled_from([-1, 1]), st.booleans())
def test_a_score_is_compared_with_its_interval_by_floats_and_by_digits(
    score: float, off: float, sign: int, is_lower: bool
) -> None:
    end = score * (1 + sign * off)
    bounds = {"lower": end, "upper": 3} if is_lower else {"lower": -3, "upper": end}
    document = one_result(
        score, metric={"min_score": -9, "max_score": 9}, uncertainty={"confidence_interval": bounds}
    )
    outside = read(document).claims[0].outside_its_interval()
    assert bool(said("ES702", document)) == outside


def decimals(value: float) -> int:
    """Count the digits behind the point of a number as it is written."""
    return -int(Decimal(repr(value)).as_tuple().exponent)


def wilson(right: int, count: int) -> tuple[float, float]:
    """Compute Wilson's interval of 95 % by the textbook."""
    square = 1.959963984540054**2
    middle = (right + square / 2) / (count + square)
    spread = math.sqrt(right * (count - right) / count + square / 4) * math.sqrt(square)
    return middle - spread / (count + square), middle + spread / (count + square)


# Coarser digits, or more samples, round both ends to a whole number, which shows no digits.
@given(count=st.integers(1, 300), share=st.floats(0, 1), digits=st.integers(2, 17))
@example(count=10, share=1.0, digits=17)
@bounded(max_examples=examples(300))
def test_a_share_lies_within_its_own_interval_however_it_is_rounded(
    count: int, share: float, digits: int
) -> None:
    right = round(share * count)
    lower, upper = (round(edge, digits) for edge in wilson(right, count))
    interval = {"confidence_interval": {"lower": lower, "upper": upper}}
    assert said("ES702", one_result(right / count, uncertainty=interval)) == []


@each(
    ("identity", "wrong"),
    [
        ("bench/acme/acorn-7b/1760000000", False),
        ("bench/acme_acorn-7b/1760000000.5", False),
        ("a/b/c/d/1760000000", False),
        ("livebench/2024-11-25/gpt-4o", False),
        ("alpaca_eval_2/gpt-4o@cd543a14aaaa", False),
        ("benchpress/third_party/acme_x/1760000000/abc123", False),
        ("paperswithcode/acme_acorn-7b/2025-10-09", False),
        ("aixamine/acme_acorn-7b/68e5d8a2f1b2c3d4e5f60718", False),
        ("terminal-bench-2/12ab34cd", False),
        ("bench/1760000000", False),
        ("bench/model/2025-10-09T08:53:20Z", False),
        ("bench/model/1760000000000", False),
        ("bench/model/-1760000000", False),
        ("1760000000", True),
        ("bench", True),
        ("bench:model:1760000000", True),
        ("", True),
        ("/", True),
        ("bench//1760000000", True),
        ("bench/ /1760000000", True),
        ("bench/model/", True),
        ("/model/1760000000", True),
        (5, False),
        (None, False),
    ],
)
def test_an_evaluation_id_has_parts_and_none_is_empty(identity: Any, wrong: bool) -> None:
    document = {**one_result(), "evaluation_id": identity}
    assert said("ES704", document) == wrong * [("/evaluation_id", WARNING)]


@each(
    ("retrieved", "wrong"),
    [
        ("1760000000", False),
        ("1760000000.1234567", False),
        ("1760000000000", False),  # milliseconds
        ("1.76e9", False),
        ("0", False),
        (1, False),
        ("", True),
        (" ", True),
        ("now", True),
        ("nan", True),
        ("-1", True),
        ("2025-10-09T08:53:20Z", True),
        ("2025-10-09", True),
        ("1760000000\n", True),
        ("١٧٦٠٠٠٠٠٠٠", True),  # digits, but none that int() of other languages reads
    ],
)
def test_a_retrieved_timestamp_is_a_number(retrieved: Any, wrong: bool) -> None:
    document = {**one_result(), "retrieved_timestamp": retrieved}
    assert said("ES704", document) == wrong * [("/retrieved_timestamp", WARNING)]


@each(
    ("uncertainty", "expected"),
    [
        ({"standard_error": {"value": 0, "method": "bootstrap"}}, [""]),
        ({"confidence_interval": {"method": "Percentile Bootstrap"}}, [""]),
        ({"standard_error": RESAMPLED, "confidence_interval": RESAMPLED}, [""]),
        ({"standard_error": RESAMPLED, "num_bootstrap_samples": 1}, []),
        ({"standard_error": RESAMPLED, "num_bootstrap_samples": 0}, ["/num_bootstrap_samples"]),
        ({"standard_error": {"method": "jackknife"}}, []),
        ({"standard_error": {"method": ["bootstrap"]}}, []),
        ({"num_samples": 0}, ["/num_samples"]),
        ({"num_samples": -1}, ["/num_samples"]),
        ({"num_samples": 1}, []),
        ({"num_samples": False}, []),
        ({"num_samples": "0"}, []),
    ],
)
def test_bootstraps_have_samples(uncertainty: Any, expected: list[str]) -> None:
    found = said("ES705", one_result(uncertainty=uncertainty))
    assert found == [(UNCERTAINTY + place, WARNING) for place in expected]


BOTH = {"deployment_type": "unknown", "model_availability": "unknown"}


@each("version", ["0.1.0", "0.2.0", "0.2.1", "0.2.2", "0.2.3", "0.3.0"])
@pytest.mark.parametrize(
    ("details", "severity"),
    [
        (BOTH, None),
        ({"deployment_type": "unknown"}, WARNING),
        ({**BOTH, "deployment_type": None}, WARNING),
        ({}, INFO),
        (None, INFO),
    ],
)
def test_the_deployment_is_asked_for_where_the_schema_does_not(
    version: str, details: Any, severity: Severity | None, tmp_path: Path
) -> None:
    document = {**one_result(), "schema_version": version}
    document["model_info"]["additional_details"] = details
    path = tmp_path / "aggregate.json"
    path.write_text(json.dumps(document))
    asked = severity is not None and version not in ("0.2.3", "0.3.0")
    for profile, expected in (("default", severity), ("datastore", ERROR)):
        found = evalstream.check(path, select=("ES706",), profile=profile)
        places = [(finding.pointer, finding.severity) for finding in found]
        assert places == asked * [("/model_info", expected)]


@each(
    ("declared", "least", "is_old"),
    [
        ("0.2.2", None, True),
        ("0.2.0", None, True),
        ("0.2.3", None, True),
        ("0.3.0", None, False),
        ("0.3.1", None, False),
        ("1.0", None, False),
        ("0.2.2", "0.2.2", False),
        ("0.2.2", "0.2.3", True),
        ("0.3.0", "0.4.0", True),
        ("newest", None, False),
        (3, None, False),
    ],
)
def test_a_store_takes_no_record_of_an_earlier_version(
    declared: Any, least: str | None, is_old: bool, tmp_path: Path
) -> None:
    document = {**one_result(), "schema_version": declared}
    path = tmp_path / "aggregate.json"
    path.write_text(json.dumps(document))
    options: dict[str, Any] = {} if least is None else {"store_version": least}
    found = evalstream.check(path, select=("ES911",), profile="datastore", **options)
    assert [(one.code, one.found) for one in found] == is_old * [("ES911", declared)]
    assert not evalstream.check(path, **options).counts.get("ES911")


def test_a_store_takes_no_rows_of_an_earlier_version(tmp_path: Path) -> None:
    rows = sound_rows("0.3.0")
    for row in rows[2:]:
        row["schema_version"] = "0.2.2"
    path, aggregate = tmp_path / "run.jsonl", tmp_path / "aggregate.json"
    path.write_bytes(bytes_of(rows))
    aggregate.write_text(json.dumps(aggregate_of("0.3.0", path.read_bytes(), len(rows))))
    (found,) = evalstream.check(path, aggregate=aggregate, select=("ES911",))
    assert (found.file, found.count) == (str(path), len(rows) - 2)
    assert "first on line 3" in found.message


def identified(identity: str, **changes: Any) -> dict[str, Any]:
    """Make an aggregate with an evaluation_id."""
    return {**one_result(), "evaluation_id": identity, **changes}


@each(
    ("identity", "model", "faults"),
    [
        ("tiny/acme/acorn-7b/1760000000", "acme/acorn-7b", 0),
        ("tiny/acme_acorn-7b/1760000000.0", "acme/acorn-7b", 0),
        ("tiny/hf_acme_acorn-7b/1760000000", "acme/acorn-7b", 0),
        ("tiny/ACME Acorn 7B/1760000000", "acme/acorn-7b", 0),
        ("tiny/acorn-7b/1760000000", "acme/acorn-7b", 0),
        ("tiny/inference/acme/acorn-7b/1760000000", "acme/acorn-7b", 0),
        ("tiny/agent__acorn-7b__high/1760000000", "acme/acorn-7b", 0),
        ("tiny/acorn-2.5:7b/1760000000", "acme/acorn2.5-7b", 0),
        ("tiny/acorn-4-5-sonnet/1760000000", "acme/acorn-sonnet-4.5", 0),
        ("tiny/agent/acorn-3-february-2025/1760000000", "acme/acorn-3-20250219", 0),
        ("tiny/acorn-large/1760000000", "acme/acorn-large-latest", 0),
        ("tiny/2024-11-25/acorn-7b", "acme/acorn-7b", 0),
        ("harness/tiny-arithmetic/1760000000", "acme/acorn-7b", 0),
        ("tiny/1760000000", "acme/acorn-7b", 0),
        ("tiny", "acme/acorn-7b", 0),
        ("tiny/acme/acorn-7b/0b5c61c6a5", "acme/acorn-7b", 0),
        ("tiny/acme/acorn-7b/2025-10-09", "acme/acorn-7b", 0),
        ("tiny/acme/acorn-7b/2025-10-09T08:53:20Z", "acme/acorn-7b", 0),
        ("tiny/acme/acorn-7b/1760000000123", "acme/acorn-7b", 0),
        ("tiny/acme/acorn-7b/1759999000", "acme/acorn-7b", 0),  # evaluation_timestamp
        ("tiny/other/oak-70b/1760000000", "acme/acorn-7b", 1),
        ("tiny/oak-70b/1760000000", "acme/acorn-7b", 1),
        ("tiny/acorn-7b/1760000000", "acme/acorn-7b-chat", 0),  # perhaps a shorter name
        ("tiny/other/oak-70b/run-3", "acme/acorn-7b", 1),
        ("tiny/acme/acorn-7b/1660000000", "acme/acorn-7b", 1),
        ("tiny/acme/acorn-7b/2024-10-09T08:53:20Z", "acme/acorn-7b", 1),
        ("tiny/1660000000/acorn-7b", "acme/acorn-7b", 1),
        ("other/other/oak-70b/1660000000", "acme/acorn-7b", 2),
    ],
)
def test_an_id_names_the_model_and_the_time_of_its_run(
    identity: str, model: str, faults: int
) -> None:
    document = identified(identity)
    document["model_info"] = {"id": model, "name": "unnamed"}
    assert said("ES709", document) == faults * [("/evaluation_id", WARNING)]


def test_an_id_is_compared_only_with_what_is_known() -> None:
    other = "tiny/other/oak-70b/1660000000"
    for changes, faults in (
        ({"retrieved_timestamp": "yesterday", "evaluation_timestamp": "soon"}, 1),
        ({"retrieved_timestamp": 5, "evaluation_timestamp": None, "model_info": []}, 0),
        ({"model_info": {"name": "Oak 70B", "id": "x/y"}}, 1),
        ({"evaluation_results": None}, 2),
    ):
        assert len(said("ES709", identified(other, **changes))) == faults, changes
    assert said("ES709", {**one_result(), "evaluation_id": None}) == []


JUDGE = {"model_info": {"name": "Judge", "id": "acme/judge"}}


@each(
    ("place", "value", "expected"),
    [
        ("evaluation_timestamp", "1759999000", None),
        ("evaluation_timestamp", "1759999000.25", None),
        ("evaluation_timestamp", "1759999000123", None),
        ("evaluation_timestamp", "2025-10-09", None),
        ("evaluation_timestamp", "9 October 2025", None),
        ("evaluation_timestamp", "2025-10-09T08:53:20+02:00", None),
        ("evaluation_timestamp", "1760050000", None),  # within a day
        ("evaluation_timestamp", 7, None),
        ("evaluation_timestamp", "garbage", WARNING),
        ("evaluation_timestamp", "", WARNING),
        ("evaluation_timestamp", "1770000000", WARNING),
        ("evaluation_timestamp", "2031-01-01", WARNING),
        ("evaluation_results/0/evaluation_timestamp", "none", WARNING),
        ("source_metadata/source_organization_url", "https://acme.example/a?b=c", None),
        ("source_metadata/source_organization_url", "www.acme.example", None),
        ("source_metadata/source_organization_url", "the usual place", WARNING),
        ("source_metadata/source_organization_logo_url", "data:image/png;base64,AAAA", None),
        ("source_metadata/source_organization_logo_url", "logo", WARNING),
        ("evaluation_results/0/source_data/url", ["https://a.example", "nowhere"], "url/1"),
        ("evaluation_results/0/source_data/url", [7, None], None),
        ("evaluation_results/0/source_data/hf_split", "validation", None),
        ("evaluation_results/0/source_data/hf_split", "garbage", INFO),
        ("evaluation_results/0/source_data/hf_split", None, None),
        ("evaluation_results/0/source_data/samples_number", 0, None),
        ("evaluation_results/0/source_data/samples_number", -1, WARNING),
        ("evaluation_results/0/metric_config/level_metadata", ["a", "b"], None),
        ("evaluation_results/0/metric_config/level_metadata", ["a"], WARNING),
        ("evaluation_results/0/generation_config/generation_args/temperature", 0, None),
        ("evaluation_results/0/generation_config/generation_args/temperature", 7, None),
        ("evaluation_results/0/generation_config/generation_args/temperature", None, None),
        ("evaluation_results/0/generation_config/generation_args/temperature", -0.1, WARNING),
        ("evaluation_results/0/generation_config/generation_args/top_p", 1, None),
        ("evaluation_results/0/generation_config/generation_args/top_p", 1.1, WARNING),
        ("evaluation_results/0/generation_config/generation_args/top_p", -1, WARNING),
        ("evaluation_results/0/generation_config/generation_args/top_k", -1, None),  # switched off
        ("evaluation_results/0/generation_config/generation_args/max_attempts", -1, WARNING),
        (
            "evaluation_results/0/generation_config/generation_args/eval_limits/token_limit",
            -5,
            WARNING,
        ),
    ],
)
def test_a_value_is_what_its_description_says(place: str, value: Any, expected: Any) -> None:
    document = one_result(metric={"level_names": ["no", "yes"]})
    (result,) = document["evaluation_results"]
    result["generation_config"] = {"generation_args": {"eval_limits": {}}}
    *path, last = place.split("/")
    owner: Any = document
    for key in path:
        owner = owner[int(key) if isinstance(owner, list) else key]
    owner[last] = value
    if expected == "url/1":
        assert said("ES710", document) == [(f"/{place}/1", WARNING)]
    else:
        assert said("ES710", document) == ([] if expected is None else [(f"/{place}", expected)])


@each(
    ("member", "value", "place"),
    [
        ("metric_config", {"metric_unit": "proportion", "max_score": 1.0}, None),
        ("metric_config", {"metric_unit": "proportion", "max_score": "Infinity"}, None),
        ("metric_config", {"metric_unit": "points", "max_score": 10}, None),
        ("metric_config", {"metric_unit": "proportion", "max_score": 10}, "max_score"),
        ("metric_config", {"metric_unit": "percent", "max_score": 100.0}, None),
        ("metric_config", {"metric_unit": "percent", "max_score": 1}, "max_score"),
        ("model_args", "pretrained=acme/acorn-7b,dtype=float16", None),
        ("model_args", "{'pretrained': 'Acme-AI/Acorn-7B'}", None),
        ("model_args", "pretrained=/models/step-100", None),
        ("model_args", "pretrained=other/oak-7b,peft=acme/acorn-7b", None),
        ("model_args", "pretrained=other/oak-7b,lora_local_path=acme/acorn-7b", None),
        ("model_args", "not_pretrained=other/oak-7b", None),
        ("model_args", "pretrained=acme/Acme-acorn-7b-hf", None),
        ("model_args", "pretrained=checkpoints/step-100", None),
        ("model_args", "pretrained=acme/acorn-7b-chat", "model_args"),
        ("model_args", "pretrained=acme/acorn-70b", "model_args"),
        ("model_args", "pretrained=other/oak-7b", "model_args"),
        ("model_args", "{'dtype': 'auto', 'pretrained': 'other/oak-7b'}", "model_args"),
    ],
)
def test_bounds_fit_their_unit_and_arguments_their_model(
    member: str, value: Any, place: str | None
) -> None:
    document = one_result()
    if member == "model_args":
        document["model_info"] |= {"id": "acme/acorn-7b", "additional_details": {member: value}}
    else:
        document["evaluation_results"][0][member] |= value
    found = [pointer.rpartition("/")[2] for pointer, _ in said("ES710", document)]
    assert found == ([] if place is None else [place])


@each(
    ("scoring", "places"),
    [
        ({"judges": [JUDGE]}, []),
        ({"judges": [JUDGE, JUDGE], "aggregation_method": "average"}, []),
        ({"judges": [JUDGE, JUDGE]}, [""]),
        ({"judges": [JUDGE, JUDGE], "aggregation_method": None}, [""]),
        ({"judges": [{**JUDGE, "weight": 0}]}, []),
        ({"judges": [{**JUDGE, "weight": -0.5}]}, ["/judges/0/weight"]),
        ({"judges": [{**JUDGE, "temperature": -1}]}, ["/judges/0/temperature"]),
        ({"judges": "a jury"}, []),
        ({"judges": [7]}, []),
        ([], []),
    ],
)
def test_a_jury_says_how_it_decides(scoring: Any, places: list[str]) -> None:
    where = "/evaluation_results/0/metric_config/llm_scoring"
    document = one_result(metric={"llm_scoring": scoring})
    assert said("ES710", document) == [(where + place, WARNING) for place in places]


@each(
    ("place", "value", "expected"),
    [
        ("model_info/developer", "acme", False),
        ("model_info/developer", "", True),
        ("model_info/name", "\u00a0", True),
        ("model_info/id", " ", True),
        ("model_info/name", None, False),
        ("model_info", "acme/acorn-7b", False),
        ("eval_library/name", "", True),
        ("source_metadata/source_organization_name", "\n", True),
        ("evaluation_results/0/evaluation_name", "", True),
        ("evaluation_results/0/evaluation_result_id", "", True),
        ("evaluation_results/0/source_data/dataset_name", "", True),
        ("evaluation_results/0/metric_config/metric_id", "", True),
        ("evaluation_results/0/source_data/dataset_name", "0", False),
    ],
)
def test_names_say_something(place: str, value: Any, expected: bool) -> None:
    document = put(one_result(), place, value)
    assert said("ES311", document) == expected * [(f"/{place}", WARNING)]


def put(document: Any, place: str, value: Any) -> Any:
    """Write a value to a place of a document."""
    *path, last = place.split("/")
    owner = document
    for key in path:
        owner = owner[int(key)] if isinstance(owner, list) else owner.setdefault(key, {})
    owner[last] = value
    return document


@each(
    ("results", "expected"),
    [
        ([("acc", "acc"), ("acc_norm", "acc_norm")], []),
        ([("acc", "acc_norm"), ("acc_norm", "acc")], [(1, ERROR)]),
        ([("judge:mean", "std"), ("judge:std", "mean")], [(1, ERROR)]),
        ([("f1", "f1"), ("acc", "acc_norm"), ("x", "y"), ("acc_norm", "acc")], [(3, ERROR)]),
        ([("a:acc", "acc"), ("a:std", "std"), ("b:acc", "std"), ("b:std", "acc")], [(3, ERROR)]),
        ([("acc", "Accuracy"), ("acc_norm", "Accuracy, normalised")], []),
        ([("acc", "acc_norm"), ("acc_norm", "acc_norm")], [(0, WARNING)]),
        ([("acc", "acc_norm"), ("other", "acc")], []),
        ([(None, "acc_norm"), (7, "acc")], []),
        ([("acc", None), ("acc_norm", ["acc"])], []),
    ],
)
def test_ids_name_the_metrics_of_their_results(
    results: list[tuple[Any, Any]], expected: list[tuple[int, Severity]]
) -> None:
    document = one_result()
    (result,) = document["evaluation_results"]
    document["evaluation_results"] = [
        {**result, "evaluation_result_id": identity, "metric_config": {"metric_name": name}}
        for identity, name in results
    ]
    where = "/evaluation_results/{}/metric_config/metric_name"
    assert said("ES807", document) == [(where.format(place), one) for place, one in expected]


@each(
    ("name", "identity", "expected"),
    [
        ("Acorn 7B", "acme/acorn-7b", False),
        ("acorn7b", "acme/ACORN-7B", False),
        ("hf/acme/acorn-7b", "acme/acorn-7b", False),
        ("o3 (high)", "openai/o3", False),
        ("Command R+", "cohere/c4ai-command-r-plus", False),
        ("Acme's model", "acme/step-100", False),
        ("\u901a\u4e49\u5343\u95ee", "alibaba/qwen", False),
        ("...", "acme/acorn-7b", False),
        (7, "acme/acorn-7b", False),
        ("Oak 70B", "acme/acorn-7b", True),
        ("wood/oak-70b", "acme/acorn-7b", True),
    ],
)
def test_a_name_has_something_of_the_id(name: Any, identity: str, expected: bool) -> None:
    document = one_result()
    document["model_info"] |= {"name": name, "id": identity}
    assert said("ES710", document) == expected * [("/model_info/name", WARNING)]


@each(
    ("time", "expected"),
    [
        ("1514764800", False),
        ("1514764799", True),
        ("17", True),
        ("0", True),
        ("1760000000000", False),
        ("1000000000000", True),
        ("2025", False),
        ("20250128", False),
        ("2017-05-01", False),
        (17, False),
    ],
)
def test_no_run_is_older_than_its_models(time: Any, expected: bool) -> None:
    for place in ("retrieved_timestamp", "evaluation_results/0/evaluation_timestamp"):
        found = [pointer for pointer, _ in said("ES710", put(one_result(), place, time))]
        assert (f"/{place}" in found) == expected


def test_no_time_is_later_than_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_760_000_000.0)
    for seconds, expected in (("1760080000", []), ("1760090000", ["/retrieved_timestamp"])):
        document = put(one_result(), "retrieved_timestamp", seconds)
        assert [pointer for pointer, _ in said("ES710", document)] == expected
    del document["retrieved_timestamp"]
    document["evaluation_timestamp"] = "2025-10-11T10:13:20Z"
    assert [pointer for pointer, _ in said("ES710", document)] == ["/evaluation_timestamp"]


@each(
    ("described", "name", "expected"),
    [
        ("accuracy from scorer choice", "accuracy", False),
        ("accuracy from scorer choice", "f1", True),
        ("exact_match (filter: strict)", "acc", True),
        ("exact_match (filter: strict)", None, False),
        ("exact_match (filter: strict)", "Exact match", False),
        ("acc_norm (filter: strict)", "Normalized accuracy", False),
        ("mcc (filter: none)", "Matthews correlation coefficient", False),
        ("exact_match (filter: strict)", "Perplexity per word", True),
        ("accuracy on sums", "f1", False),
        ("share of right answers from scorer choice", "f1", False),
    ],
)
def test_a_metric_has_the_name_of_its_description(
    described: str, name: Any, expected: bool
) -> None:
    metric = {"evaluation_description": described, "metric_name": name}
    where = "/evaluation_results/0/metric_config/metric_name"
    assert said("ES807", one_result(metric=metric)) == expected * [(where, WARNING)]


@each(
    ("key", "name", "other", "expected"),
    [
        ("metric_id", "exact_match", "f1", True),
        ("metric_id", "accuracy", "word-perplexity", True),
        ("metric_kind", "accuracy", "f1", True),
        ("metric_kind", "F1 score", "accuracy", False),
        ("evaluation_description", "rouge_l", "exact_match", True),
        ("evaluation_description", "rouge_l", "share of exact matches", False),
        ("metric_id", "exact_match", "accuracy", False),
        ("metric_id", "pass@1", "accuracy", False),
        ("metric_id", "prompt_strict_acc", "inspect_ai.prompt_strict_acc", False),
        ("metric_kind", "rouge_l", "text_overlap", False),
        ("metric_id", None, "f1", False),
    ],
)
def test_an_id_is_of_the_metric_that_the_name_says(
    key: str, name: Any, other: str, expected: bool
) -> None:
    where = f"/evaluation_results/0/metric_config/{key}"
    found = said("ES807", one_result(metric={"metric_name": name, key: other}))
    assert found == expected * [(where, WARNING)]


@each(
    ("metric", "expected"),
    [
        ({"metric_name": "accuracy", "lower_is_better": True}, True),
        ({"evaluation_description": "exact_match", "lower_is_better": True}, True),
        ({"metric_name": "quasi_exact_match@5", "lower_is_better": True}, True),
        ({"metric_name": "rouge_l", "lower_is_better": True}, True),
        ({"metric_name": "macro_f1", "lower_is_better": True}, True),
        ({"metric_name": "wer", "lower_is_better": True}, False),
        ({"metric_name": "accuracy gap", "lower_is_better": True}, False),
        ({"metric_name": "accuracy", "lower_is_better": False}, False),
    ],
)
def test_of_no_accuracy_lower_is_better(metric: dict[str, Any], expected: bool) -> None:
    where = "/evaluation_results/0/metric_config/lower_is_better"
    assert said("ES807", one_result(metric=metric)) == expected * [(where, WARNING)]


@each(
    ("settings", "planned", "expected"),
    [
        ({"temperature": 0.0}, {"temperature": "0"}, []),
        ({"temperature": 0.0}, {"temperature": 0}, []),
        ({"temperature": 0.0}, {"top_p": "0.9"}, []),
        ({"temperature": 0.0}, {"temperature": "default"}, []),
        ({"temperature": None}, {"temperature": "0.7"}, []),
        ({"temperature": 0.0}, {"temperature": "0.7"}, ["temperature"]),
        ({"max_tokens": 64, "top_p": 1}, {"max_tokens": 32, "top_p": 1}, ["max_tokens"]),
    ],
)
def test_settings_are_those_of_the_plan(
    settings: dict[str, Any], planned: dict[str, Any], expected: list[str]
) -> None:
    where = "/evaluation_results/0/generation_config/generation_args"
    arguments = {**settings, "eval_plan": {"config": planned}}
    document = put(one_result(), where[1:], arguments)
    assert said("ES710", document) == [(f"{where}/{name}", WARNING) for name in expected]


@each(
    ("metric", "expected"),
    [
        ({"metric_name": "accuracy", "min_score": -1}, True),
        ({"metric_name": "x", "metric_id": "exact_match", "min_score": -0.5}, True),
        ({"metric_name": "accuracy", "min_score": 0}, False),
        ({"metric_name": "accuracy_gain", "min_score": -1}, False),
        ({"metric_name": "mcc", "min_score": -1}, False),
        ({"metric_name": ["accuracy"], "min_score": -1}, False),
    ],
)
def test_no_accuracy_is_below_0(metric: Any, expected: bool) -> None:
    assert said("ES710", one_result(metric=metric)) == expected * [(LEAST, WARNING)]


def test_a_missing_deployment_is_said_once_in_every_version(tmp_path: Path) -> None:
    for version in VERSIONS:
        document = aggregate_of(version, b"", 0)
        del document["model_info"]["additional_details"]["deployment_type"]
        path = tmp_path / f"{version}.json"
        path.write_text(json.dumps(document))
        found = evalstream.check(path, select=("ES2", "ES706"), ignore=("ES216",))
        assert [finding.code for finding in found] == ["ES706" if version == "0.2.0" else "ES201"]


@each(
    ("ids", "repeated"),
    [
        (["a", "b"], []),
        (["a", "b", "a"], [2]),
        (["a", "a", "a"], [1, 2]),
        (["a", "A", "a "], []),
        ([None, None], []),
        ([1, 1, [], []], []),
        (["", ""], [1]),
    ],
)
def test_a_repeated_id_is_found_at_each_later_place(ids: list[Any], repeated: list[int]) -> None:
    results = [{"evaluation_result_id": identity} for identity in ids]
    assert said("ES606", {"evaluation_results": results}) == [
        (f"/evaluation_results/{place}/evaluation_result_id", ERROR) for place in repeated
    ]


def result(name: Any, dataset: Any = None, identity: Any = None, repository: Any = None) -> Any:
    """Make a result as far as rows are concerned with it."""
    return {
        "evaluation_name": name,
        "evaluation_result_id": identity,
        "source_data": {"dataset_name": dataset, "hf_repo": repository},
    }


def violations_of_row(
    code: str, results: Any, row: dict[str, Any], version: str = ""
) -> list[Violation]:
    """Return what a rule says of a row beside an aggregate with some results."""
    rule, aggregate = CATALOGUE[code], read({"evaluation_id": "e", "evaluation_results": results})
    assert rule.row is not None
    check = rule.row(
        EngineContext(
            Options(),
            version=version,
            evaluation_id=aggregate.evaluation_id,
            evaluation_names=aggregate.evaluation_names,
            results=aggregate.joinable,
        )
    )
    return [] if check is None else list(check(row))


OLD = [result("accuracy on arc_easy for scorer choice", "ai2_arc")]
HELM = [result("exact_match test on mmlu", "mmlu"), result("f1 on reading on race", "race")]
HUB = [result("match", "gsm8k", None, "openai/gsm8k"), result("exact", "lingoly")]
NAMED = [result("mmlu"), result("gsm8k"), result("humaneval")]
JOINED = [result("mmlu", identity="acc"), result("gsm8k", identity="match")]


@each(
    ("results", "name", "identity", "foreign"),
    [
        (NAMED, "mmlu", None, False),
        (NAMED, "never heard of", None, True),
        (OLD, "accuracy on arc_easy for scorer choice", None, False),
        (OLD, "arc_easy", None, False),
        (OLD, "ai2_arc", None, False),
        (OLD, "allenai/ai2_arc", None, False),
        (OLD, "arc", None, True),
        (OLD, "choice", None, True),  # a scorer is not an evaluation, nor is a metric
        (OLD, "accuracy", None, True),
        (OLD, "for", None, True),
        (HELM, "mmlu", None, False),
        (HELM, "race", None, False),
        (HELM, "reading on race", None, False),
        (HELM, "test", None, True),
        (HUB, "openai/gsm8k", None, False),
        (HUB, "inspect_evals/lingoly", None, False),
        (HUB, "inspect_evals/lingoly_too", None, True),
        (NAMED, "mmlu/philosophy", None, False),
        (NAMED, "mmlu:philosophy", None, False),
        (NAMED, "mmlu-pro", None, True),  # other benchmarks, not parts of it
        (NAMED, "mmlu_pro", None, True),
        (NAMED, "gsm8k_platinum", None, True),
        (NAMED, "humaneval+", None, True),
        (NAMED, "mmlupro", None, True),
        (NAMED, "mml", None, True),
        (NAMED, "", None, True),
        (JOINED, "mmlu_philosophy", "acc", False),  # the id says that it is a part
        (JOINED, "mmlu_philosophy", "match", True),
        (JOINED, "mmlu_philosophy", "unknown", True),
        (JOINED, "mmlupro", "acc", True),
        (JOINED, "never heard of", "acc", True),
        (NAMED, 5, None, False),
        (NAMED, ["mmlu"], [], False),
    ],
)
def test_a_name_from_elsewhere_is_foreign(
    results: Any, name: Any, identity: Any, foreign: bool
) -> None:
    row = {"evaluation_name": name, "evaluation_result_id": identity}
    violations = violations_of_row("ES605", results, row)
    assert [violation.pointer for violation in violations] == foreign * ["/evaluation_name"]


@each(
    ("results", "version", "identity", "unknown"),
    [
        (JOINED, "0.3.0", "acc", False),
        (JOINED, "0.3.0", "Acc", True),
        (JOINED, "0.2.0", "other", True),
        (JOINED, None, "other", True),
        (NAMED, "0.3.0", "other", True),
        (NAMED, "0.2.2", "other", True),
        (NAMED, "0.2.1", "other", False),  # no more than a key that 0.2.0 does not know
        (NAMED, "0.2.0", "other", False),
        (NAMED, "instance_level_eval_0.2.1", "other", False),
        (NAMED, "0.2.1.post1", "other", False),
        (NAMED, None, "other", False),
        ([], "0.3.0", "other", True),
        ([], "0.2.0", "other", False),
        (JOINED, "0.3.0", None, False),
        (JOINED, "0.3.0", 7, False),
        (JOINED, ["0.3.0"], {}, False),
    ],
)
def test_an_id_of_no_result_is_unknown(
    results: Any, version: Any, identity: Any, unknown: bool
) -> None:
    row = {"schema_version": version, "evaluation_result_id": identity}
    violations = violations_of_row("ES603", results, row, "0.2.0")
    assert [violation.pointer for violation in violations] == unknown * ["/evaluation_result_id"]


@pytest.mark.parametrize("code", LINK_RULES)
def test_without_an_aggregate_no_name_is_unknown(code: str) -> None:
    rule = CATALOGUE[code]
    assert rule.row is not None
    assert rule.row(EngineContext(Options())) is None


ODD_NUMBERS = st.sampled_from(
    [HUGE, -HUGE, 10**390, 1e308, 5e-324, -0.0, 1e-300, 2**63, "Infinity", "-Infinity", "NaN"]
)


@st.composite
def spoilt_aggregates(draw: st.DrawFn) -> Any:
    """Draw an aggregate with some values changed for others of any type, at any depth."""
    document: Any = aggregate_of(draw(st.sampled_from(VERSIONS)), b"", 0)
    interval = {"lower": 0.5, "upper": 0.9, "confidence_level": 0.95, "method": "bootstrap"}
    details = document["evaluation_results"][0]["score_details"]
    details["uncertainty"]["confidence_interval"] = interval
    document["evaluation_results"].append(copy.deepcopy(document["evaluation_results"][0]))
    if draw(st.booleans()):
        document["evaluation_results"][1]["metric_config"] |= copy.deepcopy(LEVELS)
    for _ in range(draw(st.integers(1, 4))):
        # Half of the changes go where the rules look.
        every: list[Place] = list(places(document))
        deep = [place for place in every if "score_details" in place or "metric_config" in place]
        place = draw(st.sampled_from(deep if deep and draw(st.booleans()) else every))
        owner, key = at(document, place[:-1]), place[-1]
        if draw(st.integers(0, 4)):
            owner[key] = draw(st.one_of(ODD_VALUES, ODD_NUMBERS))
        else:
            del owner[key]
        if not document:
            break
    return document


@given(document=spoilt_aggregates(), row=st.sampled_from(sound_rows("0.3.0", 2)), odd=ODD_VALUES)
@example(
    one_result(
        uncertainty={"standard_deviation": 0.5, "num_samples": HUGE, "standard_error": {"value": 1}}
    ),
    {},
    None,
)
@bounded(max_examples=examples(500))
def test_no_rule_raises_whatever_the_aggregate_is(document: Any, row: Any, odd: Any) -> None:
    aggregate = read(document)
    for code in AGGREGATE_RULES:
        rule = CATALOGUE[code]
        assert rule.aggregate is not None
        for violation in rule.aggregate(aggregate):
            assert violation.code == code
            assert violation.pointer is not None
            # Where the fault points there is something, or something is missing from it.
            if violation.pointer:
                owner = violation.pointer.rsplit("/", 1)[0]
                assert resolves(aggregate.document, owner), violation
    results = document.get("evaluation_results")
    for code in LINK_RULES:
        for key in ("schema_version", "evaluation_name", "evaluation_result_id"):
            violations_of_row(code, results, {**row, key: odd})


def resolves(document: Any, pointer: str) -> bool:
    """Tell whether a pointer leads to something."""
    try:
        for part in pointer.split("/")[1:]:
            document = document[int(part) if isinstance(document, list) else part]
    except (KeyError, IndexError, TypeError, ValueError):
        return False
    return True


@given(document=spoilt_aggregates())
@bounded(max_examples=examples(60))
def test_a_run_is_reported_whatever_its_aggregate_is(
    tmp_path_factory: pytest.TempPathFactory, document: Any
) -> None:
    folder = tmp_path_factory.mktemp("run")
    rows, path = folder / "rows.jsonl", folder / "aggregate.json"
    rows.write_bytes(bytes_of(sound_rows("0.3.0", 2)))
    path.write_text(json.dumps(document))
    report = evalstream.check(rows, aggregate=path, jobs=1)
    assert report.exit_code in (0, 1)
    assert [finding.as_dict() for finding in report]
