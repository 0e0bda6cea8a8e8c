"""Which metrics are means, and which differences the rounding of results explains."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstream.formats.harpia.means import decimals_of, is_beyond_rounding, is_mean


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("number", "decimals"),
    [(1.0, 0), (0.5, 1), (0.25, 2), (1e-7, 7), (1e20, 0), (-0.125, 3), (float("nan"), 0)],
)
def test_decimals(number: float, decimals: int) -> None:
    assert decimals_of(number) == decimals


@given(
    results=st.lists(st.decimals(0, 1, places=6), min_size=1, max_size=9),
    places=st.integers(1, 5),
    digits=st.integers(1, 6),
)
def test_rounded_results_and_scores_are_never_beyond_rounding(
    results: list[Decimal], places: int, digits: int
) -> None:
    mean = Fraction(sum(results)) / len(results)
    claim = Decimal(round(mean * 10**digits)).scaleb(-digits)
    logged = [Fraction(round(Fraction(one) * 10**places), 10**places) for one in results]
    assert not is_beyond_rounding(claim, sum(logged, Fraction(0)) / len(logged), places)


def test_whole_results_are_exact() -> None:
    assert is_beyond_rounding(Decimal("0.60"), Fraction(2, 3), 0)
    assert not is_beyond_rounding(Decimal("0.67"), Fraction(2, 3), 0)
