"""Scores that follow from the answers of a row."""

from evalstream.formats.lm_eval.row_scores import _derive_rolling, brier_score, derive_scores
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


def test_mutual_information_of_early_releases_is_derived() -> None:
    """Each request has its twin without a prompt behind it, and without the delimiter."""
    plan = ScoringPlan("multiple_choice", (("acc", "{}"), ("acc_mutual_info", "{}")))
    row = {
        "target": 1,
        "arguments": [["Q:", " oak"], ["", "oak"], ["Q:", " elm"], ["", "elm"]],
        "filtered_resps": [[-2.0, False], [-1.0, False], [-3.0, True], [-9.0, False]],
    }
    found = {one.metric: one.values for one in derive_scores(row, plan)}
    assert found == {"acc": (0.0,), "acc_mutual_info": (1.0,)}


def test_of_equal_choices_that_may_be_inputs_nothing_is_derived() -> None:
    """The right one of choices that are inputs is a number that no row shows."""
    plan = ScoringPlan("multiple_choice", (("acc", "{}"),))
    request = {"arg_0": "oak", "arg_1": " 0"}
    row = {
        "target": "0",
        "arguments": {"gen_args_0": request, "gen_args_1": request},
        "filtered_resps": [["-3.0", "False"], ["-2.0", "False"]],
    }
    assert not [*derive_scores(row, plan)]
    row["target"] = "1"
    assert [one.values for one in derive_scores(row, plan)] == [(1.0,)]
