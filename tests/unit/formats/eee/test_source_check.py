"""Each change of a pair is found by its log, and what the log does not state is named."""

import copy
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from depth import some
from each import each
from edits.inspect_log import log_of
from paths import EXAMPLES, PAIRS, SCHEMAS

import evalstream
from evalstream.formats.base import open_source
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.source_results import _match, compare_aggregate
from evalstream.model.finding import Severity
from evalstream.model.options import Options
from evalstream.model.run_summary import Checked
from evalstream.model.source_log import SourceResult, Wanted

TUTORIAL = EXAMPLES / "tutorial"
(LM_EVAL_ROWS,) = (TUTORIAL / "data").rglob("*.jsonl")
(LM_EVAL_LOG,) = (TUTORIAL / "log").glob("*/samples_*")
(INSPECT_ROWS,) = (PAIRS / "0.3.0").rglob("*.jsonl")


class Pair:
    """A pair and its log, to change in memory and to compare."""

    def __init__(self, rows: Path) -> None:
        self.rows = [json.loads(line) for line in rows.read_text().splitlines()]
        beside = rows.with_name(rows.name.replace("_samples.jsonl", ".json"))
        self.aggregate: dict[str, Any] = json.loads(beside.read_text())
        self.log: dict[str, Any] | None = None

    @property
    def result(self) -> dict[str, Any]:
        found: dict[str, Any] = self.aggregate["evaluation_results"][0]
        return found

    def check(self, folder: Path) -> evalstream.Report:
        rows, aggregate, log = (folder / name for name in ("run.jsonl", "run.json", "log.json"))
        rows.write_text("".join(json.dumps(row) + "\n" for row in self.rows))
        aggregate.write_text(json.dumps(self.aggregate))
        if self.log is not None:
            log.write_text(json.dumps(self.log))
        source = LM_EVAL_LOG if self.log is None else log
        return evalstream.check(rows, aggregate=aggregate, source=str(source), max_findings=0)


@pytest.fixture
def lm_eval() -> Pair:
    return Pair(LM_EVAL_ROWS)


@pytest.fixture
def inspect() -> Pair:
    """A pair in which all is as the converters of Inspect write it."""
    pair = Pair(INSPECT_ROWS)
    for one in (*pair.rows, pair.result):
        one["evaluation_result_id"] = "match:accuracy"
    for row in pair.rows:
        row["input"]["formatted"], row["answer_attribution"] = None, []
    pair.rows[1]["error"] = "timed out"
    pair.aggregate["model_info"] |= {"name": "vllm/acme/acorn-7b", "id": "acme/acorn-7b"}
    pair.aggregate["eval_library"]["name"] = "inspect_ai"
    pair.result["metric_config"]["evaluation_description"] = "accuracy from scorer match"
    pair.result["score_details"]["uncertainty"] = {"num_samples": 8}
    pair.log = copy.deepcopy(log_of(pair.rows, pair.aggregate))
    pair.log["eval"]["model"] = "vllm/acme/acorn-7b"
    pair.log["samples"][3]["output"]["choices"][0]["message"]["content"] = [
        {"type": "reasoning", "reasoning": "two and two"},
        {"type": "text", "text": pair.rows[3]["output"]["raw"][0]},
    ]
    pair.rows[3]["output"]["reasoning_trace"] = ["two and two"]
    return pair


def about_source(report: evalstream.Report) -> set[str]:
    """Return the codes of warnings and errors about the log."""
    about = (one for one in report if one.code[:4] in {"ES65", "ES66"})
    return {one.code for one in about if one.severity is not Severity.INFO}


def uncompared(report: evalstream.Report) -> set[str]:
    """Return the members that the report names as not compared."""
    named = (one.message for one in report if one.code in {"ES660", "ES662"})
    return {one.partition(": ")[0] for one in named}


