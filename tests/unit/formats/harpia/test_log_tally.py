"""Exact matches are those of the texts of the input."""

import json
from pathlib import Path
from typing import Any

import pytest
from paths import EXAMPLES

import evalstream

LITERAL, OTHER = 0, 1


class Run:
    """A run with an exact match of three instances: one to the letter, one not, one in spelling."""

    def __init__(self) -> None:
        self.input = json.loads((EXAMPLES / "harpia" / "input.json").read_bytes())
        self.metric, self.parameters = "Exact match", {"ignore_case": True}
        self.results: list[Any] = [1.0, 0.0, 1.0]
        self.input["instances"][2]["actual-output"] = "it is  COLD today"

    def check(self, folder: Path) -> set[tuple[str, str, int | None]]:
        named = {"parameters": self.parameters}
        self.input["metrics"] = [{"id": self.metric, "enable": True, **named}]
        ids = (one["id"] for one in self.input["instances"])
        records = [
            {"metric": self.metric, "instance_id": one, **named, "result": result}
            for one, result in zip(ids, self.results, strict=True)
        ]
        numbers = [one["exact_match"] if isinstance(one, dict) else one for one in self.results]
        score: Any = sum(numbers) / len(numbers)
        if isinstance(self.results[0], dict):
            score = {"exact_match": score}
        output = [{"metric": self.metric, **named, "score": score, "elapsed time": 0.1}]
        log, aggregate, inputs = (folder / name for name in ("log.jsonl", "out.json", "in.json"))
        log.write_text("".join(f"{json.dumps(one)}\n" for one in records))
        aggregate.write_text(json.dumps(output))
        inputs.write_text(json.dumps(self.input))
        report = evalstream.check(log, aggregate=aggregate, inputs_file=inputs)
        return {
            (one.code, one.severity.label, one.line)
            for one in report
            if one.severity.label != "info"
        }


@pytest.fixture
def run() -> Run:
    return Run()


@pytest.mark.parametrize("shape", ["number", "object"])
def test_a_result_follows_from_the_texts(run: Run, tmp_path: Path, shape: str) -> None:
    def check() -> set[tuple[str, str, int | None]]:
        numbers = run.results
        if shape == "object":
            run.results = [{"exact_match": one} for one in numbers]
        found, run.results = run.check(tmp_path), numbers
        return found

    assert check() == set()
    run.results[OTHER] = 1.0
    assert check() == {("HAR303", "warning", 2)}
    run.results = [0.0, 0.0, 1.0]
    assert check() == {("HAR303", "warning", 1)}


def test_spelling_may_decide(run: Run, tmp_path: Path) -> None:
    run.results[2] = 0.0
    assert run.check(tmp_path) == set()


@pytest.mark.parametrize("ignored", [["sun"], "sun"])
def test_parameters_may_say_what_is_ignored(run: Run, tmp_path: Path, ignored: Any) -> None:
    run.parameters, run.results[OTHER] = {"regexes_to_ignore": ignored}, 1.0
    assert run.check(tmp_path) == set()


@pytest.mark.parametrize("metric", ["METEOR", "Weighted exact match"])
def test_other_metrics_are_not_matched(run: Run, tmp_path: Path, metric: str) -> None:
    run.metric, run.results[OTHER] = metric, 1.0
    assert run.check(tmp_path) == set()


def test_several_responses_are_not_matched(run: Run, tmp_path: Path) -> None:
    run.input["instances"][OTHER]["actual-output"] = ["The sun rose.", "The sun has risen."]
    run.results[OTHER] = 1.0
    assert run.check(tmp_path) == set()


def test_an_empty_text_is_no_reference(run: Run, tmp_path: Path) -> None:
    run.input["instances"][OTHER]["expected-output"] = [""]
    assert run.check(tmp_path) == {("HAR106", "warning", 1)}


def test_a_run_without_its_input_says_so(run: Run, tmp_path: Path) -> None:
    run.check(tmp_path)
    report = evalstream.check(tmp_path / "log.jsonl", aggregate=tmp_path / "out.json")
    assert [one.text for one in report.runs[0].checked] == ["no input to compare with"]


def test_an_instance_does_not_count_twice(run: Run, tmp_path: Path) -> None:
    run.input["instances"].append({**run.input["instances"][0], "id": "weather-4"})
    run.results.append(1.0)
    assert run.check(tmp_path) == {("HAR103", "warning", 1)}
    run.input["instances"][3]["actual-output"] = "It is going to rain."
    assert run.check(tmp_path) == set()
