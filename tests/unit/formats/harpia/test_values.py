"""The kinds of scores, and which differences the rounding of results explains."""

from decimal import Decimal
from fractions import Fraction

import pytest
from each import each
from hypothesis import assume, example, given
from hypothesis import strategies as st

from evalstream.formats.harpia.values import (
    ERROR_RATE,
    OVERLAP,
    PERPLEXITY,
    SHARE,
    choose_bounded_kind,
    choose_kind,
    count_decimals,
    is_mean,
)
from evalstream.model.claim import State
from evalstream.stats.claims import kinds
from evalstream.stats.claims.evidence import Evidence
from evalstream.stats.claims.judge import judge
from evalstream.stats.claims.judgement import Claim
from evalstream.stats.claims.kinds import ClaimKind
from evalstream.stats.claims.rounding import is_small_whole


@each(
    ("name", "path", "expected"),
    [
        ("accuracy", (), True),
        ("METEOR (NLTK)", (), True),
        ("BERTScore", ("f1",), True),
        ("exact_match", ("Exact-Match",), True),
        ("COMET", ("num_references",), False),
        ("balanced_accuracy", (), False),
        ("BLEU NLTK", (), False),
        ("rouge", ("rougeL",), False),
        ("inaccuracy", (), False),
    ],
)
def test_means_are_known_by_name_and_member(
    name: str, path: tuple[str, ...], expected: bool
) -> None:
    assert is_mean(name, path) is expected


@each(
    ("number", "decimals"),
    [(1.0, 0), (0.5, 1), (0.25, 2), (1e-7, 7), (1e20, 0), (-0.125, 3), (float("nan"), 0)],
)
def test_decimals(number: float, decimals: int) -> None:
    assert count_decimals(number) == decimals


@each(
    ("name", "path", "expected"),
    [
        ("accuracy", (), kinds.MEAN),
        ("METEOR (NLTK)", (), kinds.MEAN),
        ("BERTScore", ("f1",), kinds.MEAN),
        ("Report", ("accuracy",), kinds.MEAN),
        ("Weighted report", ("accuracy",), kinds.AVERAGE),
        ("balanced_accuracy", (), kinds.AVERAGE),
        ("Word error rate", (), kinds.AVERAGE),
        ("Length", ("max",), kinds.GREATEST),
        ("Accuracy", ("num_samples",), kinds.COUNT),
        ("Accuracy", ("correct",), kinds.UNKNOWN),
        ("Length", ("std",), kinds.UNKNOWN),
        ("Perplexity", (), PERPLEXITY),
        ("BLEU", ("translation_length",), kinds.UNKNOWN),
        ("Report", ("rougeL",), OVERLAP),
        ("BLEU (NLTK)", (), OVERLAP),
    ],
)
def test_the_kind_of_a_score(name: str, path: tuple[str, ...], expected: ClaimKind) -> None:
    assert choose_kind(name, path) is expected


@each(
    ("name", "path", "expected"),
    [
        ("Accuracy", (), SHARE),
        ("METEOR NLTK", ("score",), OVERLAP),
        ("Word error rate", (), ERROR_RATE),
        ("Translation", ("ter",), ERROR_RATE),
        ("Language", ("mean_perplexity",), PERPLEXITY),
        ("ROUGE-2", ("precision",), OVERLAP),
        ("Report", ("rougeL", "f-measure"), OVERLAP),
        ("METEOR", ("Recall",), OVERLAP),
        *((name, (), kinds.UNKNOWN) for name in ("accuracy gain", "log perplexity", "BERTScore")),
        *((name, ("f1",), kinds.UNKNOWN) for name in ("BERTScore", "accuracy", "perplexity")),
        ("BLEU", ("precisions",), kinds.UNKNOWN),
    ],
)
def test_the_bounds_of_a_score(name: str, path: tuple[str, ...], expected: ClaimKind) -> None:
    assert choose_bounded_kind(name, path) is expected


@given(
    results=st.lists(st.decimals(0, 1, places=6), min_size=1, max_size=9),
    places=st.integers(1, 5),
    digits=st.integers(1, 6),
)
@example(results=[Decimal("0.000085")], places=5, digits=5)
@example(results=[Decimal("0.000045")], places=5, digits=5)
def test_rounded_results_and_scores_never_refute_each_other(
    results: list[Decimal], places: int, digits: int
) -> None:
    mean = Fraction(sum(results)) / len(results)
    score = Decimal(round(mean * 10**digits)).scaleb(-digits)
    assume(not is_small_whole(score))
    written = [round(float(one), places) for one in results]
    claim = Claim("", "", kinds.MEAN, score, float(score), is_score=True)
    state = judge(claim, Evidence.of_numbers(written, unit=Fraction(1, 10**places))).claim.state
    assert state is not State.REFUTED


def judge_rounded(score: str, *written: float) -> State:
    """Return the state of a mean over results that were written with five decimals."""
    claim = Claim("", "", kinds.MEAN, Decimal(score), float(score), is_score=True)
    return judge(claim, Evidence.of_numbers(written, unit=Fraction(1, 10**5))).claim.state


@pytest.mark.parametrize(("score", "written"), [("0.00008", 0.00009), ("0.00009", 0.00008)])
def test_a_tie_may_be_rounded_to_either_side(score: str, written: float) -> None:
    assert judge_rounded(score, written) is State.OPEN


@each(("score", "written"), [("0.00007", 0.00009), ("0.00010", 0.00008), ("0.0000849", 0.00009)])
def test_a_score_beyond_the_tie_is_refuted(score: str, written: float) -> None:
    assert judge_rounded(score, written) is State.REFUTED


def test_whole_results_are_exact() -> None:
    ones = Evidence.of_numbers([1, 1, 0])
    wrong = Claim("", "", kinds.MEAN, Decimal("0.60"), 0.6)
    assert judge(wrong, ones).claim.state is State.REFUTED
    assert judge(wrong._replace(value=Decimal("0.67")), ones).claim.state is State.ROUNDED