def put(*path: Any, value: Any) -> Callable[[Pair], None]:
    """Return the change that sets a member of the rows or the aggregate."""

    def change(pair: Pair) -> None:
        place: Any = pair.rows if isinstance(path[0], int) else pair.aggregate
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value

    return change


RESULT = ("evaluation_results", 0)
ARGUMENTS = (*RESULT, "generation_config", "generation_args")
INSPECT: dict[str, tuple[str, Callable[[Pair], None]]] = {
    "input": ("ES652", put(0, "input", "raw", value="Another?")),
    "reference": ("ES652", put(0, "input", "reference", value=["6"])),
    "no reference": ("ES652", put(0, "input", "reference", value=None)),
    "choices": ("ES652", put(0, "input", "choices", value=["6", "5"])),
    "no choices": ("ES652", put(0, "input", "choices", value=None)),
    "output": ("ES653", put(0, "output", "raw", value=["The answer is 6."])),
    "no output": ("ES653", put(0, "output", value=None)),
    "reasoning": ("ES653", put(3, "output", "reasoning_trace", value=["three and one"])),
    "reasoning of none": ("ES653", put(0, "output", "reasoning_trace", value=["so"])),
    "score": ("ES654", put(0, "evaluation", "score", value=0.5)),
    "error removed": ("ES661", put(1, "error", value=None)),
    "error changed": ("ES661", put(1, "error", value="refused")),
    "error added": ("ES661", put(0, "error", value="timed out")),
    "tokens": ("ES661", put(0, "token_usage", "output_tokens", value=1)),
    "latency": ("ES661", put(0, "performance", "latency_ms", value=1.0)),
    "time of generation": ("ES661", put(0, "performance", "generation_time_ms", value=1.0)),
    "epoch as a number": ("", put(0, "metadata", "epoch", value=1)),
    "metadata": ("ES661", put(0, "metadata", "subject", value="physics")),
    "temperature": ("ES659", put(*ARGUMENTS, "temperature", value=0.7)),
    "most tokens": ("ES659", put(*ARGUMENTS, "max_tokens", value=1)),
    "time of the run": ("ES659", put("evaluation_timestamp", value="1759990000")),
    "time of a result": ("ES659", put(*RESULT, "evaluation_timestamp", value="1759990000")),
    "version of the harness": ("ES659", put("eval_library", "version", value="9.9")),
    "name of the harness": ("ES660", put("eval_library", "name", value="lm_eval")),
    "name of the model": ("ES660", put("model_info", "name", value="acorn-9b")),
    "parameters of the metric": (
        "ES660",
        put(*RESULT, "metric_config", "metric_parameters", value={"k": 5}),
    ),
    "task": ("ES659", put(*RESULT, "evaluation_name", value="hard-arithmetic")),
    "dataset": ("ES659", put(*RESULT, "source_data", "dataset_name", value="hard")),
    "figure": ("ES656", put(*RESULT, "score_details", "score", value=0.875)),
    "model": ("ES658", put("model_info", "id", value="acme/acorn-9b")),
    "formatted input": ("ES660", put(0, "input", "formatted", value="<user>Another?")),
    "setting that the log lacks": ("ES660", put(*ARGUMENTS, "top_p", value=0.5)),
    "metadata that the log lacks": ("ES660", put(0, "metadata", "topic", value="sums")),
    "first token": ("ES660", put(0, "performance", "time_to_first_token_ms", value=3)),
}
"""Changes of a pair from Inspect, with the code that must be reported, or none."""

