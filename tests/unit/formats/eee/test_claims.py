"""Claims compared with rows: exact sums, the digits of a claim, and the findings of the report."""

import json
import math
import statistics
import zlib
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from each import each
from hypothesis import example, given
from hypothesis import strategies as st
from rows import Row, aggregate_of, bounded, bytes_of, hashed, sound_rows

import evalstream
from evalstream.engine import row_pass
from evalstream.formats.eee.claims import Claims, read_claims
from evalstream.formats.eee.details import read_details
from evalstream.model.claim import Reason, State
from evalstream.model.finding import Severity
from evalstream.stats.claims.evidence import Evidence
from evalstream.stats.claims.intervals import compute_intervals
from evalstream.stats.claims.rounding import WHOLE_BELOW, Agreement, agreement, agrees
from evalstream.stats.coverage import ResultCoverage
from evalstream.stats.tally import MOST_SUBTASKS, ScoreSums

NUMBERS = st.one_of(
    st.sampled_from([0, 1, True, False, 0.0, 1.0, 0.5, -0.0, 5e-324, 1e308, -1e308, 10**400]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**70), 2**70),
)
SAYINGS = st.tuples(
    st.sampled_from(["law", "physics", "history"]),
    st.one_of(NUMBERS, st.sampled_from([None, "1", math.inf, math.nan, []])),
    st.sampled_from([True, False, None, "yes"]),
    st.booleans(),
)
Saying = tuple[str, Any, Any, bool]


def summed(sayings: Sequence[Saying]) -> ScoreSums:
    """Add rows one by one."""
    scores = ScoreSums()
    for name, score, correct, failed in sayings:
        scores.add(name, score, correct, failed=failed, times=1)
    return scores


def finite(sayings: Sequence[Saying]) -> list[tuple[str, Fraction, bool]]:
    """Return what counts: names, finite scores, and whether there was an error."""
    return [
        (name, Fraction(score), failed)
        for name, score, _, failed in sayings
        if isinstance(score, int) or (isinstance(score, float) and math.isfinite(score))
    ]


def mean(values: Sequence[Fraction]) -> Fraction | None:
    """Return a plain mean."""
    return sum(values, Fraction(0)) / len(values) if values else None


@given(sayings=st.lists(SAYINGS, max_size=30))
@bounded(max_examples=examples(200))
def test_sums_are_exact(sayings: list[Saying]) -> None:
    scores, counted = summed(sayings), finite(sayings)
    values = [value for _, value, _ in counted]
    judged = [correct for _, _, correct, _ in sayings if isinstance(correct, bool)]
    assert (scores.rows, scores.unscored) == (len(values), len(sayings) - len(values))
    assert scores.joined_rows == len(sayings)
    assert scores.mean() == mean(values)
    assert scores.mean_without_errors() == mean([value for _, value, bad in counted if not bad])
    assert scores.share_correct() == (Fraction(sum(judged), len(judged)) if judged else None)
    if len(values) > 1:
        assert scores.variance(sample=True) == statistics.variance(values)
        assert scores.variance(sample=False) == statistics.pvariance(values)
    sound = [value for _, value, is_bad in counted if not is_bad]
    if len(sound) > 1:
        assert scores.variance_without_errors(sample=True) == statistics.variance(sound)
        assert scores.variance_without_errors(sample=False) == statistics.pvariance(sound)
    names = {name for name, _, _ in counted}
    means = [mean([value for name, value, _ in counted if name == one]) or 0 for one in names]
    expected = mean([Fraction(one) for one in means]) if len(names) > 1 else None
    assert scores.mean_over_subtasks() == expected


@given(
    sayings=st.lists(SAYINGS, max_size=20),
    cuts=st.lists(st.integers(0, 20), max_size=4),
    order=st.randoms(use_true_random=False),
)
@bounded(max_examples=examples(150))
def test_any_cut_and_any_order_give_the_same_sums(
    sayings: list[Saying], cuts: list[int], order: Any
) -> None:
    edges = [0, *sorted(cuts), len(sayings)]
    parts = [summed(sayings[start:stop]) for start, stop in pairwise(edges)]
    order.shuffle(parts)
    merged = ScoreSums()
    for part in parts:
        merged.merge(part)
    assert merged == summed(sayings)


def test_too_many_subtasks_give_no_mean_over_them_however_they_come() -> None:
    sayings: list[Saying] = [(f"task {n}", n % 2, True, False) for n in range(MOST_SUBTASKS + 1)]
    first, second = summed(sayings[:600]), summed(sayings[600:])
    assert first.mean_over_subtasks() is not None
    first.merge(second)
    assert first == summed(sayings)
    assert first.mean_over_subtasks() is None


@each(
    ("claim", "exact", "expected"),
    [
        ("0.75", Fraction(3, 4), True),
        ("0.7", Fraction(2, 3), True),
        ("0.667", Fraction(2, 3), True),
        ("0.666", Fraction(2, 3), True),
        ("0.665", Fraction(2, 3), False),
        ("0.6666666666666666", Fraction(2, 3), True),
        ("0.66666666666", Fraction(2, 3), True),
        ("0.750", 0.7512, False),
        ("0.75", 0.7512, True),
        ("0.75", 0.7449, False),
        ("0.75", Fraction(745, 1000), True),
        ("75", 75.3, True),
        ("75", 75.9, False),
        ("0.8", 0.899, False),
        ("0.89", 0.8999, False),
        ("0.899", 0.8999, True),
        ("-0.899", -0.8999, True),
        ("0.899", 0.9, False),
        ("75.123", 75.1239, True),
        ("75.12", 75.129, False),
        ("75", 76.0, False),
        ("1", 0.75, False),
        ("1", 0.999, False),
        ("1.0", 0.96, False),
        ("1.0", 0.9994, False),
        ("1.0", 0.9996, True),
        ("1.0", Fraction(9995, 10_000), True),
        ("0.0", 0.04, False),
        ("1.0", 1, True),
        ("0", 0.004, False),
        ("0", 0, True),
        ("0.0", 1e-300, True),
        ("-0.5", -0.52, True),
        ("-0.5", 0.5, False),
        ("7.5E-1", 0.75, True),
        ("7.5e1", 75.04, True),
        ("1e-3", 0.0014, True),
        ("1e2", 100.4, True),
        ("1e2", 140, False),
        ("0.1", math.inf, False),
        ("0.1", math.nan, False),
    ],
)
def test_a_claim_agrees_to_its_digits(claim: str, exact: Any, expected: bool) -> None:
    assert agrees(Decimal(claim), exact) == expected


@each(("claim", "is_full"), [("70", False), ("70.0", True), ("0.70", False), ("0.0700", True)])
def test_three_digits_agree_in_full(claim: str, is_full: bool) -> None:
    near = Fraction(claim) * Fraction(10_003, 10_000)
    assert agreement(Decimal(claim), near) is (Agreement.FULL if is_full else Agreement.ROUGH)


WRITTEN = st.one_of(
    st.builds(
        Decimal,
        st.sampled_from(
            ["0", "-0.0", "1", "1.0", "9.99", "10", "75", "1E400", "-1E-400", "5e-324"]
        ),
    ),
    st.builds(
        lambda value, digits, form: Decimal(f"{value:.{digits}{form}}"),
        st.floats(-1000, 1000) | st.floats(allow_nan=False, allow_infinity=False),
        st.integers(0, 18),
        st.sampled_from("feg"),
    ),
)
"""Numbers as writers of aggregates write them."""

NUDGES = st.sampled_from(
    [Fraction(n, 100) for n in (-101, -100, -51, -50, -49, 0, 49, 50, 51, 100)]
)


def agrees_in_fractions(claim: Decimal, exact: Fraction) -> bool:
    """Say by the book what `agrees` says."""
    claimed, unit = Fraction(claim), Fraction(10) ** min(0, int(claim.as_tuple().exponent))
    difference = abs(claimed - exact)
    stray = max(abs(claimed), abs(exact)) / 10**9
    if difference <= max(stray, Fraction(1, 10**12)):
        return True
    if claimed.denominator == 1 and abs(claimed) < WHOLE_BELOW:
        return difference <= Fraction(1, 2000)
    truncated = 0 <= abs(exact) - abs(claimed) < unit and claimed * exact >= 0
    return difference <= unit / 2 + min(stray, unit / 1000) or (
        truncated and unit <= Fraction(1, 1000)
    )


@given(claim=WRITTEN, other=WRITTEN, nudge=NUDGES, is_near=st.booleans())
@example(Decimal("1000.000000"), Decimal(0), Fraction(-101, 100), True)
@example(Decimal("0.500000000000"), Decimal("0.5000003"), Fraction(0), False)
@bounded(max_examples=examples(300))
def test_digits_are_compared_exactly(
    claim: Decimal, other: Decimal, nudge: Fraction, is_near: bool
) -> None:
    exact = Fraction(other)
    if is_near:
        exact = Fraction(claim) + nudge * Fraction(10) ** int(claim.as_tuple().exponent)
    assert agrees(claim, exact) == agrees_in_fractions(claim, exact)
    assert agrees(claim, exact / 3) == agrees_in_fractions(claim, exact / 3)


