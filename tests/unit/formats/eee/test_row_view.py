"""Rows give the same input whatever their form, and the digests of their views."""

import json
from pathlib import Path
from typing import Any

import pytest
from xxhash import xxh3_64_intdigest

from evalstream.formats.eee import row_engine
from evalstream.formats.eee.probe import probe_context
from evalstream.formats.eee.row_view import input_text, row_answer, sample_scope
from evalstream.io.digest import digest128
from evalstream.model.block import Lines
from evalstream.model.options import Options

RUN = Path(__file__).parents[4] / "examples" / "run.jsonl"


def rows() -> list[dict[str, Any]]:
    """Return the rows of the example."""
    return [json.loads(line) for line in RUN.read_text().splitlines()]


def test_rows_have_the_same_input_whatever_the_form_of_the_reference() -> None:
    row = rows()[0]
    listed = {**row, "input": {**row["input"], "reference": [row["input"]["reference"]]}}
    other = {**row, "input": {**row["input"], "raw": "another question"}}
    assert input_text(row) == input_text(listed) != input_text(other)


@pytest.mark.parametrize(("version", "key"), [("0.2.0", "interactions"), ("0.3.0", "messages")])
def test_the_output_of_a_conversation_is_its_transcript(version: str, key: str) -> None:
    row = {"sample_id": 1, "output": None, key: [{"role": "user"}]}
    assert row_answer(row, version) == (None, row[key])


def test_rows_of_two_evaluations_differ_in_their_scope() -> None:
    names = {(row["evaluation_id"], row["evaluation_name"]) for row in rows()}
    assert len({sample_scope(row) for row in rows()}) == len(names)


@pytest.mark.parametrize("worth", [0, 1 << 40], ids=["fast path", "exact path"])
def test_digests_of_rows_are_those_of_their_views(
    monkeypatch: pytest.MonkeyPatch, worth: int
) -> None:
    monkeypatch.setattr(row_engine, "WORTH_A_SCANNER_BYTES", worth)
    # Equal options share what was compiled, and with it the path.
    options = Options(max_findings=200 + bool(worth))
    data = RUN.read_bytes()
    result = probe_context(options, None, data).checker().run(Lines(data))
    assert len(result.row_records) == len(rows())
    for record, row in zip(result.row_records.records(), rows(), strict=True):
        evaluation = xxh3_64_intdigest(f"{row['evaluation_id']}\x1e".encode())
        assert record.input == digest128(input_text(row) or b"", evaluation)
        assert record.score == row["evaluation"]["score"]