LM_EVAL: dict[str, tuple[str, Callable[[Pair], None]]] = {
    "input": ("ES652", put(0, "input", "raw", value="Another?")),
    "formatted input": ("ES652", put(0, "input", "formatted", value="<user>Another?")),
    "reference": ("ES652", put(0, "input", "reference", value=["6"])),
    "output": ("ES653", put(0, "output", "raw", value=["x"])),
    "extracted value": ("ES653", put(0, "answer_attribution", 0, "extracted_value", value="x")),
    "extraction": ("ES653", put(0, "answer_attribution", 0, "extraction_method", value="x")),
    "score": ("ES654", put(0, "evaluation", "score", value=0.5)),
    "digest of the doc": ("ES661", put(0, "metadata", "doc_hash", value="0" * 64)),
    "metrics": ("ES661", put(0, "metadata", "lm_eval_metrics", value='{"exact_match": 0.5}')),
    "time of the run": ("ES659", put("evaluation_timestamp", value="1")),
    "time of a result": ("ES659", put(*RESULT, "evaluation_timestamp", value="1")),
    "version of the harness": ("ES659", put("eval_library", "version", value="0.0.1")),
    "name of the harness": ("ES660", put("eval_library", "name", value="inspect_ai")),
    "name of the model": ("ES660", put("model_info", "name", value="acme/acorn-9b")),
    "developer": ("ES660", put("model_info", "developer", value="other")),
    "engine": ("ES660", put("model_info", "inference_engine", "name", value="vllm")),
    "description": (
        "ES660",
        put(*RESULT, "metric_config", "evaluation_description", value="pass@5"),
    ),
    "direction": ("ES659", put(*RESULT, "metric_config", "lower_is_better", value=True)),
    "task": ("ES659", put(*RESULT, "evaluation_name", value="word_sums_hard")),
    "metric": ("ES659", put(*RESULT, "metric_config", "metric_name", value="f1")),
    "dataset": ("ES659", put(*RESULT, "source_data", "dataset_name", value="hard")),
    "figure": ("ES656", put(*RESULT, "score_details", "score", value=0.5)),
    "usage": ("ES660", put(0, "token_usage", value={"input_tokens": 3})),
    "error": ("ES660", put(0, "error", value="timed out")),
    "other metadata": ("ES660", put(0, "metadata", "topic", value="sums")),
}
"""Changes of a pair from lm-eval, with the code that must be reported."""


@each("name", INSPECT)
def test_a_change_of_a_pair_from_inspect_is_found(name: str, inspect: Pair, tmp_path: Path) -> None:
    code, change = INSPECT[name]
    change(inspect)
    assert about_source(inspect.check(tmp_path)) == ({code} if code else set())


@each("name", LM_EVAL)
def test_a_change_of_a_pair_from_lm_eval_is_found(name: str, lm_eval: Pair, tmp_path: Path) -> None:
    code, change = LM_EVAL[name]
    change(lm_eval)
    assert about_source(lm_eval.check(tmp_path)) == {code}


def said(report: evalstream.Report) -> str:
    (run,) = report.runs
    return run.checked[0].text


def test_the_verdict_names_what_was_compared(inspect: Pair, lm_eval: Pair, tmp_path: Path) -> None:
    report = inspect.check(tmp_path)
    assert said(report).startswith(
        "inputs, outputs, scores, usage, times, errors and metadata of 8 samples; figures, "
        "dataset, task, description and generation settings of 1 result; time, model id, model "
        "name, inference engine, library and library version agree"
    )
    assert said(lm_eval.check(tmp_path)).startswith(
        "inputs, outputs, scores and metadata of 4 samples; figures, dataset, task, time, "
        "name of the metric, description, direction and generation settings of 1 result; time, "
        "model id, model name, developer, inference engine, settings of the model, library and "
        "library version agree"
    )


@pytest.mark.parametrize(
    ("name", "part"), [("version of the harness", "library version"), ("model", "model id")]
)
def test_what_differs_of_the_whole_run_is_not_among_what_agrees(
    name: str, part: str, inspect: Pair, tmp_path: Path
) -> None:
    assert part in said(inspect.check(tmp_path))
    INSPECT[name][1](inspect)
    text = said(inspect.check(tmp_path))
    assert part not in text
    assert "of 1 result; " in text