def squares_in_fractions(claim: Decimal, decimals: int) -> tuple[Fraction, Fraction]:
    """Return the squares of the least and the largest number that a claim may stand for."""
    """Both have at least three decimals, so that they may have been truncated."""
    size, unit, stray = abs(Fraction(claim)), Fraction(1, 10**decimals), Fraction(1, 10**9)
    return max((size - unit / 2) * (1 - stray), Fraction(0)) ** 2, (
        (size + unit) * (1 + stray)
    ) ** 2


@given(
    deviation=st.decimals(0, 20, places=3),
    error=st.decimals(0, 20, places=5),
    samples=st.integers(1, 500),
    is_near=st.booleans(),
)
@bounded(max_examples=examples(300))
def test_an_error_follows_as_exactly(
    deviation: Decimal, error: Decimal, samples: int, is_near: bool
) -> None:
    if is_near:
        error = (deviation / Decimal(samples).sqrt()).quantize(Decimal("0.00001"))
    if 0 in (deviation % 1, error % 1):
        return  # small whole numbers show no digits of their own
    claims = Claims(deviation=deviation, error=error, num_samples=samples)
    error_least, error_most = squares_in_fractions(error, 5)
    least, most = squares_in_fractions(deviation, 3)
    assert claims.error_follows() == any(
        error_least * count <= most and least <= error_most * count
        for count in (samples, max(samples - 1, 1))
    )


@each(
    "number", ["1e999999999", "1E-999999999", "9" * 4000, "0." + "1" * 5000, "-1e400", "NaN", "-0"]
)
def test_hostile_numbers_are_no_incomplete_reason(number: str) -> None:
    details = f'{{"score": {number}, "uncertainty": {{"num_samples": {number}}}}}'
    text = f'{{"evaluation_results": [{{"score_details": {details}}}]}}'
    for claims in read_claims(text.encode()).values():
        if claims.score is not None:
            agrees(claims.score, 0.5)


@given(text=st.one_of(st.binary(max_size=40), st.text(max_size=40).map(str.encode)))
@bounded(max_examples=examples(100))
def test_any_text_makes_claims_or_none(text: bytes) -> None:
    assert isinstance(read_claims(text), dict)


def test_a_second_error_has_the_draws_of_its_parameters() -> None:
    figures = {"bootstrap_stderr": "0.1", "bootstrap_stderr_params": '{"num_samples": 10}'}
    result = {"score_details": {"score": 0.5, "details": figures}}
    methods = {
        one.name: one.read_method(result) for one in read_details(result, is_in_percent=False)
    }
    assert methods["bootstrap_stderr"] == {"method": "bootstrap", "draws": 10}


def test_a_number_beyond_all_bounds_hides_no_other_claim() -> None:
    text = (
        b'{"x": 1e-99999999999999999999, "evaluation_results": [{"score_details": {"score": 1}}]}'
    )
    assert read_claims(text)[0].score == 1


def test_a_text_nested_too_deep_makes_no_claims() -> None:
    assert read_claims(b"[" * 100_000) == {}


def scored(scores: Sequence[Any], **members: Any) -> list[Row]:
    """Make rows of 0.3.0 with these scores, each of its own sample."""
    rows = []
    for number, score in enumerate(scores):
        row = sound_rows("0.3.0", 1)[0]
        row["sample_id"], row["input"]["raw"] = f"s{number}", f"Question {number}?"
        row["evaluation"] |= {"score": score, "is_correct": score == 1}
        rows.append(hashed({**row, **members}, "json-list"))
    return rows


def run(folder: Path, rows: list[Row], changes: dict[str, Any], **settings: Any) -> Any:
    """Check rows against an aggregate with some members of its first result set; keep ES8."""
    data = bytes_of(rows)
    document = aggregate_of("0.3.0", data, len(rows))
    result = document["evaluation_results"][0]
    result["score_details"] = {"score": 0.75}
    for place, value in changes.items():
        owner: Any = result
        *path, last = place.split("/")
        for key in path:
            owner = owner.setdefault(key, {})
        owner[last] = value
    path, aggregate = folder / "rows.jsonl", folder / "aggregate.json"
    path.write_bytes(data)
    aggregate.write_text(json.dumps(document))
    return evalstream.check(path, aggregate=aggregate, select=("ES8",), **settings)


SCORE, UNCERTAINTY = "score_details/score", "score_details/uncertainty"
UNIT = "metric_config/metric_unit"
NAME, DETAILS = "metric_config/metric_name", "score_details/details"
FAMILY, DESCRIPTION = "metric_config/metric_kind", "metric_config/evaluation_description"
COUNT, DEVIATION = f"{UNCERTAINTY}/num_samples", f"{UNCERTAINTY}/standard_deviation"
ERROR, INTERVAL = f"{UNCERTAINTY}/standard_error", f"{UNCERTAINTY}/confidence_interval"
DRAWS = f"{UNCERTAINTY}/num_bootstrap_samples"
ENDS = {"lower": 0.61, "upper": 0.88}
FOUR = [1, 1, 1, 0]
ACROSS = {"stddev_across_train_trials": "0.37"}
WIDE = {"metric_config/min_score": -1e19, "metric_config/max_score": 1e19}
PARTS = {"law": {"acc": 0.52}, "art": {"acc": 0.97}}


@each("claim", [1.0, 0.5])
def test_rows_that_break_off_judge_no_claim(tmp_path: Path, claim: float) -> None:
    rows = scored([1, 1, 0, 0])
    run(tmp_path, rows, {"score_details/score": claim})
    packed = zlib.compressobj(wbits=31)
    cut = packed.compress(bytes_of(rows[:2])) + packed.flush(zlib.Z_FULL_FLUSH)
    (tmp_path / "cut.jsonl.gz").write_bytes(cut)
    report = evalstream.check(tmp_path / "cut.jsonl.gz", aggregate=tmp_path / "aggregate.json")
    (found,) = report.runs
    assert (found.rows, report.totals.refuted_runs) == (2, 0)
    assert {(one.state, one.reason) for one in found.claims} == {(State.OPEN, Reason.UNREAD.value)}


def test_of_rows_behind_the_break_of_an_array_nothing_is_said(tmp_path: Path) -> None:
    rows = scored([1, 1, 0, 0])
    run(tmp_path, rows, {"score_details/score": 0.5})
    text = json.dumps(rows).replace('"s2"', '"s\x01"')
    (tmp_path / "cut.json").write_text(text)
    report = evalstream.check(tmp_path / "cut.json", aggregate=tmp_path / "aggregate.json")
    (found,) = report.runs
    assert (found.rows, found.counts) == (2, {"ES103": 1})
    assert found.verified is not None
    assert found.verified.checksum is (found.declared == found.actual)
    assert {one.reason for one in found.claims} == {Reason.UNREAD.value}


