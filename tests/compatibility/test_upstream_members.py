"""Every member of a sound pair with other values: needs what test_upstream needs."""

import json
from copy import deepcopy
from pathlib import Path

from edits import apply
from members import VALUES, members
from paths import PAIRS
from upstream import needs_upstream
from verdicts import classes_of, judged

from evalstream.parsing.json import pointer

pytestmark = needs_upstream

PAIR = PAIRS / "0.3.0"
RESULT = "/evaluation_results/0"
JUDGED = {
    f"{RESULT}/metric_config/llm_scoring": {
        "input_prompt": "Right or wrong?",
        "judges": [
            {
                "model_info": {
                    "name": "Judge",
                    "id": "acme/judge",
                    "additional_details": {
                        "deployment_type": "unknown",
                        "model_availability": "unknown",
                    },
                }
            }
        ],
    },
    f"{RESULT}/score_details/uncertainty/confidence_interval": {
        "lower": 0.5,
        "upper": 0.9,
        "confidence_level": 0.95,
        "method": "bootstrap",
    },
}
"""Members that the pair does not have, and that upstream looks at closely."""


def assert_explained(scripts: list[str], folder: Path) -> None:
    """Require a class for every disagreement over the edits."""
    runs = []
    for number, script in enumerate(scripts):
        case = apply(f"version 0.3.0\n{script}", folder / str(number))
        assert case.aggregate is not None
        runs.append((case.rows, case.aggregate))
    unexplained = {
        script: verdicts[:2]
        for script, verdicts in zip(scripts, judged(runs), strict=True)
        if not classes_of(verdicts)
    }
    assert not unexplained


def test_disagreements_over_members_of_the_aggregate_are_all_explained(tmp_path: Path) -> None:
    (path,) = PAIR.rglob("*.json")
    setting = "".join(
        f"aggregate {place} = {json.dumps(member)}\n" for place, member in JUDGED.items()
    )
    document = json.loads(path.read_bytes())
    result = document["evaluation_results"][0]
    record, interval = (deepcopy(member) for member in JUDGED.values())
    result["metric_config"]["llm_scoring"] = record
    result["score_details"]["uncertainty"]["confidence_interval"] = interval
    scripts = [
        f"{setting}aggregate {pointer(place)} = {json.dumps(value)}"
        for place in members(document)
        for value in VALUES
    ]
    scripts += [f"{setting}aggregate {pointer(place)} removed" for place in members(document)]
    assert_explained(scripts, tmp_path)


def test_disagreements_over_members_of_rows_are_all_explained(tmp_path: Path) -> None:
    (path,) = PAIR.rglob("*.jsonl")
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert {row["interaction_type"] for row in rows[:3]} > {"single_turn"}
    scripts = []
    for number in (1, 3):
        for place in members(rows[number - 1]):
            scripts += [f"row {number} {pointer(place)} = {json.dumps(one)}" for one in VALUES]
            scripts.append(f"row {number} {pointer(place)} removed")
    assert_explained(scripts, tmp_path)