def test_a_member_that_is_not_compared_is_a_warning_with_a_count(
    inspect: Pair, tmp_path: Path
) -> None:
    for row in inspect.rows[:3]:
        row["metadata"]["topic"] = "sums"
    report = inspect.check(tmp_path)
    (found,) = [one for one in report if one.code == "ES660" and one.severity is Severity.WARNING]
    assert (found.severity, found.count) == (Severity.WARNING, 3)
    assert "metadata/topic of 3 rows" in found.message
    assert report.runs[0].checked[0].is_ok


def test_rows_that_cannot_be_read_are_not_compared(lm_eval: Pair, tmp_path: Path) -> None:
    report = lm_eval.check(tmp_path)
    rows = tmp_path / "run.jsonl"
    lines = rows.read_bytes().splitlines(keepends=True)
    rows.write_bytes(b"".join(lines[:3]) + lines[3][:40] + b"\n")
    report = evalstream.check(rows, aggregate=tmp_path / "run.json", source=str(LM_EVAL_LOG))
    (run,) = report.runs
    assert run.incomplete_reason == "1 row not compared with the source: they cannot be read"
    assert not run.checked[0].is_ok


def reduced(inspect: Pair, values: list[Any]) -> dict[str, Any]:
    assert inspect.log is not None
    samples = [
        {"sample_id": row["sample_id"], "value": value}
        for row, value in zip(inspect.rows, values, strict=True)
    ]
    inspect.log["reductions"] = [{"scorer": "match", "samples": samples}]
    return inspect.log


def test_reduced_scores_are_those_of_their_sample(inspect: Pair, tmp_path: Path) -> None:
    """A reduced score of 0 counts, and one that is not a number does not."""
    scores = [row["evaluation"]["score"] for row in inspect.rows]
    reduced(inspect, scores)
    assert about_source(inspect.check(tmp_path)) == set()
    reduced(inspect, ["none", *scores[1:]])
    assert about_source(inspect.check(tmp_path)) == set()
    reduced(inspect, [0.25, *scores[1:]])
    inspect.rows[0]["evaluation"]["score"] = 0.25
    assert about_source(inspect.check(tmp_path)) == set()
    inspect.rows[0]["evaluation"]["score"] = 0.5
    assert about_source(inspect.check(tmp_path)) == {"ES654"}
    for row, score in zip(inspect.rows, scores, strict=True):
        row["evaluation"]["score"] = 0.25 if score else 0.0
    reduced(inspect, [0.25 if score else 0.0 for score in scores])
    assert about_source(inspect.check(tmp_path)) == set()


def test_a_row_without_a_result_has_the_first_score_that_is_a_number(
    inspect: Pair, tmp_path: Path
) -> None:
    assert inspect.log is not None
    for row, sample in zip(inspect.rows, inspect.log["samples"], strict=True):
        del row["evaluation_result_id"]
        sample["scores"] = {"words": {"value": "so so"}, **sample["scores"]}
    assert about_source(inspect.check(tmp_path)) == set()
    inspect.rows[0]["evaluation"]["score"] = 0.5
    assert about_source(inspect.check(tmp_path)) == {"ES654"}


def parts(image: str) -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": "Be short."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image", "image": image},
            ],
        },
    ]


SHOWN = "What is this? {}type='image' image='attachment://ab' detail='auto'"


@pytest.mark.parametrize("begins", ["", "internal=None "])
def test_the_input_with_an_image_is_compared(begins: str, inspect: Pair, tmp_path: Path) -> None:
    assert inspect.log is not None
    inspect.log["samples"][0]["input"] = parts("attachment://ab")
    inspect.rows[0]["input"]["raw"] = SHOWN.format(begins)
    assert about_source(inspect.check(tmp_path)) == set()
    assert said(inspect.check(tmp_path)).startswith("inputs, outputs")
    inspect.rows[0]["input"]["raw"] = SHOWN.format(begins).replace("ab", "cd")
    assert about_source(inspect.check(tmp_path)) == {"ES652"}