@each(
    ("scores", "changes", "expected", "words"),
    [
        (FOUR, {}, set(), ""),
        (FOUR, {SCORE: 0.8}, {"ES806"}, "too few digits"),
        (FOUR, {SCORE: 0.6}, {"ES801"}, "is not the claim"),
        ([1, 1, 0], {SCORE: 0.67}, {"ES806"}, "too few digits"),
        ([1, 1, 0], {SCORE: 0.667}, set(), ""),
        ([1, 1, 0], {SCORE: 0.666}, set(), ""),
        (FOUR, {SCORE: 0.74}, {"ES801"}, "mean of the scores of 4 rows"),
        (FOUR, {SCORE: 75}, {"ES801"}, "in percent"),
        (FOUR, {SCORE: 3, "metric_config/metric_unit": "count"}, set(), ""),
        (FOUR, {SCORE: 2, "metric_config/metric_unit": "count"}, {"ES801"}, "is not the claim"),
        (FOUR, {SCORE: 3}, {"ES801"}, "is not the claim"),
        # Figures that only stand beside a score do not excuse it from being that of the rows.
        (FOUR, {SCORE: 0.745, DETAILS: PARTS}, {"ES801", "ES804"}, "is not the claim"),
        (FOUR, {SCORE: 1}, {"ES801"}, "mean of the scores of 4 rows"),
        ([0.9, 0.8, 1, 0], {SCORE: 0.25}, {"ES801"}, "share of rows with is_correct"),
        (FOUR, {SCORE: 0.5, NAME: "std"}, set(), ""),
        (FOUR, {SCORE: 0.25, NAME: "stderr"}, set(), ""),
        (FOUR, {SCORE: 0.31, NAME: "stderr"}, {"ES801"}, "standard error"),
        (FOUR, {SCORE: 0.5}, {"ES801"}, "standard deviation of the scores"),
        # Half a unit may be rounded to either side.
        ([0.1024, 0.1131], {SCORE: 0.1077}, set(), ""),
        ([0.1024, 0.1131], {SCORE: 0.1078}, set(), ""),
        ([0.1024, 0.1131], {SCORE: 0.1079}, {"ES801"}, "is not the claim"),
        ([1e-13, 3e-13], {SCORE: 2e-13}, set(), ""),
        ([1e-13, 3e-13], {SCORE: 3e-13}, {"ES801"}, "is not the claim"),
        # What stands beside a score in percent is in percent, too, but for counts.
        (FOUR, {SCORE: 75, UNIT: "percent", ERROR: {"value": 25}}, set(), ""),
        (FOUR, {SCORE: 75, UNIT: "percent", ERROR: {"value": 0.25}}, {"ES803"}, "in percent"),
        (FOUR, {SCORE: 75, UNIT: "percent", DEVIATION: 0.5}, {"ES803"}, "in percent"),
        (FOUR, {SCORE: 75, UNIT: "percent", COUNT: 4}, set(), ""),
        (FOUR, {SCORE: 75, UNIT: "percent", COUNT: 400}, {"ES802", "ES804", "ES805"}, ""),
        (FOUR, {SCORE: 95, UNIT: "percent", COUNT: 5}, {"ES801", "ES802"}, "outside 0.6 to 80"),
        (FOUR, {SCORE: 0.75, UNIT: "percent"}, {"ES804", "ES805"}, "in percent it is another"),
        ([0.5, 0.2], {SCORE: 0.35, UNIT: "percent"}, set(), ""),
        (FOUR, {COUNT: 4}, set(), ""),
        (FOUR, {COUNT: 3}, {"ES802"}, "there are 4 rows"),
        # With rows missing, agreement with the others confirms nothing, and bounds refute.
        (FOUR, {COUNT: 5}, {"ES802", "ES804", "ES805"}, "more samples are claimed than"),
        (FOUR, {COUNT: 5, SCORE: 0.1}, {"ES801", "ES802"}, "outside 0.6 to 0.8"),
        (FOUR, {"source_data/samples_number": 9, SCORE: 0.1}, {"ES801"}, "is not the claim"),
        (FOUR, {DEVIATION: 0.5}, set(), ""),
        (FOUR, {DEVIATION: 0.433}, set(), ""),
        (FOUR, {DEVIATION: 0.6}, {"ES803"}, "the standard deviation of the scores"),
        (FOUR, {DEVIATION: 0.6, SCORE: 0.1}, {"ES801", "ES803"}, "is not the claim"),
        (FOUR, {ERROR: {"value": 0.25}}, set(), ""),
        (FOUR, {ERROR: {"value": 0.31}}, {"ES803"}, "the standard error of the scores"),
        (FOUR, {ERROR: {"value": 0.31, "method": "bootstrap"}}, set(), ""),
        (FOUR, {ERROR: {"value": 0.01, "method": "bootstrap"}}, {"ES803"}, "far from the claim"),
        # Draws show that a method without a name is resampling.
        (FOUR, {ERROR: {"value": 0.27}, DRAWS: 1000}, set(), ""),
        (FOUR, {ERROR: {"value": 0.28}, DRAWS: 1000}, {"ES804"}, "draws random samples"),
        (FOUR, {ERROR: {"value": 0.14, "method": "bootstrap"}}, {"ES804"}, "draws random samples"),
        (FOUR, {ERROR: {"value": 0.1}, DRAWS: 1000}, {"ES803"}, "far from the claim"),
        (FOUR, {ERROR: {"value": 0.28}, DRAWS: 0}, {"ES803"}, "the standard error of the scores"),
        (FOUR, {ERROR: {"value": 0.0, "method": "bootstrap"}}, {"ES803"}, "no resampling"),
        # The sum of large scores of both signs loses the digits of a small mean.
        ([3e18, -3e18, 1, 1], {SCORE: 0.5, **WIDE}, set(), ""),
        ([3e18, -3e18, 1, 1], {SCORE: 0.9, **WIDE}, {"ES804", "ES805"}, "which formula"),
        ([3e18, -3e18, 1, 1], {SCORE: 9e3, **WIDE}, {"ES801"}, "is not the claim"),
        (FOUR, {ERROR: {"value": 0.25, "method": "clustered"}}, set(), ""),
        (FOUR, {ERROR: {"value": 0.31, "method": "clustered"}}, {"ES804"}, "hold the clusters"),
        (FOUR, {ERROR: {"value": 0.1, "method": "Cluster-robust"}}, {"ES804"}, "hold the clusters"),
        (FOUR, {ERROR: {"value": 0.51, "method": "clustered"}}, {"ES803"}, "is not the claim"),
        # Two clusters of 1 and 0 each have the mean of all: their error is 0.
        (
            [1, 0, 1, 0],
            {SCORE: 0.5, ERROR: {"value": 0.0, "method": "clustered"}},
            {"ES804"},
            "hold the clusters",
        ),
        (FOUR, {ERROR: {"value": 0.31, "method": "analytic"}}, {"ES803"}, "is not the claim"),
        (FOUR, {ERROR: {"value": 0.25, "method": "mine"}}, set(), ""),
        (FOUR, {ERROR: {"value": 0.0, "method": "mine"}}, {"ES803"}, "no error is 0"),
        (FOUR, {ERROR: {"value": 0.31, "method": "mine"}}, {"ES804"}, "method is not known"),
        (FOUR, {ERROR: {"value": 0.9, "method": "mine"}}, {"ES803"}, "is not the claim"),
        (
            FOUR,
            {ERROR: {"value": 0.016, "method": "bootstrap"}, DRAWS: 10},
            {"ES804"},
            "fewer than 100 draws",
        ),
        (FOUR * 10, {INTERVAL: {**ENDS, "method": "percentile bootstrap"}}, set(), ""),
        (
            FOUR * 10,
            {INTERVAL: {"lower": 0.745, "upper": 0.755, "method": "bootstrap"}},
            {"ES804"},
            "narrower than half",
        ),
        (
            FOUR * 10,
            {INTERVAL: {"lower": 0.3, "upper": 0.95, "method": "bootstrap"}},
            {"ES803"},
            "far from the claim",
        ),
        (FOUR, {INTERVAL: {**ENDS, "method": "clopper-pearson"}}, {"ES803"}, "no known interval"),
        ([0.4, 0.9], {SCORE: 0.65, INTERVAL: {**ENDS, "method": "exact"}}, {"ES804"}, "method"),
        (FOUR, {INTERVAL: {"lower": 0.26, "upper": 1}}, {"ES806"}, "too few digits"),
        (FOUR, {INTERVAL: {"lower": 0.26001, "upper": 1}}, set(), ""),
        # Wilson's interval for 3 of 4, as textbooks print it, and Student's.
        (FOUR, {INTERVAL: {"lower": 0.3006, "upper": 0.9544}}, set(), ""),
        (FOUR, {INTERVAL: {"lower": -0.0456, "upper": 1.5456}}, set(), ""),
        (FOUR, {INTERVAL: {"lower": 0.5, "upper": 1}}, {"ES803"}, "no known interval"),
        (
            FOUR,
            {INTERVAL: {"lower": 0.5, "upper": 1, "method": "clustered"}},
            {"ES804"},
            "hold the clusters",
        ),
        (
            [1, 1, 0],
            {SCORE: 2 / 3, INTERVAL: {"lower": 2 / 3, "upper": 2 / 3, "method": "clustered"}},
            {"ES804"},
            "hold the clusters",
        ),
        (
            FOUR,
            {INTERVAL: {"lower": 0.8, "upper": 1, "method": "clustered"}},
            {"ES803"},
            "no known interval",
        ),
        (["one", 1, 1, 0], {}, {"ES804", "ES805"}, "rows have no score that counts"),
        # Only the metric's own name makes a score another statistic than the mean.
        (FOUR, {SCORE: 0.5, "evaluation_name": "vqav2-test-std"}, {"ES801"}, "not the claim"),
        (FOUR, {"evaluation_name": "vqav2-test-std"}, set(), ""),
        (FOUR, {NAME: "score_std"}, set(), ""),
        (FOUR, {SCORE: 0.5, "metric_config/metric_id": "inspect_ai.std"}, set(), ""),
        (FOUR, {SCORE: 0.25, "metric_config/metric_kind": "stderr2"}, set(), ""),
        (
            FOUR,
            {SCORE: 0.5, NAME: "accuracy", "metric_config/metric_kind": "std"},
            {"ES801"},
            "mean",
        ),
        # A qualified name may be of a part of the samples: its bounds alone refute it.
        (FOUR, {SCORE: 0.5, NAME: "balanced accuracy"}, {"ES804", "ES805"}, "no known formula"),
        (FOUR, {NAME: "balanced accuracy"}, set(), ""),
        (FOUR, {SCORE: 1.2, NAME: "balanced accuracy"}, {"ES801"}, "outside 0 to 1"),
        # An unknown metric has no bounds, and its mean confirms it.
        (FOUR, {SCORE: 1200.5, NAME: "elo"}, {"ES804", "ES805"}, "no known formula"),
        (FOUR, {NAME: "elo"}, set(), ""),
        ([3, 1, 2, 9], {SCORE: 2.5, NAME: "median"}, set(), ""),
        ([3, 1, 2, 9], {SCORE: 3, NAME: "median"}, set(), ""),
        ([3, 1, 2, 9], {SCORE: 6.5, NAME: "median"}, {"ES801"}, "the median of the scores"),
        ([3, 1, 3, 9], {SCORE: 3, NAME: "mode"}, set(), ""),
        ([3, 1, 3, 9], {SCORE: 9, NAME: "max"}, set(), ""),
        ([3, 1, 3, 9], {SCORE: 2, NAME: "min"}, {"ES801"}, "the least score"),
        (FOUR, {SCORE: 0.25, NAME: "variance"}, set(), ""),
        ([-1, -2, -3, -2], {SCORE: 7.38905609893065, NAME: "perplexity"}, set(), ""),
        (
            [-1, -2, -3, -2],
            {SCORE: 7.5, NAME: "perplexity"},
            {"ES804", "ES805"},
            "no known formula",
        ),
        ([-1, -2, -3, -2], {SCORE: 0.9, NAME: "perplexity"}, {"ES801"}, "outside 1 to"),
        ([3, 1, 4, 2], {SCORE: 2.5, NAME: "perplexity"}, set(), ""),
        # Another name says how it is made of perplexities.
        ([3, 1, 4, 2], {SCORE: 2.5, NAME: "perplexity", FAMILY: "mean"}, set(), ""),
        ([3, 1, 4, 2], {SCORE: 2.5, NAME: "perplexity", DESCRIPTION: "Mean"}, set(), ""),
        ([3, 1, 4, 2], {SCORE: 2, NAME: "perplexity", DESCRIPTION: "Mean"}, {"ES801"}, "mean"),
        ([3, 1, 4, 2], {SCORE: 2, NAME: "perplexity", FAMILY: "mean"}, {"ES801"}, "mean"),
        # Figures in the details of a score are claims; settings are not.
        (FOUR, {DETAILS: {"std": "0.5", "accuracy": 0.75, "num_train_trials": 9}}, set(), ""),
        (FOUR, {DETAILS: {"mean": 0.99}}, {"ES801"}, "mean of the scores"),
        # So is each number with decimals, but by the name of a setting or in a list of samples.
        (FOUR, {DETAILS: {"rating": "0.93"}}, {"ES804"}, "no known formula"),
        (FOUR, {DETAILS: {"confidence_interval": {"lower": 0.61}}}, {"ES804"}, "no known formula"),
        (FOUR, {DETAILS: {"threshold": 0.5, "eval_time": 0.65, "version": "1.1"}}, set(), ""),
        (FOUR, {DETAILS: {"rewards": [0.25, 0.35], "rating": 12, "date": "2.5.25"}}, set(), ""),
        (FOUR, {DETAILS: {"by_subject": '{"law": 0.52}'}}, {"ES804"}, "no known formula"),
        (FOUR, {DETAILS: {"acc": "75%"}}, set(), ""),
        (FOUR, {DETAILS: {"acc": "7.5%"}}, {"ES804"}, "no known formula"),
        (FOUR, {DETAILS: {"correct": 2}}, {"ES804"}, "no known formula"),
        (FOUR, {DETAILS: {"pass_rate": 1}}, {"ES804"}, "no known formula"),
        # A spread by a longer name may be of other figures, but not across a single trial.
        (FOUR, {DETAILS: {**ACROSS, "num_train_trials": "1"}}, {"ES801"}, "a single trial"),
        (FOUR, {DETAILS: {**ACROSS, "num_train_trials": 3}}, {"ES804"}, "no known formula"),
        (FOUR, {DETAILS: {"stddev_across_trials": "0.0", "num_trials": 1}}, set(), ""),
        (FOUR, {DETAILS: {"std_across_seeds": 1.2}}, {"ES801"}, "outside 0 to 1"),
        (FOUR, {DETAILS: {"accuracy_std_over_runs": -0.1}}, {"ES801"}, "outside 0 to ∞"),
        ([1, 1], {SCORE: 1, DETAILS: {"accuracy_stderr_over_runs": 0.0}}, set(), ""),
        (FOUR, {DETAILS: {"n_correct": "3", "n_samples": 4}}, set(), ""),
        (FOUR, {DETAILS: {"min_instance_score": "0.0", "max_instance_score": "1"}}, set(), ""),
        (FOUR, {DETAILS: {"min_instance_score": "1.0"}}, {"ES801"}, "is not the claim"),
        (FOUR, {DETAILS: {"n_correct": "4"}}, {"ES801"}, "the number of right answers of 4 rows"),
        (FOUR, {DETAILS: {"num_correct": 5}}, {"ES801"}, "the number of right answers of 4 rows"),
        (FOUR, {DETAILS: {"n_samples": 3}}, {"ES802"}, "there are 4 rows"),
        (
            [1, 0.5, 1, 0.5],
            {SCORE: 0.75, DETAILS: {"n_correct": 2}},
            {"ES804"},
            "the rows do not hold what the formula needs",
        ),
        ([1, 0.5, 1, 0.5], {SCORE: 0.75, DETAILS: {"n_correct": 5}}, {"ES801"}, "outside 0 to 4"),
        (FOUR, {DETAILS: {"stderr": "0.01"}}, {"ES803"}, "standard error"),
        (FOUR, {DETAILS: {"f1": 0.99}}, {"ES804"}, "no known formula"),
        (FOUR, {DETAILS: {"ci_lower": "0.74"}}, {"ES804"}, "no known formula"),
        (FOUR, {DETAILS: {"acc": "~0.99"}}, {"ES804"}, "no known formula"),
        (FOUR, {"accuracy": 0.99}, {"ES801"}, "mean of the scores"),
        (FOUR, {"score": "0.99"}, {"ES804"}, "no known formula"),
        (FOUR, {"samples": [{"score": 0.99}], "rank": 5}, set(), ""),
        (FOUR, {f"{UNCERTAINTY}/half": 1e-05}, {"ES804"}, "no known formula"),
        (FOUR, {f"{UNCERTAINTY}/half": {"value": 0.01}}, {"ES804"}, "no known formula"),
        (FOUR, {f"{UNCERTAINTY}/ends": [0.61]}, {"ES804"}, "no known formula"),
        (FOUR, {f"{UNCERTAINTY}/size": 0.01}, {"ES804"}, "no known formula"),
        (FOUR, {DETAILS: {"rating": 1e-05}}, {"ES804"}, "no known formula"),
        (FOUR, {f"{UNCERTAINTY}/half": 0.01}, {"ES804"}, "no known formula"),
        (FOUR, {f"{UNCERTAINTY}/confidence_level": 0.95, f"{UNCERTAINTY}/seed": 7}, set(), ""),
        (
            FOUR,
            {NAME: "mean", "metric_config/metric_id": "median"},
            {"ES807"},
            "a mean and a median",
        ),
    ],
)
def test_claims_are_judged_by_the_rows(
    tmp_path: Path, scores: list[Any], changes: dict[str, Any], expected: set[str], words: str
) -> None:
    report = run(tmp_path, scored(scores), changes)
    assert set(report.counts) == expected
    assert any(words in finding.message for finding in report) == bool(expected)


