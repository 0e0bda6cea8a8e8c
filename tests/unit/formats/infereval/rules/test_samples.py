"""Witnesses that an evaluation has of its samples: their requests, and what others say."""

import json
from pathlib import Path
from typing import Any

import pytest
from each import each
from paths import EXAMPLES

import evalstream
from evalstream.formats.infereval.benchmark_hash import compute_hashes
from evalstream.formats.infereval.rules.samples import INF305, INF309
from evalstream.formats.infereval.views import Evaluation, Item
from evalstream.formats.infereval.votes import ABSTAIN, VERDICTS, vote


class Run:
    """An evaluation of several items and its benchmark, as the package writes them."""

    def __init__(self, items: int = 4) -> None:
        folder = EXAMPLES / "infereval"
        self.benchmark, self.evaluation = (
            json.loads((folder / name).read_bytes())
            for name in ("benchmark.json", "evaluation.json")
        )
        for document in (self.benchmark, self.evaluation):
            first = document["items"][0]
            more = [{**first, "id": f"street-{number}"} for number in range(items)]
            document["items"] += json.loads(json.dumps(more))
        for item in self.evaluation["items"]:
            for index, sample in enumerate(item["samples"]):
                sample["request_id"] = f"{self.evaluation['id']}:{item['id']}:sample-{index}"

    @property
    def config(self) -> dict[str, Any]:
        config: dict[str, Any] = self.evaluation["endorsement_config"]
        return config

    def samples(self, place: int) -> list[dict[str, Any]]:
        """Return the samples of an item."""
        samples: list[dict[str, Any]] = self.evaluation["items"][place]["samples"]
        return samples

    def check(self, folder: Path) -> set[tuple[str, str, int]]:
        """Vote and hash again, and check; return codes, severities and counts."""
        for item in self.evaluation["items"]:
            found = vote([one["parsed_verdict"] for one in item["samples"]], ABSTAIN)
            counts = {name: found.counts[name] for name in VERDICTS}
            item["model_verdict"] = found.verdict
            item["majority_vote"] = {
                **counts, "verdict": found.verdict, "tie_broken": found.tie_broken,
            }  # fmt: skip
        items, version = self.benchmark["items"], self.evaluation["framework_version"]
        self.evaluation["benchmark_hash"] = compute_hashes(self.benchmark, version, items)[0]
        paths = folder / "evaluation.json", folder / "benchmark.json"
        for path, value in zip(paths, (self.evaluation, self.benchmark), strict=True):
            path.write_text(json.dumps(value))
        report = evalstream.check(paths[0], aggregate=paths[1])
        return {(one.code, one.severity.label, one.count or 1) for one in report}


@pytest.fixture
def run() -> Run:
    return Run()


def test_requests_of_their_own_samples_are_sound(run: Run, tmp_path: Path) -> None:
    assert run.check(tmp_path) == set()


@each("request_id", [None, "chatcmpl-1", "another:sample-first"])
def test_requests_of_another_form_say_nothing(run: Run, tmp_path: Path, request_id: Any) -> None:
    run.samples(2)[1]["request_id"] = request_id
    assert run.check(tmp_path) == set()


def test_a_sample_is_not_copied_over_another(run: Run, tmp_path: Path) -> None:
    run.samples(1)[1] = {**run.samples(1)[0], "sample_index": 1}
    assert run.check(tmp_path) == {("INF303", "error", 1)}


@each("place", [0, 1, 3])
def test_samples_are_not_those_of_another_item(run: Run, tmp_path: Path, place: int) -> None:
    run.evaluation["items"][place]["samples"] = run.samples(2)
    assert run.check(tmp_path) == {("INF303", "error", 3)}


def test_an_evaluation_is_not_renamed(run: Run, tmp_path: Path) -> None:
    run.evaluation["id"] = "of-another-model"
    assert run.check(tmp_path) == {("INF303", "warning", 3)}


def test_samples_that_are_out_of_order_keep_their_requests(run: Run, tmp_path: Path) -> None:
    run.samples(0).reverse()
    assert run.check(tmp_path) == {("INF303", "warning", 1)}


def turn(sample: dict[str, Any], more: str = "") -> None:
    """Say another verdict than the response does; `more` follows in the response."""
    sample["raw_response"] += more
    sample["parsed_verdict"] = "bad" if sample["parsed_verdict"] != "bad" else "good"