def test_an_input_in_another_form_is_named_as_not_compared(inspect: Pair, tmp_path: Path) -> None:
    assert inspect.log is not None
    content = [{"type": "document", "document": "data:x"}]
    inspect.log["samples"][0]["input"] = [{"role": "user", "content": content}]
    report = inspect.check(tmp_path)
    assert about_source(report) == {"ES660"}
    assert said(report).startswith("some inputs, outputs")
    reason = "the input of 1 sample cannot be compared with the source"
    assert report.runs[0].incomplete_reason == reason


def calls(pair: Pair) -> Iterator[dict[str, Any]]:
    """Make the first row a conversation with a tool, and yield the call in it."""
    row = pair.rows[0]
    assert pair.log is not None
    call = {"id": "c1", "function": "add", "arguments": {"numbers": [2, 3]}}
    conversation: list[dict[str, Any]] = [
        {"role": "user", "content": row["input"]["raw"]},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "5", "tool_call_id": "c1"},
        {"role": "assistant", "content": row["output"]["raw"][0]},
    ]
    pair.log["samples"][0]["messages"] = conversation
    shown = {"id": "c1", "name": "add", "arguments": {"numbers": "[2, 3]"}}
    row["messages"] = [
        {"turn_idx": at, "role": one["role"], "content": one["content"]}
        for at, one in enumerate(conversation)
    ]
    row["messages"][1]["tool_calls"] = [shown]
    row["messages"][2]["tool_call_id"] = ["c1"]
    row["interaction_type"], row["output"] = "agentic", None
    yield shown


def test_tool_calls_are_compared(inspect: Pair, tmp_path: Path) -> None:
    (call,) = calls(inspect)
    assert about_source(inspect.check(tmp_path)) == set()
    call["arguments"]["numbers"] = "[2, 4]"
    assert about_source(inspect.check(tmp_path)) == {"ES653"}
    inspect.rows[0]["messages"][1]["tool_calls"] = None
    assert about_source(inspect.check(tmp_path)) == {"ES653"}


def two_results(pair: Pair) -> None:
    assert pair.log is not None
    (score,) = pair.log["results"]["scores"]
    pair.log["results"]["scores"] = [score, {**score, "name": "model", "scorer": "model"}]
    for sample in pair.log["samples"]:
        sample["scores"]["model"] = sample["scores"]["match"]


def second_epoch(pair: Pair) -> None:
    assert pair.log is not None
    pair.log["eval"]["config"]["epochs"] = 2
    pair.log["samples"] += [{**one, "epoch": 2} for one in pair.log["samples"]]


def repeat(pair: Pair) -> None:
    pair.rows.append(pair.rows[0])


@each(
    ("change", "message"),
    [
        (repeat, "an earlier row has this sample, which the log has once"),
        (put(0, "sample_id", value="other"), "the log has no such sample in epoch 1"),
        (
            put(0, "evaluation_result_id", value="other:accuracy"),
            "the log has no such result for this sample",
        ),
        (two_results, "no row has the result model:accuracy of sample {id}, epoch 1 (sample 1)"),
        (second_epoch, "no row has sample {id}, epoch 2 (sample 9)"),
    ],
)
def test_rows_and_samples_without_each_other_are_named(
    change: Callable[[Pair], None], message: str, inspect: Pair, tmp_path: Path
) -> None:
    pair = copy.deepcopy(inspect)
    first = pair.rows[0]["sample_id"]
    change(pair)
    report = pair.check(tmp_path)
    found = {one.message.removesuffix(" of the log") for one in report}
    assert message.format(id=first) in found
    assert not report.runs[0].checked[0].is_ok


