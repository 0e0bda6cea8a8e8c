"""Scores that follow from the answers of a row."""

from evalstream.formats.lm_eval.row_scores import _derive_rolling, brier_score
from evalstream.formats.lm_eval.scoring_plan import ScoringPlan


def test_a_likelihood_is_weighted_by_words_or_bytes() -> None:
    names = ("word_perplexity", "byte_perplexity", "bits_per_byte", "acc")
    plan = ScoringPlan(metrics=tuple((name, "{}") for name in names))
    found = {one.metric: one for one in _derive_rolling({}, ["-2.5", "-7"], "é two  words", plan)}
    assert found.keys() == set(names[:3])
    for name, one in found.items():
        assert one.values == ([-2.5, 3 if name == "word_perplexity" else 13],)
        assert not one.is_certain


def test_likelihoods_that_no_double_holds_give_no_brier_score() -> None:
    assert brier_score({"filtered_resps": [[10**400], [1]]}, (0, [0.5, 0.5])) is None
