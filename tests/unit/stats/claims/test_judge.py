"""The judge of claims: one state for every claim, whatever the rows hold."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from depth import examples
from each import each
from hypothesis import example, given
from hypothesis import strategies as st
from rows import bounded

from evalstream.model.claim import State
from evalstream.stats.claims import kinds
from evalstream.stats.claims.evidence import Evidence
from evalstream.stats.claims.judge import judge
from evalstream.stats.claims.judgement import Claim
from evalstream.stats.coverage import ResultCoverage
from evalstream.stats.tally import ScoreSums

SCORES = st.one_of(
    st.sampled_from([0, 1, True, -0.0, 5e-324, 1e308, -1e308, 10**400, -(10**400), 0.1, None]),
    st.floats(-10, 10),
    st.floats(),
)
CLAIMED = st.one_of(
    st.sampled_from(["0", "1", "-1", "0.75", "1e300", "-1E400", "5e-324", "1e-320"]),
    st.floats(-10, 10).map(repr),
).map(Decimal)
KINDS = st.sampled_from(kinds.TABLE)


@st.composite
def evidences(draw: st.DrawFn) -> Evidence:
    """Draw rows of a result, and statements of its aggregate."""
    scores, sums = draw(st.lists(SCORES, max_size=8)), ScoreSums()
    for score in scores:
        sums.add("task", score, True, failed=draw(st.booleans()), times=1)
    samples = draw(st.integers(0, len(scores)))
    cover = ResultCoverage(samples, samples, 0, len(scores), draw(st.integers(0, 64)))
    return Evidence(
        sums,
        cover,
        sums.values,
        limits=draw(st.sampled_from([(None, None), (0, 1), (-math.inf, math.inf), (0, None)])),
        missing=draw(st.sampled_from([0, 0, 3])),
        factors=draw(st.sampled_from([(1,), (1, 100), (100,)])),
        levels=draw(st.sampled_from([0, 2, 5])),
        unit=draw(st.sampled_from([Fraction(0), Fraction(1, 100)])),
    )


def claim(kind: kinds.ClaimKind, value: Any, **more: Any) -> Claim:
    """Make a claim that is a score."""
    return Claim("/score", "accuracy", kind, value, None, is_score=True, **more)


@given(
    evidence=evidences(),
    kind=KINDS,
    value=CLAIMED,
    upper=CLAIMED,
    method=st.sampled_from([None, "bootstrap", "clustered", "mine", "wilson"]),
    draws=st.sampled_from([None, 0, 10, 1000]),
    level=st.sampled_from([0.95, 0.0, 1.0, 0.5, -1.0]),
)
@bounded(max_examples=examples(300))
def test_every_claim_has_a_state_and_an_open_one_a_reason(
    evidence: Evidence,
    kind: kinds.ClaimKind,
    value: Decimal,
    upper: Decimal,
    method: str | None,
    draws: int | None,
    level: float,
) -> None:
    ends = (min(value, upper), max(value, upper)) if kind is kinds.INTERVAL else value
    found = judge(claim(kind, ends, method=method, draws=draws, level=level), evidence)
    assert found.claim.state is not State.OPEN or found.claim.reason is not None
    assert (found.claim.state is State.REFUTED) == bool(found.message)


@given(scores=st.lists(st.floats(-100, 100), min_size=1, max_size=12), kind=KINDS)
@example(scores=[0.5], kind=kinds.PERPLEXITY)
@bounded(max_examples=examples(200))
def test_the_figure_itself_is_confirmed(scores: list[float], kind: kinds.ClaimKind) -> None:
    evidence = Evidence.of_numbers(scores)
    for figure in kind.figures(evidence):
        found = judge(claim(kind, Decimal(repr(float(figure.value)))), evidence)
        is_impossible = kind is kinds.PERPLEXITY and figure.value < 1 - 1e-8
        assert found.claim.state is (State.REFUTED if is_impossible else State.CONFIRMED)


@pytest.mark.parametrize("stray", [1e-3, 0.3, -0.2])
@each("kind", [kinds.MEAN, kinds.MEDIAN, kinds.DEVIATION, kinds.ERROR])
def test_a_figure_that_strays_is_refuted(kind: kinds.ClaimKind, stray: float) -> None:
    evidence = Evidence.of_numbers([0.11, 0.52, 0.63, 0.94, 0.97])
    value = float(next(iter(kind.figures(evidence))).value) + stray
    assert judge(claim(kind, Decimal(repr(value))), evidence).claim.state is State.REFUTED


@each(
    ("quantile", "level", "is_known"),
    [
        ("1.95996398454005", 0.95, True),
        ("1.96", 0.95, True),
        ("2", 0.95, True),
        ("2", 0.9, False),
        ("1.645", 0.9, True),
        ("1.645", 0.95, False),
        ("1.645", None, True),
        ("2.1", None, False),
    ],
)
def test_an_interval_is_by_a_quantile_of_its_level(
    quantile: str, level: float | None, is_known: bool
) -> None:
    scores = [number / 100 for number in range(100)]
    evidence = Evidence.of_numbers(scores)
    error = next(iter(kinds.ERROR.figures(evidence))).value
    half = Decimal(quantile) * Decimal(repr(float(error)))
    ends = Decimal("0.495") - half, Decimal("0.495") + half
    found = judge(claim(kinds.INTERVAL, ends, level=level), evidence)
    assert found.claim.state is (State.CONFIRMED if is_known else State.REFUTED)
    assert (not is_known and level is None) == ("95, 90 or 99" in (found.message or ""))


def test_huge_scores_of_both_signs_do_not_confirm_whatever_is_claimed() -> None:
    evidence = Evidence.of_numbers([1e12, -1e12, 0.5])
    assert judge(claim(kinds.MEAN, Decimal("0.99")), evidence).claim.state is State.REFUTED


@each(
    ("name", "kind"),
    [
        ("accuracy", kinds.MEAN),
        ("Exact Match", kinds.MEAN),
        ("lm-evaluation-harness.acc_norm", kinds.MEAN),
        ("quasi_exact_match@5", kinds.MEAN),
        ("inspect_ai.std", kinds.DEVIATION),
        ("final_stderr", kinds.ERROR),
        ("stderr2", kinds.ERROR),
        ("balanced accuracy", kinds.AVERAGE),
        ("step_success_rate", kinds.AVERAGE),
        ("num_correct", kinds.CORRECT),
        ("count of correct", None),
        ("vqav2-test-std-split", None),
        ("elo", None),
        ("", None),
    ],
)
def test_a_name_says_the_kind(name: str, kind: kinds.ClaimKind | None) -> None:
    assert kinds.kind_named(name) is kind
