"""The view of rows and records gives what the example documents say."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from xxhash import xxh3_64_intdigest

from evalstream.formats.base import RecordView
from evalstream.formats.eee import row_engine
from evalstream.formats.eee.probe import probe_context
from evalstream.formats.eee.row_view import sample_scope
from evalstream.formats.registry import FORMATS
from evalstream.io.digest import wide_digest
from evalstream.model.block import Lines
from evalstream.model.options import Options

EXAMPLES = Path(__file__).parents[3] / "examples"


def lines(path: str) -> list[dict[str, Any]]:
    """Return the JSON objects on the lines of an example."""
    return [json.loads(line) for line in (EXAMPLES / path).read_text().splitlines()]


def views(name: str, document: Any, version: str) -> list[RecordView]:
    """Return the views of the records in a document."""
    one = FORMATS[name]
    return [one.record_view(record, version) for record in one.records(document)]


@pytest.mark.parametrize("row", lines("run.jsonl"), ids=lambda row: row["sample_id"])
def test_a_row_shows_its_ids_input_hash_score_and_output(row: dict[str, Any]) -> None:
    (view,) = views("eee", row, row["schema_version"])
    ids = ("evaluation_id", "evaluation_name", "model_id", "sample_id")
    assert {name: view.ids[name] for name in ids} == {name: row[name] for name in ids}
    assert view.ids["epoch"] == row["metadata"]["epoch"]
    assert view.input == row["input"]
    assert view.hash == row["sample_hash"]
    assert view.scores == {"score": row["evaluation"]["score"]}
    assert view.output == (row.get("output") or row["interactions"])


def test_rows_have_the_same_input_whatever_the_form_of_the_reference() -> None:
    row = lines("run.jsonl")[0]
    listed = {**row, "input": {**row["input"], "reference": [row["input"]["reference"]]}}
    other = {**row, "input": {**row["input"], "raw": "another question"}}
    one, same, different = views("eee", [row, listed, other], "0.3.0")
    assert one.input_identity == same.input_identity != different.input_identity


@pytest.mark.parametrize(("version", "key"), [("0.2.0", "interactions"), ("0.3.0", "messages")])
def test_the_output_of_a_conversation_is_its_transcript(version: str, key: str) -> None:
    row = {"sample_id": 1, "output": None, key: [{"role": "user"}]}
    (view,) = views("eee", row, version)
    assert view.output == row[key]


def test_a_row_without_members_has_an_empty_view() -> None:
    assert views("eee", {}, "0.2.0") == [RecordView({}, None, None, None, {}, None)]


def test_an_aggregate_holds_no_rows() -> None:
    assert not views("eee", json.loads((EXAMPLES / "aggregate.json").read_text()), "0.2.0")


def test_rows_of_two_evaluations_differ_in_their_ids() -> None:
    rows = lines("run.jsonl")
    assert len({sample_scope(row) for row in rows}) == len(
        {
            (view.ids["evaluation_id"], view.ids["evaluation_name"])
            for view in views("eee", rows, "")
        }
    )


def test_an_item_shows_its_inference_and_the_verdict_of_the_model() -> None:
    document = json.loads((EXAMPLES / "infereval/evaluation.json").read_text())
    seen = views("infereval", document, "1.0")
    assert len(seen) == len(document["items"])
    for item, view in zip(document["items"], seen, strict=True):
        assert view.ids == {"id": item["id"]}
        assert view.input == {name: item[name] for name in ("premises", "conclusions")}
        assert view.input_identity is not None
        assert view.output == item["model_verdict"]
        assert (view.hash, view.scores) == (None, {})


def test_an_item_of_an_evaluation_has_the_input_of_that_of_its_benchmark() -> None:
    documents = (
        json.loads((EXAMPLES / "infereval" / name).read_text())
        for name in ("benchmark.json", "evaluation.json")
    )
    benchmark, evaluation = (
        {view.ids["id"]: view.input_identity for view in views("infereval", document, "1.0")}
        for document in documents
    )
    assert benchmark == evaluation


@pytest.mark.parametrize("record", lines("harpia/log.jsonl"))
def test_a_log_record_shows_its_instance_metric_and_numbers(record: dict[str, Any]) -> None:
    (view,) = views("harpia", record, "")
    assert view.ids == {name: record[name] for name in ("instance_id", "metric", "parameters")}
    result = record["result"]
    assert view.scores == (result if isinstance(result, dict) else {"result": result})
    assert (view.input, view.input_identity, view.hash, view.output) == (None,) * 4


def test_a_report_shows_a_value_for_each_task_and_metric() -> None:
    text = (EXAMPLES / "evalguard/reports/acorn-7b.yaml").read_text()
    document = yaml.safe_load(text)
    said = [
        ({"task": task["task_ref"], "metric": metric}, {metric: measured["value"]})
        for task, results in zip(document["tasks"], document["results"], strict=True)
        for metric, measured in results.items()
    ]
    seen = views("evalguard", document, "v1")
    assert [(view.ids, view.scores) for view in seen] == said
    assert {(view.input, view.hash, view.output) for view in seen} == {(None, None, None)}


def test_a_task_holds_no_results() -> None:
    text = (EXAMPLES / "evalguard/tasks/sums.yaml").read_text()
    assert not views("evalguard", yaml.safe_load(text), "v1")


@pytest.mark.parametrize("worth", [0, 1 << 40], ids=["fast path", "exact path"])
def test_digests_of_rows_are_those_of_their_views(
    monkeypatch: pytest.MonkeyPatch, worth: int
) -> None:
    monkeypatch.setattr(row_engine, "WORTH_A_SCANNER_BYTES", worth)
    # Equal options share what was compiled, and with it the path.
    options = Options(max_findings=200 + bool(worth))
    data = (EXAMPLES / "run.jsonl").read_bytes()
    result = probe_context(options, None, data).checker().run(Lines(data))
    seen = views("eee", lines("run.jsonl"), "0.2.0")
    assert len(result.row_records) == len(seen)
    for record, view in zip(result.row_records.records(), seen, strict=True):
        evaluation = xxh3_64_intdigest(f"{view.ids['evaluation_id']}\x1e".encode())
        assert record.input == wide_digest(view.input_identity or b"", evaluation)
        assert record.score == view.scores["score"]
