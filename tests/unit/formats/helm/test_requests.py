"""What is malformed in a request, and the scores of its answers."""

from array import array
from typing import Any

import pytest
from each import each

from evalstream.formats.helm.requests import find_malformed, score_answers


@each(("tags", "is_sound"), [(5, False), ("incorrect", False), (["correct"], True), (None, True)])
def test_tags_of_references_are_a_list(tags: Any, is_sound: bool) -> None:
    instance = {"id": "id1", "references": [{"tags": tags}]}
    found = find_malformed({"instance": instance, "train_trial_index": 0, "request": {}})
    wrong = ("/instance/references/0/tags", "tags must be a list")
    assert (found != wrong) is is_sound


@each(
    ("metric", "answer", "correct", "expected"),
    [
        ("f1_score", "the red acorn fell", ["A red acorn", "oak"], 0.8),
        ("f1_score", "the", ["the"], 0.0),
        ("f1_score", "oak", ["red acorn"], 0.0),
        ("f1_score", "Red, red acorn.", ["red acorn"], 1.0),
        ("exact_match_indicator", "so it is 12", ["The answer is 12"], 1.0),
        ("exact_match_indicator", "12 acorns", ["The answer is 12"], 0.0),
        ("final_number_exact_match", "It has 1,200 acorns", ["so 1200."], 1.0),
        ("final_number_exact_match", "-3.5", ["3.5"], 0.0),
        ("final_number_exact_match", "none", ["none"], 0.0),
        ("quasi_leave_articles_exact_match", "An oak!", ["an oak"], 1.0),
        ("quasi_leave_articles_exact_match", "An oak!", ["the oak"], 0.0),
    ],
)
def test_scores_are_those_of_the_harness(
    metric: str, answer: str, correct: list[str], expected: float
) -> None:
    found = score_answers([answer], [0.0], correct, None, (metric,))
    assert array("d", found or b"")[0] == pytest.approx(expected)
