"""Evaluations of infereval and predictions of SWE-bench under the names of two models."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crossings import crossing
from each import each
from paths import EXAMPLES

Act = Callable[[dict[str, Any]], object]


def write_evaluation(folder: Path, name: str, act: Act) -> None:
    folder.mkdir(exist_ok=True)
    shutil.copy(EXAMPLES / "infereval" / "benchmark.json", folder)
    value = json.loads((EXAMPLES / "infereval" / "evaluation.json").read_bytes())
    for item in value["items"]:
        for sample in item["samples"]:
            sample["wall_time_ms"] += 0.123456
    act(value)
    (folder / f"{name}.json").write_text(json.dumps(value))


def rename(value: dict[str, Any]) -> None:
    value["model"]["model_id"], value["id"] = "careful-2", "another"


def hurry(value: dict[str, Any]) -> None:
    rename(value)
    for item in value["items"]:
        for sample in item["samples"]:
            sample["wall_time_ms"] -= 0.01


def round_times(value: dict[str, Any]) -> None:
    for item in value["items"]:
        for sample in item["samples"]:
            sample["wall_time_ms"] = 120.0


@pytest.mark.parametrize("jobs", [1, 2])
def test_responses_under_the_name_of_another_model_are_found(jobs: int, tmp_path: Path) -> None:
    write_evaluation(tmp_path, "a", lambda _: None)
    write_evaluation(tmp_path, "b", rename)
    assert crossing(tmp_path, jobs=jobs).keys() == {"ES907"}


def test_a_changed_response_does_not_hide_the_others(tmp_path: Path) -> None:
    def change(value: dict[str, Any]) -> None:
        rename(value)
        value["items"][0]["samples"][0]["raw_response"] = "GOOD, I think"

    write_evaluation(tmp_path, "a", lambda _: None)
    write_evaluation(tmp_path, "b", change)
    (message,) = crossing(tmp_path)["ES907"]
    assert message.startswith("5 answers are those of ")


@each(
    ("first", "second"),
    [
        (lambda _: None, hurry),
        (lambda _: None, lambda value: value.update(id="again")),
        (round_times, lambda value: (rename(value), round_times(value))),
    ],
    ids=["other times", "same model", "no times"],
)
def test_sound_evaluations_are_not_linked(first: Act, second: Act, tmp_path: Path) -> None:
    write_evaluation(tmp_path, "a", first)
    write_evaluation(tmp_path, "b", second)
    assert crossing(tmp_path) == {}


def test_a_copy_of_an_evaluation_is_found(tmp_path: Path) -> None:
    write_evaluation(tmp_path, "a", lambda _: None)
    write_evaluation(tmp_path, "b", round_times)
    assert crossing(tmp_path).keys() == {"ES904"}


def write_predictions(folder: Path, model: str, count: int, own: int) -> None:
    """Write predictions, of which the first `own` are no other model's."""
    rows = [
        {
            "instance_id": f"acme__widgets-{at}",
            "model_name_or_path": model,
            "model_patch": f"+patch {at}\n" + (f"+{model}\n" if at < own else ""),
        }
        for at in range(count)
    ]
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (folder / f"preds-{model}.jsonl").write_text(text)


@each(
    ("model", "count", "own", "is_found"),
    [
        ("birch", 12, 0, True),
        ("birch", 12, 5, True),
        ("birch", 12, 8, False),
        ("birch", 6, 0, False),
        ("acorn", 12, 0, False),
    ],
)
def test_patches_under_the_name_of_another_model_are_found(
    model: str, count: int, own: int, is_found: bool, tmp_path: Path
) -> None:
    write_predictions(tmp_path, "acorn", count, 0)
    other = tmp_path / "other"
    other.mkdir()
    write_predictions(other, model, count, own)
    assert crossing(tmp_path).keys() == ({"ES907"} if is_found else set())