@each(
    ("change", "reason"),
    [
        (
            put(0, "sample_id", value=None),
            "1 row not compared with the source: they have no sample_id",
        ),
        (second_epoch, "8 rows not compared with the source: they do not say their epoch"),
    ],
)
def test_rows_that_may_be_of_any_sample_are_not_compared(
    change: Callable[[Pair], None], reason: str, inspect: Pair, tmp_path: Path
) -> None:
    pair = copy.deepcopy(inspect)
    for row in pair.rows:
        row["metadata"].pop("epoch", None)
    change(pair)
    (run,) = pair.check(tmp_path).runs
    assert run.incomplete_reason == reason
    assert not run.checked[0].is_ok


def test_a_log_without_results_leaves_those_of_the_aggregate_open(
    inspect: Pair, tmp_path: Path
) -> None:
    assert inspect.log is not None
    del inspect.log["results"]
    for row in inspect.rows:
        del row["evaluation_result_id"]
    (run,) = inspect.check(tmp_path).runs
    assert run.incomplete_reason == "the source has no results to compare"
    assert "of 8 samples agree with" in run.checked[0].text
    assert run.checked[0].is_ok is None


def test_rows_alone_are_compared(inspect: Pair, tmp_path: Path) -> None:
    inspect.check(tmp_path)
    (tmp_path / "run.json").unlink()
    (run,) = evalstream.check(tmp_path / "run.jsonl", source=str(tmp_path / "log.json")).runs
    assert run.incomplete_reason is None
    assert "scores, usage, times, errors and metadata of 8 samples agree" in run.checked[0].text
    assert run.checked[0].is_ok


@each("odd", some([[["x"]], {"a": None}, "x", 1e308, float("nan"), None, -1], 3))
def test_odd_values_of_a_log_end_in_a_verdict(odd: Any, inspect: Pair, tmp_path: Path) -> None:
    assert inspect.log is not None
    sample = inspect.log["samples"][0]
    for name in ("input", "target", "choices", "messages", "metadata", "error", "total_time"):
        inspect.log["samples"][0] = {**sample, name: odd, "working_time": odd, "model_usage": odd}
        assert "ES010" not in inspect.check(tmp_path).counts
    for name in ("dataset", "packages", "model_generate_config", "task_args", "created"):
        inspect.log["samples"][0] = sample
        inspect.log["eval"] = {**inspect.log["eval"], name: odd}
        assert "ES010" not in inspect.check(tmp_path).counts