LEVELS = {
    "metric_config/score_type": "levels",
    "metric_config/level_names": ["bad", "fair", "good"],
    "metric_config/has_unknown_level": True,
    "metric_config/max_score": 4,
}


@each(
    ("scores", "changes", "expected"),
    [
        ([2, 2, 1, 0], {SCORE: 1.25}, set()),
        ([2, 2, 1, 0], {SCORE: 1.5}, set()),
        ([2, 2, 1, 0], {SCORE: 2}, set()),
        ([2, 2, 2, 0], {SCORE: 1, "metric_config/level_names": ["a", "b"]}, {"ES801"}),
        ([2, 2, 1, 0], {SCORE: 0}, {"ES801"}),
        # Where levels are equally frequent, a writer takes any of them.
        ([2, 2, 0, 0], {SCORE: 2}, {"ES804", "ES805"}),
        ([2, 2, 0, 0], {SCORE: 1.5}, {"ES801"}),
        # An unknown level is not a level.
        ([2, 2, 1, -1], {SCORE: 5 / 3, COUNT: 3}, set()),
        ([2, 2, 1, -1], {SCORE: 1.0}, {"ES801"}),
        # With five levels the one nearest to the mean is the mean, rounded.
        ([4, 4, 4, 0, 1], {SCORE: 3, "metric_config/level_names": list("abcde")}, {"ES806"}),
        # A metric named accuracy is the mean, whatever its score_type.
        ([1, 1, 1, 0], {SCORE: 1, NAME: "accuracy"}, {"ES801"}),
    ],
)
def test_a_claimed_level_is_the_mean_the_median_or_the_mode(
    tmp_path: Path, scores: list[Any], changes: dict[str, Any], expected: set[str]
) -> None:
    report = run(tmp_path, scored(scores), {**LEVELS, **changes})
    assert set(report.counts) == expected


