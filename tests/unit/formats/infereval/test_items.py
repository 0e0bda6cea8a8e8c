"""Tests of the fast path of items: what it accepts, no rule reports."""

import copy
from typing import Any

from depth import examples
from each import each
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstream.formats.infereval.items import OF_ITEMS, is_sound
from evalstream.formats.infereval.rules.evaluations import has_same_fields
from evalstream.formats.infereval.rules.samples import INF309
from evalstream.formats.infereval.views import Benchmark, Evaluation, Item

ORIGINAL = {"id": "i", "premises": ["a", "b"], "conclusions": ["c"], "analyst_verdicts": ["good"]}
SAMPLES = [
    {"sample_index": 0, "raw_response": "Good!", "parsed_verdict": "good", "wall_time_ms": 5},
    {"sample_index": 1, "raw_response": "unclear", "parsed_verdict": "abstain", "wall_time_ms": 5},
    {"sample_index": 2, "raw_response": "GOOD", "parsed_verdict": "good", "parse_status": "ok"},
]
VOTE = {"good": 2, "abstain": 1, "verdict": "good"}
ITEM: dict[str, Any] = {
    **ORIGINAL,
    "samples": SAMPLES,
    "model_verdict": "good",
    "majority_vote": VOTE,
}
EVALUATION = Evaluation(
    {
        "endorsement_config": {"n_samples": 3},
        "started_at": "2026-05-31T10:00:00Z",
        "finished_at": "2026-05-31T10:00:06Z",
    },
    Benchmark({"items": [ORIGINAL]}),
)
USAGE = [{"output_tokens": 4}, {"output_tokens": 0}, {"input_tokens": -1}, {"output_tokens": None}]

SCALARS = [None, True, False, 0, 1, 2, 3, 1.0, "", " ", "ok", "sample_failed", "good", "bad"]
LISTS = [[], ["a"], ["b", "a"], [1], [True], SAMPLES[:2], SAMPLES[::-1]]
VALUES = st.sampled_from(
    [*SCALARS, "abstain", *LISTS, {}, {"verdict": "bad"}, -1, 8_000, 8_001, *USAGE]
)
PLACES = st.sampled_from(
    [(name,) for name in (*ITEM, "tags", "references", "analyst_rationales")]
    + [("majority_vote", name) for name in ("good", "bad", "abstain", "verdict", "tie_broken")]
    + [
        ("samples", index, name)
        for index in range(3)
        for name in (*SAMPLES[0], "parse_status", "provider_error", "usage", "reasoning_tokens")
    ]
)


def is_reported(item: dict[str, Any], evaluation: Evaluation) -> bool:
    """Tell whether a rule finds something in an item."""
    facts = Item(0, item, evaluation)
    rules = [rule.record for rule in OF_ITEMS]
    return any(violation for rule in rules if rule is not None for violation in rule(facts))


def changed(changes: list[tuple[Any, Any]]) -> dict[str, Any]:
    """Return the item with other values at some places."""
    item = copy.deepcopy(ITEM)
    for (*above, last), value in changes:
        holder: Any = item
        for key in above:
            is_there = isinstance(holder, dict) or (isinstance(holder, list) and key < len(holder))
            holder = (
                (holder.get(key) if isinstance(holder, dict) else holder[key]) if is_there else 0
            )
        if isinstance(holder, dict):
            holder[last] = value
    return item


def test_an_ordinary_item_is_accepted() -> None:
    assert is_sound(ITEM, EVALUATION)
    assert not is_reported(ITEM, EVALUATION)


@each(
    ("sample", "pointer"),
    [
        ({"wall_time_ms": 8_001}, "/samples/0/wall_time_ms"),
        ({"wall_time_ms": -1}, "/samples/0/wall_time_ms"),
        ({"usage": {"input_tokens": -1}}, "/samples/0/usage/input_tokens"),
        ({"usage": {"output_tokens": 0}}, "/samples/0/usage/output_tokens"),
        ({"reasoning_tokens": -1}, "/samples/0/reasoning_tokens"),
        ({"wall_time_ms": 8_000, "usage": {"output_tokens": 4}}, None),
        ({"wall_time_ms": None, "usage": None}, None),
        ({"usage": {"output_tokens": 0}, "raw_response": ""}, None),
    ],
)
def test_implausible_samples_are_reported(sample: dict[str, Any], pointer: str | None) -> None:
    item = copy.deepcopy(ITEM)
    item["samples"][0] |= sample
    assert INF309.record is not None
    found = [one.pointer for one in INF309.record(Item(0, item, EVALUATION))]
    assert found == ([] if pointer is None else [pointer])
    assert pointer is None or not is_sound(item, EVALUATION)


@settings(max_examples=examples(1_000))
@given(st.lists(st.tuples(PLACES, VALUES), min_size=1, max_size=3))
def test_what_is_accepted_is_not_reported(changes: list[tuple[Any, Any]]) -> None:
    item = changed(changes)
    if is_sound(item, EVALUATION):
        assert not is_reported(item, EVALUATION)


@each("config", [None, {}, {"n_samples": 3, "tie_break": "x"}, {"n_samples": 2}])
def test_other_settings_are_left_to_the_rules(config: Any) -> None:
    evaluation = Evaluation({"endorsement_config": config}, EVALUATION.benchmark)
    assert not is_sound(ITEM, evaluation)


def test_without_a_benchmark_nothing_is_accepted() -> None:
    assert not is_sound(ITEM, Evaluation(EVALUATION.document))


@each(
    ("here", "there", "is_same"),
    [
        ({"citation": "a", "doi": "b"}, {"doi": "b", "citation": "a"}, True),
        ({"citation": "a"}, {"citation": "b"}, False),
        ({"citation": "a", "year": 1}, {"citation": "a", "year": True}, False),
        ({"citation": "a", "parts": ["b"]}, {"citation": "a", "parts": ["b"]}, False),
        ("a", "a", True),
        ("a", {"citation": "a"}, False),
    ],
)
def test_references_that_are_certainly_equal(here: Any, there: Any, is_same: bool) -> None:
    item, original = ({**ORIGINAL, "references": [one]} for one in (here, there))
    assert has_same_fields(item, original) is is_same
