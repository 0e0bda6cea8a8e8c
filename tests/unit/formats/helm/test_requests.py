"""What is malformed in a request, and the scores of its answers."""

import copy
import json
from array import array
from typing import Any

import pytest
from each import each

from evalstream.formats.helm.requests import convert_request, decode_requests, score_answers
from evalstream.formats.helm.rules.documents import check_request
from evalstream.parsing.json import resolve_pointer

REQUEST: dict[str, Any] = {
    "instance": {
        "id": "id1",
        "input": {"text": "2 + 2 = ?"},
        "references": [{"output": {"text": "4"}, "tags": ["correct"]}],
        "split": "test",
    },
    "train_trial_index": 0,
    "output_mapping": {"A": "4"},
    "request": {"prompt": "2 + 2 = ?"},
    "result": {"success": True, "completions": [{"text": "A", "logprob": -0.5}]},
    "num_train_instances": 0,
    "prompt_truncated": False,
}


def test_an_old_request_and_one_without_optional_members_are_sound() -> None:
    old = {"id": 1, "input": "2 + 2 = ?", "references": [{"output": "4", "tags": None}]}
    assert not list(check_request(REQUEST, ""))
    assert not list(check_request({"instance": old, "train_trial_index": 0}, ""))
    del old["input"]
    (violation,) = check_request({"instance": old, "train_trial_index": 0}, "")
    assert violation.message == "input is missing"


MEMBERS = (
    *("/instance", "/instance/id", "/instance/input", "/instance/input/text"),
    *("/instance/references", "/instance/references/0/output", "/instance/references/0/tags"),
    *("/instance/references/0/output/text", "/instance/split", "/train_trial_index"),
    *("/output_mapping", "/request", "/request/prompt", "/result", "/result/success"),
    *("/result/completions", "/result/completions/0/text", "/result/completions/0/logprob"),
    *("/num_train_instances", "/prompt_truncated", "/request_mode", "/reference_index"),
)


def replace(where: str, value: Any) -> dict[str, Any]:
    """Return the request with another value at a pointer."""
    request = copy.deepcopy(REQUEST)
    holder, _, key = where.rpartition("/")
    resolve_pointer(request, holder)[int(key) if key.isdecimal() else key] = value
    return request


@each("where", MEMBERS)
def test_the_table_of_types_accepts_what_is_decoded(where: str) -> None:
    values = (None, True, 1, 1.5, 10**20, 10**400, "x", [], {}, ["x"], [{}], {"x": "y"}, {"x": 1})
    for value in values:
        request = replace(where, value)
        is_sound = not list(check_request(request, ""))
        assert (decode_requests(json.dumps([request]).encode()) is not None) == is_sound
        if is_sound:
            convert_request(request)


@each("where", MEMBERS)
def test_a_member_of_another_type_is_named(where: str) -> None:
    """Else a request that cannot be read would give no score to compare."""
    request = replace(where, [{"x": "y"}, 1.5])
    assert next(check_request(request, "")).pointer == where


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