def test_percent_confirms_only_where_the_metric_says_percent(tmp_path: Path) -> None:
    changes = {SCORE: 75, DEVIATION: 50, ERROR: {"value": 25}}
    assert run(tmp_path, scored(FOUR), changes).counts == {"ES801": 1, "ES803": 2}
    percent = {"metric_config/metric_unit": "percent", "metric_config/max_score": 100}
    assert run(tmp_path, scored(FOUR), {**changes, **percent}).counts == {}
    assert run(tmp_path, scored([2 * one for one in FOUR]), {**changes, **percent}).counts


def test_a_score_that_is_no_mean_of_all_rows_says_what_it_is(tmp_path: Path) -> None:
    for scores, words in (([2, 2, 1, 0], "the most frequent score"), ([1, 1, 0], "the median")):
        (level, *_) = run(tmp_path, scored(scores), {**LEVELS, SCORE: scores[0]}).runs[0].claims
        assert level.state.value == "confirmed"
        assert (level.reason or "").startswith(words)


def test_a_sum_says_that_it_is_one(tmp_path: Path) -> None:
    changes = {SCORE: 3, UNIT: "count", "metric_config/max_score": 9}
    (score, *_) = run(tmp_path, scored(FOUR), changes).runs[0].claims
    assert score.reason == "the sum of the scores"


def test_rows_with_errors_may_be_left_out_unless_they_are_counted(tmp_path: Path) -> None:
    rows = scored(FOUR)
    rows[3]["error"] = "timed out"
    report = run(tmp_path, rows, {SCORE: 1.0, COUNT: 3})
    assert report.counts == {}
    assert report.runs[0].claims[0].reason == "the mean of the scores without errors"
    (finding,) = run(tmp_path, rows, {SCORE: 1.0, COUNT: 4})
    assert finding.code == "ES801"
    assert "without the rows that have an error" in finding.message


def test_scores_of_the_harness_that_were_deleted_are_missed(tmp_path: Path) -> None:
    rows = scored(FOUR)
    hashes = {"prompt_hash": "a" * 64, "target_hash": "b" * 64}
    identity = rows[0]["evaluation_result_id"]
    rows[0]["metadata"] = {**hashes, "lm_eval_metrics": json.dumps({identity: FOUR[0]})}
    assert "ES808" not in run(tmp_path, rows, {}).counts
    rows[0]["metadata"] = hashes
    (found,) = (one for one in run(tmp_path, rows, {}) if one.code == "ES808")
    assert (found.line, found.pointer, found.severity) == (1, "/metadata", Severity.WARNING)


@each(
    ("identity", "method", "named", "codes"),
    [
        ("exact_match:strict", "strict", "strict", set()),
        ("exact_match:strict", "strict", "Strict", {"ES808"}),
        ("exact_match:strict", "number", "number", {"ES808"}),
        ("exact_match:strict", "number", "strict", {"ES808"}),
        ("exact_match", "none", "strict", {"ES808"}),
        ("exact_match:a:b", "a:b", "a:b", set()),
        ("exact_match", "none", 1, set()),
    ],
)
def test_the_filter_of_the_harness_is_that_of_the_result_and_of_the_answer(
    tmp_path: Path, identity: str, method: str, named: Any, codes: set[str]
) -> None:
    rows = scored(FOUR)
    for row in rows:
        row["evaluation_result_id"] = identity
        row["metadata"] = {
            "lm_eval_metrics": json.dumps({"exact_match": row["evaluation"]["score"]})
        }
        row["answer_attribution"][0]["extraction_method"] = method
    rows[2]["metadata"]["filter"] = named
    found = [one for one in run(tmp_path, rows, {}) if "/metadata" in (one.pointer or "")]
    assert {one.code for one in found} == codes
    assert {(one.line, one.pointer) for one in found} <= {(3, "/metadata/filter")}


@each("blank", [" ", "\t", "\u00a0", "\u2003 "])
def test_a_blank_error_is_none(tmp_path: Path, blank: str) -> None:
    rows = scored([1, 1, 0])
    rows[2]["error"] = blank
    assert "ES801" in run(tmp_path, rows, {SCORE: 1.0, COUNT: 2}).counts


def test_an_error_may_leave_out_the_rows_that_its_score_leaves_out(tmp_path: Path) -> None:
    rows = scored([0, 1, 0, 1, 0])
    rows[4]["error"] = "timed out"
    own = {SCORE: 0.5, COUNT: 4, ERROR: {"value": 0.28867513459481287, "method": "analytic"}}
    assert run(tmp_path, rows, own).counts == {}
    (finding,) = run(tmp_path, rows, own | {SCORE: 0.4, COUNT: 5})
    assert (finding.code, finding.expected) == ("ES803", pytest.approx(0.24494897427831783))
    del own[COUNT]
    assert run(tmp_path, rows, own | {SCORE: 0.4}).counts == {}


@each(
    ("lower", "upper", "method"),
    [
        (0.15003898915214944, 0.8499610108478506, "wilson"),
        (-0.41869311551854, 1.41869311551854, "t"),
        (0.0675859864885, 0.9324140135115, "clopper-pearson"),
    ],
)
def test_an_interval_may_leave_out_the_rows_that_its_score_leaves_out(
    tmp_path: Path, lower: float, upper: float, method: str
) -> None:
    rows = scored([0, 1, 0, 1, 0])
    rows[4]["error"] = "timed out"
    own = {INTERVAL: {"lower": lower, "upper": upper, "method": method}}
    assert run(tmp_path, rows, {SCORE: 0.5, COUNT: 4} | own).counts == {}
    for over_all in ({SCORE: 0.4, COUNT: 5}, {SCORE: 0.4}, {SCORE: 0.4, COUNT: 4}):
        assert set(run(tmp_path, rows, over_all | own).counts) & {"ES803", "ES804"}


@each(
    ("quantile", "level", "is_confirmed"),
    [
        (1.6448536, 0.9, True),
        (1.645, 0.9, True),
        (2.576, 0.99, True),
        (3.182, 0.95, True),  # Student's t with 3 degrees of freedom
        (1.66, 0.9, False),
        (3.1, 0.95, False),
    ],
)
def test_quantiles_may_be_those_of_a_table(
    tmp_path: Path, quantile: float, level: float, is_confirmed: bool
) -> None:
    half = quantile * 0.25
    ends = {"lower": 0.75 - half, "upper": 0.75 + half, "confidence_level": level}
    report = run(tmp_path, scored(FOUR), {INTERVAL: ends})
    assert [finding.code for finding in report.findings] == ([] if is_confirmed else ["ES803"])


@each("method", [None, "bootstrap"])
def test_a_recomputed_interval_has_both_ends(method: str | None, tmp_path: Path) -> None:
    changes = {INTERVAL: {**ENDS, "method": method}}
    (judged,) = (
        claim
        for claim in run(tmp_path, scored(FOUR), changes).runs[0].claims
        if claim.kind == "confidence interval"
    )
    half = 1.959963984540054 * statistics.stdev(FOUR) / 2
    assert judged.recomputed == pytest.approx({"lower": 0.75 - half, "upper": 0.75 + half})


def test_the_mean_over_subtasks_is_named(tmp_path: Path) -> None:
    rows = scored([1, 1, 1, 0])
    rows[3]["evaluation_name"] = "tiny-arithmetic-hard"
    (finding,) = run(tmp_path, rows, {SCORE: 0.5})
    assert "mean over subtasks" in finding.message


@each(
    ("name", "claim", "scores", "expected"),
    [
        ("overall", 0.6875, ([1, 1, 1, 0], [1, 0, 1, 1, 0, 1, 1, 0]), {}),
        ("bench/average", 0.667, ([1, 1, 1, 0], [1, 0, 1, 1, 0, 1, 1, 0]), {}),
        ("overall", 0.7, ([1, 1, 1, 0], [1, 0, 1, 1, 0, 1, 1, 0]), {"ES604": 1}),
        ("overall", 0.6876, ([1, 1, 1, 0], [1, 0, 1, 1, 0, 1, 1, 0]), {"ES604": 1}),
        # A part whose rows are gone is not a mean over the others.
        ("biology", 0.6875, ([1, 1, 1, 0], [1, 0, 1, 1, 0, 1, 1, 0]), {"ES604": 1}),
        ("overall", 0.75, ([1, 1, 1, 0], [1, 1, 1, 0]), {"ES604": 1}),
    ],
)
def test_a_mean_over_all_parts_needs_no_rows_of_its_own(
    tmp_path: Path, name: str, claim: float, scores: Any, expected: dict[str, int]
) -> None:
    document, rows = over_parts({"algebra": scores[0], "chess": scores[1]}, {name: claim})
    report = run_over_parts(tmp_path, document, rows)
    assert dict(report.counts) == expected


