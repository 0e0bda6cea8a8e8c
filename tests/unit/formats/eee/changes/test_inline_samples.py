"""Samples that an aggregate of 0.1.0 lists itself: scored, or refused with the reason."""

import json
from typing import Any

import pytest
from each import each

from evalstream.formats.eee.changes.aggregate import AggregateMigration
from evalstream.formats.eee.changes.inline_samples import InlineSamples
from evalstream.formats.eee.changes.moves import AggregateRefused
from evalstream.formats.eee.changes.run import EeeMigration
from evalstream.formats.eee.changes.supplied import DECISIONS, Supplied


def sample(number: int, **members: Any) -> dict[str, Any]:
    return {
        "sample_id": f"s{number}",
        "input": f"Question {number}?",
        "ground_truth": "A",
        "response": "A" if number % 3 else "B",
        **members,
    }


def rows_of(
    samples: list[Any], *scores: str, decisions: tuple[str, ...] = DECISIONS, lower: bool = False
) -> list[Any]:
    """Return the rows of an aggregate that claims scores, written as given."""
    results = ", ".join(
        f'{{"evaluation_name": "e", "metric_config": {{"lower_is_better": {json.dumps(lower)}}}, '
        f'"score_details": {{"score": {score}}}}}'
        for score in scores
    )
    text = (
        '{"schema_version": "0.1.0", "evaluation_id": "e/m/1", "retrieved_timestamp": "1", '
        '"source_data": ["https://example.org"], "source_metadata": {}, '
        '"model_info": {"name": "m", "id": "a/m"}, '
        f'"evaluation_results": [{results}], '
        f'"detailed_evaluation_results_per_samples": {json.dumps(samples)}}}'
    )
    migration = AggregateMigration(text.encode(), "0.3.0", Supplied(fill=True))
    data = InlineSamples(migration, "0.3.0", decisions).rows().data
    return [json.loads(line) for line in data.splitlines()]


def test_samples_are_scored_by_equality() -> None:
    rows = rows_of([sample(number) for number in range(3)], "0.667")
    assert [row["evaluation"] for row in rows] == [
        {"score": 0, "is_correct": False},
        {"score": 1, "is_correct": True},
        {"score": 1, "is_correct": True},
    ]


@each("claimed", ["0.667", "0.6667", "0.6666666666666666", "6.66666667e-1"])
def test_a_score_confirms_the_mean_to_its_digits(claimed: str) -> None:
    assert rows_of([sample(number) for number in range(3)], "0.1", claimed)


@each("claimed", ["0.67", "0.7", "1", "0.6664", "0.66660", "66.7", "6.67e-1"])
def test_another_score_does_not(claimed: str) -> None:
    with pytest.raises(AggregateRefused, match="no result claims the score"):
        rows_of([sample(number) for number in range(3)], claimed)


def test_a_share_of_wrong_answers_confirms_no_scores() -> None:
    half = [sample(0), sample(1)]
    assert rows_of(half, "0.5")
    with pytest.raises(AggregateRefused, match="no result claims the score"):
        rows_of(half, "0.5", lower=True)


def test_without_the_decision_nothing_is_scored() -> None:
    with pytest.raises(AggregateRefused, match="--decide inline-scores"):
        rows_of([sample(1)], "1", decisions=())


@each(
    ("members", "reason"),
    [
        ({"input": None}, "input of a sample"),
        ({"input": 5}, "input of a sample"),
        ({"response": None}, "no response"),
        ({"ground_truth": 5}, "ground truth"),
        ({"sample_id": None}, "no sample_id"),
    ],
)
def test_a_sample_that_lacks_a_part_is_refused(members: dict[str, Any], reason: str) -> None:
    with pytest.raises(AggregateRefused, match=reason):
        rows_of([sample(1, **members)], "1")


def test_what_rows_have_no_place_for_is_kept() -> None:
    (row,) = rows_of(
        [sample(1, prompt=5, choices=[["A", "yes"], ["B", "no"]], full_logprobs=[[1.50]], x="y")],
        "1.0",
    )
    assert row["input"]["choices"] == ["yes", "no"]
    assert "formatted" not in row["input"]
    assert row["metadata"] == {
        "migrated.prompt": "5",
        "migrated.choices": '[["A","yes"],["B","no"]]',
        "migrated.full_logprobs": "[[1.5]]",
        "migrated.x": "y",
    }
    (row,) = rows_of([sample(1, prompt="P", choices=["yes", "no"], x=None)], "1.0")
    assert row["input"]["formatted"] == "P"
    assert row["input"]["choices"] == ["yes", "no"]
    assert "metadata" not in row


@each(
    ("seal", "said"),
    [
        ({"checksum": "ab" * 32}, "seals a file of rows"),
        ({"total_rows": 4}, "total_rows is 4, but the number of rows is 3"),
        ({"total_rows": 3}, None),
    ],
)
def test_a_seal_of_other_rows_is_not_written_over(seal: dict[str, Any], said: str | None) -> None:
    document = {
        "schema_version": "0.1.0",
        "evaluation_id": "e/m/1",
        "model_info": {"name": "m", "id": "a/m"},
        "evaluation_results": [{"evaluation_name": "e", "score_details": {"score": 0.6667}}],
        "detailed_evaluation_results": seal,
        "detailed_evaluation_results_per_samples": [sample(number) for number in range(3)],
    }
    supplied = Supplied(collection="c", fill=True, decisions=DECISIONS)
    migration = EeeMigration(json.dumps(document).encode(), "a.json", "0.3.0", supplied)
    if said is None:
        assert migration.inline_rows() is not None
    else:
        with pytest.raises(AggregateRefused, match=said):
            migration.inline_rows()