@pytest.mark.parametrize("place", [0, 2])
def test_the_prompt_of_the_benchmark_is_read(run: Run, tmp_path: Path, place: int) -> None:
    run.config["verification_prompt_id"] = "own-v1"
    run.benchmark["verification_prompt"] = {"id": "own-v1", "template": "{premise_context}?"}
    assert run.check(tmp_path) == set()
    turn(run.samples(place)[0])
    assert run.check(tmp_path) == {("INF308", "error", 1)}
    # Words of its own are not known.
    run.benchmark["verification_prompt"]["parse_regex"] = "(YES|NO)"
    run.samples(place)[0]["raw_response"] = "yes"
    assert run.check(tmp_path) == set()


def test_an_unknown_prompt_is_read_as_most_of_its_responses(run: Run, tmp_path: Path) -> None:
    run.config["verification_prompt_id"] = "unknown-v1"
    assert run.check(tmp_path) == set()
    turn(run.samples(2)[0], ", not BAD, GOOD or INCOHERENT")
    assert run.check(tmp_path) == {("INF308", "warning", 1)}


def test_no_prompt_reads_bad_from_good(run: Run, tmp_path: Path) -> None:
    run.config["verification_prompt_id"] = "unknown-v1"
    for item in run.evaluation["items"]:
        for sample in item["samples"]:
            turn(sample)
    assert {one[:2] for one in run.check(tmp_path)} == {("INF308", "error")}


def test_a_prompt_with_other_words_is_not_read(run: Run, tmp_path: Path) -> None:
    run.config["verification_prompt_id"] = "unknown-v1"
    for item in run.evaluation["items"]:
        for sample in item["samples"]:
            sample["raw_response"] = {"good": "yes", "bad": "no", "abstain": "abstain"}[
                sample["parsed_verdict"]
            ]
    assert run.check(tmp_path) == set()


def test_few_responses_show_no_habit(tmp_path: Path) -> None:
    run = Run(items=0)
    run.config["verification_prompt_id"] = "unknown-v1"
    turn(run.samples(0)[0], ", not BAD, GOOD or INCOHERENT")
    assert run.check(tmp_path) == set()


@each(
    ("sample", "pointer"),
    [
        ({"wall_time_ms": 8_001}, "wall_time_ms"),
        ({"wall_time_ms": -1}, "wall_time_ms"),
        ({"usage": {"input_tokens": -1}}, "usage/input_tokens"),
        ({"usage": {"output_tokens": 0}}, "usage/output_tokens"),
        ({"reasoning_tokens": -1}, "reasoning_tokens"),
        ({"wall_time_ms": 8_000, "usage": {"output_tokens": 4}}, None),
        ({"wall_time_ms": None, "usage": None}, None),
        ({"usage": {"output_tokens": 0}, "raw_response": ""}, None),
    ],
)
def test_implausible_samples_are_reported(sample: dict[str, Any], pointer: str | None) -> None:
    times = {"started_at": "2026-05-31T10:00:00Z", "finished_at": "2026-05-31T10:00:06Z"}
    item = Item(0, {"samples": [{"raw_response": "Good!", **sample}]}, Evaluation(times))
    found = [one.pointer for one in INF309.apply(item)]
    assert found == ([] if pointer is None else [f"/samples/0/{pointer}"])


@each(
    ("member", "value", "pointer"),
    [
        ("max_tokens", -1, "/model/params/max_tokens"),
        ("max_tokens", 0, "/model/params/max_tokens"),
        ("temperature", -0.5, "/model/params/temperature"),
        ("temperature", 0, None),
        ("max_tokens", True, None),
    ],
)
def test_settings_that_no_call_can_have_are_reported(
    member: str, value: Any, pointer: str | None
) -> None:
    evaluation = Evaluation({"model": {"params": {member: value}}, "paraphrase_variant": 0})
    assert [one.pointer for one in INF309.apply(evaluation)] == [pointer] * (pointer is not None)


@each(
    ("sample", "found"),
    [
        ({"parse_status": "sample_failed", "wall_time_ms": 812.5}, 1),
        ({"parse_status": "sample_failed", "finish_reason": "stop"}, 1),
        ({"parse_status": "sample_failed", "usage": None}, 0),
        ({"parse_status": "budget_clipped", "finish_reason": "stop"}, 1),
        ({"parse_status": "budget_clipped", "finish_reason": "length"}, 0),
        ({"parse_status": "budget_clipped"}, 0),
    ],
)
def test_a_status_goes_with_what_the_provider_said(sample: dict[str, Any], found: int) -> None:
    item = Item(0, {"samples": [{"parsed_verdict": ABSTAIN, **sample}]}, Evaluation({}))
    assert len(list(INF305.apply(item))) == found