@each(
    ("claim", "samples", "error", "expected"),
    [
        (0.6666666666666666, 12, 0.1421, {}),
        (0.6666666666666666, 12, 0.13609, {"ES804": 1}),  # pooled within the parts
        (0.6875, 12, None, {}),  # the mean of 0.75 and 0.625
        (0.7, 12, None, {"ES604": 1}),  # with weights of 0.6 and 0.4
        (0.63, 12, None, {"ES604": 1}),  # the mean of 0.63, as 0.625 is rounded, and 0.63
        (0.76, 12, None, {"ES604": 1, "ES801": 1}),
        (0.05, 12, 0.1421, {"ES604": 1, "ES801": 1}),
        # It may be over other samples.
        (0.05, 24, None, {"ES604": 1}),
        (0.05, 10, None, {"ES604": 1}),
        (0.05, None, None, {"ES604": 1}),
    ],
)
def test_a_result_whose_id_its_parts_continue_is_over_their_rows(
    tmp_path: Path, claim: float, samples: int | None, error: float | None, expected: dict[str, int]
) -> None:
    parts = {"bench::a": [1, 1, 1, 0], "bench::b": [1, 0, 1, 1, 0, 1, 1, 0]}
    document, rows = over_parts(parts, {"bench": claim})
    uncertainty = {"num_samples": samples, "standard_error": error and {"value": error}}
    details = document["evaluation_results"][-1]["score_details"]
    details["uncertainty"] = {name: one for name, one in uncertainty.items() if one is not None}
    assert dict(run_over_parts(tmp_path, document, rows).counts) == expected


def test_a_part_without_rows_leaves_its_whole_open(tmp_path: Path) -> None:
    parts = {"bench::a": [1, 1, 1, 0], "bench::b": [1, 0, 1, 1, 0, 1, 1, 0]}
    document, rows = over_parts(parts, {"bench": 0.6875, "bench::c": 0.1})
    assert dict(run_over_parts(tmp_path, document, rows).counts) == {"ES604": 2}
    # A group is over its own parts.
    parts = {"bench::a::x": [1, 1, 1, 0], "bench::a::y": [1, 1], "bench::b": [1, 0]}
    document, rows = over_parts(parts, {"bench": 0.75, "bench::a": 0.875})
    assert dict(run_over_parts(tmp_path, document, rows).counts) == {}
    # A word in its name makes it a mean over all other results.
    parts = {"average::a": [1, 1, 1, 0], "biology": [1, 0]}
    document, rows = over_parts(parts, {"average": 0.625})
    assert dict(run_over_parts(tmp_path, document, rows).counts) == {}


def test_the_least_score_may_be_one_of_samples_or_of_rows_without_an_error(tmp_path: Path) -> None:
    rows = scored([0, 1, 0.5, 0.75])
    rows[0]["error"] = "timed out"
    least = {SCORE: 0.75, COUNT: 3, DETAILS: {"min_instance_score": "0.5"}}
    assert run(tmp_path, rows, least).counts == {"ES804": 1}
    assert run(tmp_path, rows, least | {DETAILS: {"min_instance_score": "-0.5"}}).counts == {
        "ES801": 1
    }
    del rows[0]["error"]
    least = {SCORE: 0.5625, DETAILS: {"min_instance_score": "0.5"}}
    assert run(tmp_path, rows, least).counts == {"ES801": 1}
    for place, row in enumerate(rows):
        row |= {"sample_id": f"s{place // 2}", "metadata": {"epoch": str(place % 2)}}
    assert run(tmp_path, rows, least).counts == {"ES804": 1}


@each(
    ("claims", "expected"),
    [
        ({"f1:test:robustness": 0.75}, {}),
        ({"f1:test:robustness": 0.7}, {"ES604": 1}),
        ({"f1:test:robustness": 0.75, "f1:test:typos": 0.5}, {"ES604": 2}),
        ({"f1:valid:robustness": 0.75}, {"ES604": 1}),
    ],
)
def test_the_worst_of_no_perturbations_is_the_plain_figure(
    tmp_path: Path, claims: dict[str, float], expected: dict[str, int]
) -> None:
    document, rows = over_parts({"f1:test": FOUR}, claims)
    assert dict(run_over_parts(tmp_path, document, rows).counts) == expected


def over_parts(
    parts: dict[str, Sequence[Any]], wholes: dict[str, float]
) -> tuple[dict[str, Any], bytes]:
    """Make the rows of results by their scores, and an aggregate that has more results."""
    rows = [
        hashed(row | {"sample_id": f"{part}-{place}"}, "json-list")
        for part, scores in parts.items()
        for place, row in enumerate(scored(scores, evaluation_result_id=part, evaluation_name=part))
    ]
    data = bytes_of(rows)
    document = aggregate_of("0.3.0", data, len(rows))
    (result,) = document["evaluation_results"]
    claims = {part: mean_of(scores) for part, scores in parts.items()} | wholes
    document["evaluation_results"] = [
        result
        | {"evaluation_result_id": one, "evaluation_name": one}
        | {"score_details": {"score": score}}
        for one, score in claims.items()
    ]
    return document, data


def run_over_parts(tmp_path: Path, document: dict[str, Any], data: bytes) -> evalstream.Report:
    path, aggregate = tmp_path / "rows.jsonl", tmp_path / "aggregate.json"
    path.write_bytes(data)
    aggregate.write_text(json.dumps(document))
    return evalstream.check(path, aggregate=aggregate, select=("ES6", "ES8"))


def mean_of(scores: Sequence[float]) -> float:
    return sum(scores) / len(scores)


def test_rows_that_may_be_of_a_result_leave_its_claims_open(tmp_path: Path) -> None:
    """A row that loses its id would otherwise no longer lower the score."""
    rows = scored(FOUR, evaluation_result_id="accuracy")
    more = scored([1, 1], evaluation_result_id="f1")
    document = aggregate_of("0.3.0", b"", 0)
    (result,) = document["evaluation_results"]
    document["evaluation_results"] = [
        {**result, "evaluation_result_id": name, "score_details": {"score": 1.0}}
        for name in ("accuracy", "f1")
    ]
    report = run_over_parts(tmp_path, document, bytes_of(rows + more))
    assert [claim.state.value for claim in report.runs[0].claims] == ["refuted", "confirmed"]
    del rows[3]["evaluation_result_id"]
    report = run_over_parts(tmp_path, document, bytes_of(rows + more))
    assert {claim.state.value for claim in report.runs[0].claims} == {"open"}
    assert report.runs[0].verdict == "unconfirmed"


@each(("score", "verdict"), [(0.75, "passed"), (0.9, "unconfirmed")])
def test_an_error_that_is_listed_as_a_score_makes_no_run_pass(
    tmp_path: Path, score: float, verdict: str
) -> None:
    rows = sound_rows("0.2.0", 8)
    scores = [row["evaluation"]["score"] for row in rows]
    document = aggregate_of("0.2.0", bytes_of(rows), 8)
    (result,) = document["evaluation_results"]
    document["evaluation_results"] = [
        {
            **result,
            "evaluation_name": f"{name} on tiny-arithmetic for scorer match",
            "score_details": {"score": value},
        }
        for name, value in (("accuracy", score), ("stderr", statistics.stdev(scores) / 8**0.5))
    ]
    report = run_over_parts(tmp_path, document, bytes_of(rows))
    assert report.runs[0].verdict == verdict