def test_a_deep_member_is_left_open(inspect: Pair, tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(190):
        deep = {"a": [deep]}
    inspect.rows[0]["metadata"]["subject"] = deep
    report = inspect.check(tmp_path)
    assert "ES010" not in report.counts
    assert report.runs[0].verdict != "passed"


@pytest.mark.parametrize("denied", [False, True])
def test_a_source_that_cannot_be_opened_is_not_called_another_file(
    denied: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, opened = tmp_path / "log.json", os.open

    def refuse(path: str, *more: int, **named: int) -> int:
        if path == str(source):
            raise PermissionError(13, "Permission denied", path)
        return opened(path, *more, **named)

    if denied:
        source.write_text("{}")
        monkeypatch.setattr(os, "open", refuse)
    (run,) = evalstream.check(EXAMPLES / "run.jsonl", source=str(source)).runs
    assert run.verdict == "incomplete"
    why = "Permission denied" if denied else "No such file or directory"
    assert (run.incomplete_reason or "").endswith(f"cannot be compared: {why}")
    assert Checked("source not compared", None) in run.checked


SEALS = {
    *("schema_version", "evaluation_id", "retrieved_timestamp", "evaluation_result_id"),
    "detailed_evaluation_results",
}
"""The members of an aggregate that say which record it is, or seal it."""


def list_members(schema: dict[str, Any], place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the places of the members without members that an aggregate may have; `*` is any."""
    variants = [schema, *schema.get("oneOf", ()), *schema.get("anyOf", ())]
    names = {name: one for part in variants for name, one in part.get("properties", {}).items()}
    free = next((one for part in variants if (one := part.get("additionalProperties"))), None)
    if isinstance(free, dict) and not names:
        names = {"*": free}
    if not names:
        yield place
    for name, one in names.items():
        items = one["items"] if name == "evaluation_results" else one
        if name not in SEALS:
            yield from list_members(items, (*place, name))


MEMBERS = sorted(
    set(list_members(json.loads((SCHEMAS / "eee/0.3.0/aggregate.schema.json").read_text())))
)


def set_member(holder: Any, place: tuple[str, ...], value: Any) -> None:
    for name in place[:-1]:
        if name == "evaluation_results":
            holder = holder[name][0]
            continue
        if not isinstance(holder.get(name), dict):
            holder[name] = {}
        holder = holder[name]
    holder[place[-1].replace("*", "topic")] = value


@pytest.mark.parametrize("harness", ["lm_eval", "inspect"])
def test_each_member_of_an_aggregate_is_compared_or_named(
    harness: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """No member of the schema is forgotten, and none of another schema."""
    honest: Pair = request.getfixturevalue(harness)
    honest.check(tmp_path)
    log = open_source(
        str(LM_EVAL_LOG if honest.log is None else tmp_path / "log.json"),
        Options(),
        Wanted(frozenset({"word_sums"}), None),
    )
    assert len(MEMBERS) > 60
    for place in [*MEMBERS, ("evaluation_results", "extra"), ("model_info", "extra", "one")]:
        document = copy.deepcopy(honest.aggregate)
        set_member(document, place, "another")
        pointer = "/" + "/".join(place).replace("*", "topic")
        found = compare_aggregate(Aggregate(document), log, 4).violations
        at = pointer.replace("results/", "results/0/")
        named = pointer.removeprefix("/evaluation_results").removeprefix("/")
        assert any(
            named in re.split("[ ,:]+", one.message)
            if one.code in {"ES660", "ES662"}
            else one.pointer == at
            for one in found
        ), place
    log.close()


def test_an_honest_pair_has_infos_about_what_converters_add(
    lm_eval: Pair, inspect: Pair, tmp_path: Path
) -> None:
    report = lm_eval.check(tmp_path)
    assert about_source(report) == set()
    assert any("metric_config/metric_kind" in one for one in uncompared(report))
    assert "agree with" in said(report)
    assert "12 members not compared" in said(report)
    report = inspect.check(tmp_path)
    assert about_source(report) == set()
    assert "answer_attribution cannot be compared" in uncompared(report)


def test_a_row_with_the_name_of_another_filter_differs(lm_eval: Pair, tmp_path: Path) -> None:
    lm_eval.rows[1]["evaluation_name"] += "/other"
    found = [(one.code, one.pointer, one.line) for one in lm_eval.check(tmp_path)]
    assert ("ES661", "/evaluation_name", 2) in found


def test_a_row_that_is_not_compared_may_have_a_missing_sample(
    inspect: Pair, tmp_path: Path
) -> None:
    inspect.rows[0]["sample_id"] = None
    messages = [one.message for one in inspect.check(tmp_path) if one.code == "ES650"]
    assert len(messages) == 1
    assert messages[0].startswith("none of the compared rows has ")


def test_what_no_row_has_is_not_among_what_agrees(lm_eval: Pair, tmp_path: Path) -> None:
    assert "scores and metadata of 4 samples" in said(lm_eval.check(tmp_path))
    for row in lm_eval.rows[:2]:
        row["metadata"] = {}
    assert "scores and some metadata of 4 samples" in said(lm_eval.check(tmp_path))
    for row in lm_eval.rows:
        row["metadata"] = {}
    assert "inputs, outputs and scores of 4 samples" in said(lm_eval.check(tmp_path))


def test_what_one_of_two_results_lacks_is_compared_of_some(lm_eval: Pair, tmp_path: Path) -> None:
    second = copy.deepcopy(lm_eval.result)
    lm_eval.aggregate["evaluation_results"].append(second)
    assert "of 1 of 2 results" in said(lm_eval.check(tmp_path))


def test_a_sample_that_one_of_its_rows_contradicts_does_not_agree(
    inspect: Pair, tmp_path: Path
) -> None:
    assert inspect.log is not None
    for sample in inspect.log["samples"]:
        sample["scores"]["includes"] = sample["scores"]["match"]
    (own,) = inspect.log["results"]["scores"]
    inspect.log["results"]["scores"].append({**own, "name": "includes", "scorer": "includes"})
    copies = [{**row, "evaluation_result_id": "includes:accuracy"} for row in inspect.rows]
    inspect.rows = [one for both in zip(inspect.rows, copies, strict=True) for one in both]
    assert " of 8 samples; " in said(inspect.check(tmp_path))
    inspect.rows[0] = {**inspect.rows[0], "output": {"raw": ["Another."]}}
    assert " of 7 of 8 samples; " in said(inspect.check(tmp_path))


def test_scores_that_an_early_converter_made_leave_the_run_open(
    inspect: Pair, tmp_path: Path
) -> None:
    for row in inspect.rows:
        row["schema_version"] = "0.2.0"
    row = inspect.rows[0]
    row["evaluation"]["score"] = float(row["output"]["raw"][0] in row["input"]["reference"])
    assert row["evaluation"]["score"] == 0
    report = inspect.check(tmp_path)
    assert "ES655" in about_source(report)
    assert report.runs[0].incomplete_reason == "the scores of 1 row are not those of the source"


def test_rows_of_samples_that_share_an_id_take_one_each(inspect: Pair, tmp_path: Path) -> None:
    assert inspect.log is not None
    again, row = copy.deepcopy((inspect.log["samples"][0], inspect.rows[0]))
    again["output"]["choices"][0]["message"]["content"] = "Another."
    again["output"]["completion"] = "Another."
    row["output"]["raw"] = ["Another."]
    inspect.log["samples"].append(again)
    inspect.rows.append(row)
    report = inspect.check(tmp_path)
    assert not about_source(report) & {"ES650", "ES651", "ES653"}
    inspect.rows[-1] = inspect.rows[0]
    assert "ES653" in about_source(inspect.check(tmp_path))


def test_of_several_metrics_of_one_name_the_one_with_the_score_is_meant() -> None:
    def stated(score: float) -> SourceResult:
        names = frozenset({"q"}), frozenset({"acc"})
        return SourceResult("q:acc", *names, "", None, score, (), (), frozenset(), False, {})

    known = [stated(0.25), stated(0.5), stated(0.75)]
    for score, place in ((0.25, 0), (0.5, 1), (0.75, 2), (0.6, 0), (None, 0)):
        given = {"evaluation_name": "q", "score_details": {"score": score}}
        named = {**given, "metric_config": {"metric_name": "acc"}}
        for one in (named, {**named, "evaluation_result_id": "q:acc"}):
            assert _match(one, known) is known[place]
    assert _match({"evaluation_name": "other"}, known) is None
    assert _match({"evaluation_name": "q"}, []) is None


def test_a_result_that_the_log_has_no_figure_of_agrees_in_nothing(tmp_path: Path) -> None:
    log = tmp_path / LM_EVAL_LOG.name
    log.write_bytes(LM_EVAL_LOG.read_bytes())
    (results,) = LM_EVAL_LOG.parent.glob("results_*.json")
    text = results.read_text().replace('"exact_match,none": 0.75', '"exact_match,none": null')
    (tmp_path / results.name).write_text(text)
    (run,) = evalstream.check(LM_EVAL_ROWS, source=str(log)).runs
    assert any("; nothing of 0 of 1 result; " in one.text for one in run.checked)
