"""Runs of Every Eval Ever under two models, whose answers are those of one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crossings import crossing
from each import each

Row = dict[str, Any]
Edit = Callable[[int, Row], object]


def timed(number: int, row: Row) -> None:
    row["performance"] = {"latency_ms": 1, "generation_time_ms": 700 + 13 * number}


def quick(_number: int, row: Row) -> None:
    row["performance"] = {"latency_ms": 1, "generation_time_ms": 2}


def long(number: int, row: Row) -> None:
    row["output"]["raw"] = [f"{number} is what I count, one pen after another. " * 10]


def spoken(number: int, row: Row) -> None:
    turn = {"turn_idx": 1, "role": "assistant", "content": f"{number} pens. " * 40}
    row["messages"] = [{"turn_idx": 0, "role": "user", "content": "?"}, turn]
    del row["output"]


def asked_at_length(number: int, row: Row) -> None:
    turn = {"turn_idx": 1, "role": "assistant", "content": str(number)}
    row["messages"] = [{"turn_idx": 0, "role": "user", "content": "How many? " * 200}, turn]
    del row["output"]


def plain(_number: int, _row: Row) -> None:
    """Leave as it is."""


def write_run(folder: Path, model: str, *edits: Edit) -> None:
    rows = []
    for number in range(6):
        row: Row = {
            "schema_version": "0.3.0",
            "evaluation_id": f"pens/{model}/1",
            "model_id": f"acme/{model}",
            "evaluation_name": "pens",
            "sample_id": f"s{number}",
            "input": {"raw": f"How many pens are {number}?", "reference": [str(number)]},
            "output": {"raw": [str(number)]},
            "evaluation": {"score": 1.0, "is_correct": True},
        }
        for edit in edits:
            edit(number, row)
        rows.append(row)
    folder = folder / model
    folder.mkdir()
    aggregate = {
        "schema_version": "0.3.0",
        "evaluation_id": f"pens/{model}/1",
        "model_info": {"id": f"acme/{model}"},
        "evaluation_results": [{"evaluation_name": "pens", "score_details": {"score": 1.0}}],
        "detailed_evaluation_results": {"file_path": "run_samples.jsonl"},
    }
    (folder / "run.json").write_text(json.dumps(aggregate))
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "run_samples.jsonl").write_text(text)


def only(numbers: set[int], change: Edit) -> Edit:
    return lambda number, row: change(number, row) if number in numbers else None


def another_time(_number: int, row: Row) -> None:
    row["performance"]["generation_time_ms"] += 1


def another_answer(_number: int, row: Row) -> None:
    row["output"] = {"raw": ["none"]}


@each(
    ("edits", "of_other", "message"),
    [
        ([timed], plain, "all answers compared are those of "),
        ([timed], only({0, 1}, another_answer), "2 answers are those of "),
        ([timed], only({0, 1, 2}, another_answer), None),
        ([timed], another_time, None),
        ([quick], plain, None),
        ([plain], plain, None),
        ([long], plain, "all answers compared are those of "),
        ([long, quick], plain, "all answers compared are those of "),
        ([long], only({0}, another_answer), None),
        ([spoken], plain, "all answers compared are those of "),
        ([asked_at_length], plain, None),
    ],
)
def test_answers_of_one_model_under_two_names(
    edits: list[Edit], of_other: Edit, message: str | None, tmp_path: Path
) -> None:
    write_run(tmp_path, "acorn", *edits)
    write_run(tmp_path, "birch", *edits, of_other)
    found = crossing(tmp_path).get("ES907", [])
    assert [one.partition(str(tmp_path))[0] for one in found] == [message] * (message is not None)


@pytest.mark.parametrize("jobs", [1, 2])
def test_runs_of_one_model_may_have_the_same_answers(jobs: int, tmp_path: Path) -> None:
    write_run(tmp_path, "acorn", timed)
    (tmp_path / "again").mkdir()
    write_run(tmp_path / "again", "Acorn", timed)
    assert "ES907" not in crossing(tmp_path, jobs=jobs)