def repeated(scores: Sequence[Any], samples: int) -> list[Row]:
    """Make rows of some samples, each with a number of epochs."""
    rows = scored(scores)
    for number, row in enumerate(rows):
        row["sample_id"] = f"s{number % samples}"
        row["input"]["raw"] = f"Question {number % samples}?"
        row["metadata"]["epoch"] = str(number // samples)
    return rows


def test_repeats_count_as_rows_or_samples(tmp_path: Path) -> None:
    rows = repeated([1, 0, 1, 1], 2)
    for count, codes in ((4, set()), (2, set()), (3, {"ES802"})):
        report = run(tmp_path, rows, {COUNT: count})
        assert set(report.counts) == codes
    assert [claim.rows for claim in report.runs[0].claims] == [4, 4]


@each(("value", "state"), [(0.0, State.CONFIRMED), (0.18, State.CONFIRMED), (0.09, State.OPEN)])
def test_resampling_is_of_samples_or_of_their_repeats(
    tmp_path: Path, value: float, state: State
) -> None:
    # Each sample has the mean of all; over rows the error is between 0.17 and 0.19.
    rows = repeated([1, 0, 1, 0, 0, 1, 0, 1], 4)
    changes = {SCORE: 0.5, ERROR: {"value": value, "method": "bootstrap"}, DRAWS: 1000}
    assert run(tmp_path, rows, changes).runs[0].claims[-1].state is state


def test_resampling_of_equal_scores_without_errors_gives_no_error(tmp_path: Path) -> None:
    rows = scored([1, 1, 0])
    rows[2]["error"] = "timed out"
    changes = {SCORE: 1.0, COUNT: 2, ERROR: {"value": 0.0, "method": "bootstrap"}}
    assert run(tmp_path, rows, changes).counts == {}


def test_rows_with_an_unknown_level_are_rows(tmp_path: Path) -> None:
    rows = repeated([2, 2, 1, -1], 2)
    for count in (4, 3, 2):
        assert run(tmp_path, rows, LEVELS | {SCORE: 5 / 3, COUNT: count}).counts == {}
    (finding,) = run(tmp_path, rows, LEVELS | {SCORE: 5 / 3, COUNT: 1})
    assert finding.message == "there are 4 rows of 2 samples"
    (finding, *_) = run(tmp_path, rows, LEVELS | {SCORE: 5 / 3, COUNT: 5})
    assert "above the number of rows, 4" in finding.message


def test_cloned_repeats_do_not_make_an_error_smaller(tmp_path: Path) -> None:
    scores = [1, 0, 1, 1]
    cloned, error = repeated(scores * 10, 4), statistics.stdev(scores) / 2
    over_rows = statistics.stdev(scores * 10) / math.sqrt(40)
    assert run(tmp_path, cloned, {ERROR: {"value": error}}).counts == {}
    assert run(tmp_path, cloned, {ERROR: {"value": over_rows}}).counts == {"ES803": 1}
    # Repeats that differ may be counted as samples of their own.
    differing = repeated([*scores, 0, *scores[1:]], 4)
    values = [row["evaluation"]["score"] for row in differing]
    changes = {
        SCORE: statistics.mean(values),
        ERROR: {"value": statistics.stdev(values) / math.sqrt(8)},
    }
    assert run(tmp_path, differing, changes).counts == {}


@pytest.mark.parametrize("limit", [1, 1 << 24])
def test_uncertainty_may_be_that_of_samples_each_with_the_mean_of_its_repeats(
    tmp_path: Path, limit: int
) -> None:
    scores = [[1, 0], [1, 1], [0, 0], [0.25, 0.5]]
    rows = repeated([row[epoch] for epoch in range(2) for row in scores], 4)
    means = [sum(row) / 2 for row in scores]
    score = statistics.mean(means)
    by_samples, by_rows = statistics.stdev(means), statistics.stdev(chain(*scores))
    for deviation, error, codes in (
        (by_samples, by_samples / 2, set()),
        (by_rows, by_rows / math.sqrt(8), set()),
        (statistics.pstdev(means), statistics.pstdev(means) / 2, set()),
        (by_samples, by_rows / 2, {"ES803"}),
        (9, by_samples / 2, {"ES803"}),
    ):
        changes = {
            SCORE: score,
            f"{UNCERTAINTY}/standard_deviation": deviation,
            f"{UNCERTAINTY}/standard_error": {"value": error},
        }
        report = run(tmp_path, rows, changes, memory_limit=limit)
        assert set(report.counts) == codes, (deviation, error)
        assert all(claim.state is not State.OPEN for claim in report.runs[0].claims)
    assert report.runs[0].claims[1].recomputed == pytest.approx(by_samples)


@each(
    ("claimed", "codes"),
    [
        (0.8, set()),
        # The mean over samples.
        (2.5 / 3, {"ES804", "ES805"}),
        # No weights of so many repeats give it.
        (0.5, {"ES801"}),
    ],
)
def test_a_score_may_be_over_samples_with_uneven_repeats(
    tmp_path: Path, claimed: float, codes: set[str]
) -> None:
    rows = repeated([1, 1, 1, 0, 1, 1], 3)
    assert set(run(tmp_path, [*rows[:4], rows[5]], {SCORE: claimed}).counts) == codes


@each(
    ("claimed", "codes"),
    [
        (2 / 3, {"ES804", "ES805"}),
        (0.6, set()),
        (0.5, set()),
        (0.7, {"ES804", "ES805"}),
        (0.99, {"ES801"}),
    ],
)
def test_a_score_may_be_over_samples_without_errors(
    tmp_path: Path, claimed: float, codes: set[str]
) -> None:
    rows = repeated([1, 1, 0, 0, 0, 1], 3)
    rows[3] |= {"error": "timed out"}
    assert set(run(tmp_path, rows, {SCORE: claimed}).counts) == codes


@each(("score", "code"), [(0.6, "ES804"), (0.5, "ES803")])
def test_an_error_may_be_over_samples_without_errors_if_the_score_is(
    tmp_path: Path, score: float, code: str
) -> None:
    rows = repeated([1, 1, 0, 0, 0, 1], 3)
    rows[3] |= {"error": "timed out"}
    assert set(run(tmp_path, rows, {SCORE: score, ERROR: {"value": 1 / 6}}).counts) == {code}


@each(
    ("scores", "errors", "changes", "codes"),
    [
        # The number of samples does not say whether repeats with an error are left out.
        ([1, 1, 0, 0, 0, 1], [3], {SCORE: 0.6, COUNT: 3}, set()),
        ([1, 1, 0, 0, 0, 1], [3], {SCORE: 0.6, COUNT: 6}, {"ES801"}),
        # All repeats of a sample may have an error.
        ([1, 1, 0, 0, 0, 1], [0, 3], {SCORE: 0.5, COUNT: 2}, {"ES804"}),
        ([1, 1, 0, 0, 0, 1], [3], {SCORE: 0.6, COUNT: 1}, {"ES802"}),
        # Samples have the means of their repeats, which are fewer, and less extreme.
        ([1, 1, 0, 0, 0, 1], [], {SCORE: 0.75, NAME: "max"}, {"ES804", "ES805"}),
        ([1, 1, 0, 0, 0, 1], [], {SCORE: 0.25, NAME: "median"}, {"ES804", "ES805"}),
        ([1, 1, 0, 0, 0, 1], [], {SCORE: 1.25, NAME: "median"}, {"ES801"}),
        ([1, 0, 1, 0, 1], [], {SCORE: 0.6, DEVIATION: 0.7}, {"ES804"}),
        ([1, 0, 1, 0, 1], [], {SCORE: 0.6, DEVIATION: 0.72}, {"ES803"}),
    ],
)
def test_repeats_may_be_one_value_of_their_sample(
    tmp_path: Path, scores: list[int], errors: list[int], changes: dict[str, Any], codes: set[str]
) -> None:
    rows = repeated(scores, 3 if len(scores) == 6 else 2)
    for place in errors:
        rows[place]["error"] = "timed out"
    assert set(run(tmp_path, rows, changes).counts) == codes


def test_uneven_repeats_are_reported_and_leave_uncertainty_open(tmp_path: Path) -> None:
    rows = scored([1, 0, 1])
    again = json.loads(json.dumps(rows[0]))
    again["metadata"]["epoch"] = "2"
    changes = {SCORE: 0.75, DEVIATION: 0.3}
    report = run(tmp_path, [*rows, again], changes)
    assert report.counts == {"ES804": 1}
    assert [claim.state for claim in report.runs[0].claims] == [State.CONFIRMED, State.OPEN]
    report = run(tmp_path, [*rows, again], {**changes, DEVIATION: 9})
    assert report.counts == {"ES803": 1}
    report = run(tmp_path, [*rows, again], {**changes, DEVIATION: 0.5})
    assert report.counts == {}
    path, aggregate = tmp_path / "rows.jsonl", tmp_path / "aggregate.json"
    (finding,) = evalstream.check(path, aggregate=aggregate, select=("ES610",))
    assert (finding.code, finding.severity) == ("ES610", Severity.WARNING)
    assert "3 samples of this result have 4 repeats, not all equally many" in finding.message


@pytest.mark.parametrize("jobs", [1, 2])
@each("size", [500, 5000, 1 << 20])
def test_the_report_is_the_same_for_any_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int, size: int
) -> None:
    monkeypatch.setattr(row_pass, "BLOCK_BYTES", size)
    monkeypatch.setattr(row_pass, "SMALLEST_BLOCK_BYTES", size)
    monkeypatch.setattr(row_pass, "WORTH_A_POOL_BYTES", 0)
    rows = scored([0.1 * (number % 7) for number in range(60)])
    report = run(tmp_path, rows, {SCORE: 0.29}, jobs=jobs)
    (claim,) = report.runs[0].claims
    values = [Fraction(row["evaluation"]["score"]) for row in rows]
    assert claim.recomputed == float(sum(values) / 60)
    assert report.counts == {}
    changes = {SCORE: 0.1, NAME: "median"}
    (claim,) = run(tmp_path, rows, changes, jobs=jobs).runs[0].claims
    assert claim.recomputed == float(statistics.median(values))


