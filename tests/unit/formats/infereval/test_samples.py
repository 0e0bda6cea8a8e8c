"""The rules about the samples of an item."""

import copy
from typing import Any

from each import each

from evalstream.formats.infereval.catalogue import OF_ITEMS
from evalstream.formats.infereval.rules.design import INF201, INF202
from evalstream.formats.infereval.rules.samples import INF309
from evalstream.formats.infereval.views import Benchmark, Evaluation, Item

ORIGINAL = {"id": "i", "premises": ["a", "b"], "conclusions": ["c"], "analyst_verdicts": ["good"]}
SAMPLES = [
    {"sample_index": 0, "raw_response": "Good!", "parsed_verdict": "good", "wall_time_ms": 5},
    {"sample_index": 1, "raw_response": "x", "parsed_verdict": "abstain", "wall_time_ms": 5},
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


def is_reported(item: dict[str, Any], evaluation: Evaluation) -> bool:
    """Tell whether a rule finds something in an item."""
    facts = Item(0, item, evaluation)
    rules = [rule.record for rule in (INF201, INF202, *OF_ITEMS)]
    return any(violation for rule in rules if rule is not None for violation in rule(facts))


def test_nothing_is_found_in_an_ordinary_item() -> None:
    assert not is_reported(ITEM, EVALUATION)


@each(
    ("sample", "pointer"),
    [
        ({"wall_time_ms": 8_001}, "/samples/0/wall_time_ms"),
        ({"wall_time_ms": -1}, "/samples/0/wall_time_ms"),
        ({"usage": {"input_tokens": -1}}, "/samples/0/usage/input_tokens"),
        ({"usage": {"output_tokens": 0}}, "/samples/0/usage/output_tokens"),
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
