"""Runs of SWE-bench in comparisons, and held against the ids of their benchmark."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from compared_records import collected
from paths import EXAMPLES

import evalstream

REPORT = "acme__acorn-7b.tiny.json"


@pytest.fixture(autouse=True)
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a copy of the example."""
    shutil.copytree(EXAMPLES / "swe_bench", tmp_path / "swe")
    monkeypatch.chdir(tmp_path / "swe")


def outcomes(path: str) -> dict[int, float]:
    """Return the scores of the instances of a run, by their numbers."""
    return {line: one.score for (line, _), one in collected(Path(path)).samples.items()}


def report() -> dict[str, Any]:
    """Return the run report."""
    found: dict[str, Any] = json.loads(Path(REPORT).read_bytes())
    return found


def evaluated() -> list[str]:
    """Return the ids that the run report lists as evaluated."""
    names = ("completed", "error", "empty_patch")
    return [one for name in names for one in report()[f"{name}_ids"]]


def expect(ids: list[str]) -> evalstream.Report:
    """Check the run report against the ids of a benchmark."""
    Path("ids.txt").write_text("".join(f"{one}\n" for one in ids))
    return evalstream.check(REPORT, jobs=1, expect_ids="ids.txt")


def test_each_evaluated_instance_is_a_sample() -> None:
    scores = outcomes(REPORT)
    assert len(scores) == len(evaluated())
    assert sum(scores.values()) == report()["resolved_instances"]


def test_the_ids_of_a_benchmark_are_held() -> None:
    assert "ES011" not in expect(evaluated()).counts
    assert "ES011" in expect([*evaluated(), "acme__widgets-999"]).counts
    assert "ES011" in expect(evaluated()[1:]).counts


def test_a_submission_has_the_instances_of_its_details() -> None:
    path = "submission/results/results.json"
    scores = outcomes(path)
    details = json.loads(Path("submission/per_instance_details.json").read_bytes())
    assert sum(scores.values()) == sum(one["resolved"] for one in details.values())
    assert len(scores) == len(details)
    Path("submission/per_instance_details.json").unlink()
    assert collected(Path(path)).checked.samples is None
    shutil.copy("preds.jsonl", "submission/all_preds.jsonl")
    assert len(outcomes(path)) == 5


def test_predictions_alone_have_no_outcomes() -> None:
    assert collected(Path("preds.jsonl")).checked.samples is None


def test_flips_name_their_instances_and_patches() -> None:
    shutil.copytree(".", "../other")
    lists = report()
    lists["resolved_ids"].remove("acme__widgets-101")
    lists["unresolved_ids"].append("acme__widgets-101")
    lists.update(resolved_instances=1, unresolved_instances=2)
    Path("../other", REPORT).write_text(json.dumps(lists))
    shutil.rmtree("../other/logs")
    sides = [str(Path(folder, REPORT)) for folder in (".", "../other")]
    found = evalstream.compare(sides, min_overlap=0)
    (flip,) = found.flips
    assert (flip.sample_id, flip.line_a, flip.line_b) == ("acme__widgets-101", 1, 1)
    assert flip.answer_a is flip.answer_b is None