@pytest.mark.parametrize(
    ("error", "state"), [(None, State.OPEN), ("ValueError('boom')", State.CONFIRMED)]
)
def test_a_row_that_may_be_of_several_results_leaves_them_open_unless_it_has_an_error(
    error: str | None, state: State, tmp_path: Path
) -> None:
    rows = [{**row, "evaluation_result_id": name} for name in "ab" for row in scored(FOUR)]
    rows.append({**rows[0], "sample_id": "other", "error": error})
    del rows[-1]["evaluation_result_id"]
    document = aggregate_of("0.3.0", bytes_of(rows), len(rows))
    (result,) = document["evaluation_results"]
    result["score_details"] = {"score": 0.75, "uncertainty": {"num_samples": 4}}
    document["evaluation_results"] = [{**result, "evaluation_result_id": name} for name in "ab"]
    path, aggregate = tmp_path / "rows.jsonl", tmp_path / "aggregate.json"
    path.write_bytes(bytes_of(rows))
    aggregate.write_text(json.dumps(document))
    report = evalstream.check(path, aggregate=aggregate, select=("ES8",))
    assert {claim.state for claim in report.runs[0].claims} == {state}


def test_names_join_where_only_one_result_bears_them(tmp_path: Path) -> None:
    rows = [{key: row[key] for key in row if key != "evaluation_result_id"} for row in scored(FOUR)]
    document = aggregate_of("0.3.0", bytes_of(rows), 4)
    document["evaluation_results"][0]["score_details"] = {"score": 0.5}
    document["evaluation_results"][0].pop("evaluation_result_id")
    path, aggregate = tmp_path / "rows.jsonl", tmp_path / "aggregate.json"
    path.write_bytes(bytes_of(rows))
    aggregate.write_text(json.dumps(document))
    report = evalstream.check(path, aggregate=aggregate, select=("ES8",))
    assert report.counts == {"ES801": 1}
    document["evaluation_results"] *= 2
    aggregate.write_text(json.dumps(document))
    report = evalstream.check(path, aggregate=aggregate, select=("ES8",))
    # Whichever of two results the rows score, if only their figures differ, it is not the claim.
    assert report.counts == {"ES801": 2}
    # Each result is tried: a claim that the rows give is confirmed, and nothing is refuted.
    document["evaluation_results"] = json.loads(json.dumps(document["evaluation_results"]))
    first, second = document["evaluation_results"]
    second["metric_config"]["evaluation_description"] = "another metric"
    aggregate.write_text(json.dumps(document))
    report = evalstream.check(path, aggregate=aggregate, select=("ES8",))
    assert report.counts == {"ES804": 2, "ES805": 1}
    assert any("several results could have the rows" in finding.message for finding in report)
    first["score_details"] = {"score": 0.75}
    aggregate.write_text(json.dumps(document))
    report = evalstream.check(path, aggregate=aggregate, select=("ES8",))
    tried, other = report.runs[0].claims
    assert (tried.state, other.state) == (State.CONFIRMED, State.OPEN)
    assert tried.reason is not None
    assert tried.reason.startswith("confirmed by trial")


def test_of_two_results_that_only_figures_distinguish_the_rows_refute_one(tmp_path: Path) -> None:
    rows = [{key: row[key] for key in row if key != "evaluation_result_id"} for row in scored(FOUR)]
    document = aggregate_of("0.3.0", bytes_of(rows), 4)
    (result,) = document["evaluation_results"]
    result.pop("evaluation_result_id")
    document["evaluation_results"] = [
        result | {"score_details": {"score": score}} for score in (0.95, 0.75)
    ]
    path, aggregate = tmp_path / "rows.jsonl", tmp_path / "aggregate.json"
    path.write_bytes(bytes_of(rows))
    aggregate.write_text(json.dumps(document))
    report = evalstream.check(path, aggregate=aggregate, select=("ES8",))
    assert [claim.state for claim in report.runs[0].claims] == [State.REFUTED, State.CONFIRMED]
    # Repeats may be reduced in several ways, which converters write as such results.
    for row in rows:
        row["sample_id"] = "s1"
    path.write_bytes(bytes_of(rows))
    report = evalstream.check(path, aggregate=aggregate, select=("ES8",))
    assert [claim.state for claim in report.runs[0].claims] == [State.OPEN, State.CONFIRMED]


@each(
    ("scores", "samples", "expected"),
    [
        ((0.95, 0.5), None, {"ES804": 2}),  # They may be over two parts of the rows.
        ((0.95, 0.5), 2, {"ES804": 4}),
        ((0.95, 0.5), 4, {"ES801": 2}),
        ((0.95, 0.85), 2, {"ES801": 2, "ES802": 2}),
    ],
)
def test_results_that_only_figures_distinguish_may_be_over_parts_of_the_rows(
    tmp_path: Path, scores: Sequence[float], samples: int | None, expected: dict[str, int]
) -> None:
    rows = [{key: row[key] for key in row if key != "evaluation_result_id"} for row in scored(FOUR)]
    document = aggregate_of("0.3.0", bytes_of(rows), 4)
    (result,) = document["evaluation_results"]
    result.pop("evaluation_result_id")
    uncertainty = {} if samples is None else {"uncertainty": {"num_samples": samples}}
    document["evaluation_results"] = [
        result | {"score_details": {"score": score} | uncertainty} for score in scores
    ]
    path, aggregate = tmp_path / "rows.jsonl", tmp_path / "aggregate.json"
    path.write_bytes(bytes_of(rows))
    aggregate.write_text(json.dumps(document))
    report = evalstream.check(path, aggregate=aggregate, select=("ES801", "ES802", "ES804"))
    assert report.counts == expected


@each(
    ("names", "row_name"),
    [
        (["accuracy on sums for scorer match"], "somewhere/else"),
        (["accuracy on sums for scorer match", "accuracy on words for scorer match"], "sums"),
        (["sums", "words"], "sums"),
    ],
)
def test_rows_join_by_the_names_that_converters_write(
    tmp_path: Path, names: list[str], row_name: str
) -> None:
    rows = [{**row, "evaluation_name": row_name} for row in scored(FOUR)]
    for row in rows:
        row.pop("evaluation_result_id", None)
    document = aggregate_of("0.3.0", bytes_of(rows), 4)
    (result,) = document["evaluation_results"]
    result.pop("evaluation_result_id", None)
    document["evaluation_results"] = [
        {**result, "evaluation_name": name, "score_details": {"score": 0.75}} for name in names
    ]
    path, aggregate = tmp_path / "rows.jsonl", tmp_path / "aggregate.json"
    path.write_bytes(bytes_of(rows))
    aggregate.write_text(json.dumps(document))
    report = evalstream.check(path, aggregate=aggregate, select=("ES8",))
    states = [claim.state for claim in report.runs[0].claims]
    assert states == [State.CONFIRMED, *[State.OPEN for _ in names[1:]]]


def test_rows_that_could_not_be_read_give_no_verdict(tmp_path: Path) -> None:
    rows = scored(FOUR)
    data = bytes_of(rows) + b"{torn\n"
    document = aggregate_of("0.3.0", data, 5)
    path, aggregate = tmp_path / "rows.jsonl", tmp_path / "aggregate.json"
    path.write_bytes(data)
    aggregate.write_text(json.dumps(document))
    report = evalstream.check(path, aggregate=aggregate, select=("ES8",))
    assert report.counts == {}
    assert report.exit_code == 3
    assert report.runs[0].claims[0].recomputed is None


@each(
    ("successes", "rows", "lower", "upper"),
    [
        # E. B. Wilson's interval at 95 %, from the closed form with z = 1.959964.
        (0, 10, 0.0, 0.27753),
        (5, 10, 0.23659, 0.76341),
        (9, 10, 0.59585, 0.98212),
        (81, 263, 0.25529, 0.36621),
    ],
)
def test_wilson_intervals_are_those_of_the_textbook(
    successes: int, rows: int, lower: float, upper: float
) -> None:
    scores = ScoreSums()
    scores.add("n", 1, True, failed=False, times=successes)
    scores.add("n", 0, False, failed=False, times=rows - successes)
    evidence = Evidence(scores, ResultCoverage(rows, rows, 0, rows, rows))
    assert any(
        low == pytest.approx(lower, abs=1e-5) and high == pytest.approx(upper, abs=1e-5)
        for low, high in compute_intervals(evidence, 0.95)
    )
