"""Tests of what Inspect loads: types accept nothing else, its reader keeps nothing."""

import copy
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from each import each
from inspect_archive import sound_log

from evalstream.formats.inspect.library import Library, LibraryRefusal, log_types

Sample = dict[str, Any]


def _set(*path: Any, value: Any) -> Callable[[Sample], None]:
    def change(sample: Sample) -> None:
        place: Any = sample
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value

    return change


def _tool(parameters: Any) -> dict[str, Any]:
    return {"name": "add", "description": "", "parameters": parameters}


def _model(**members: Any) -> dict[str, Any]:
    output = {"model": "acme/acorn", "choices": [], "completion": ""}
    return {
        "event": "model",
        "timestamp": "2026-03-02T10:00:01Z",
        "working_start": 0.1,
        "model": "acme/acorn",
        "input": [],
        "tools": [],
        "tool_choice": "auto",
        "config": {},
        "output": output,
        **members,
    }


def _nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"x": schema}}
    return _tool({**schema, "required": []})


FITS: dict[str, Callable[[Sample], None]] = {
    "as it is": lambda _sample: None,
    "number": _set("id", value=7),
    "list of targets": _set("target", value=["a", "b"]),
    "tool": _set("events", 0, value=_model(tools=[_nested(2)])),
    "parts": _set("messages", 0, "content", value=[{"type": "text", "text": "a"}]),
    "NaN": _set("scores", "match", "value", value=float("nan")),
    "list as score": _set("scores", "match", "value", value=[1, "a", True, 0.5]),
    "what its reader moves": _set("scores", "match", "metadata", value={"unscored_reason": "x"}),
    "empty metadata": _set("scores", "match", "metadata", value={}),
    "sandbox": _set("sandbox", value={"type": "docker", "config": "compose.yaml"}),
    "sandbox of a plugin": _set("sandbox", value={"type": "k8s", "config": {"values": "a"}}),
    "sandbox of early releases": _set("sandbox", value=["docker", "compose.yaml"]),
    "any metadata": _set("metadata", value={"a": [{"b": None}]}),
}


@each("change", FITS.values(), ids=FITS)
def test_a_sample_of_the_known_form_fits(change: Callable[[Sample], None]) -> None:
    sample = copy.deepcopy(sound_log()["samples"][0])
    change(sample)
    assert log_types().fits_sample(sample)


OTHERS: dict[str, Callable[[Sample], None]] = {
    "unknown member": _set("surprise", value=None),
    "no input": lambda sample: sample.pop("input"),
    "boolean as a number": _set("epoch", value=True),
    "text as a number": _set("epoch", value="1"),
    "role": _set("messages", 0, "role", value="narrator"),
    "event": _set("events", 0, "event", value="party"),
    "date": _set("events", 0, "timestamp", value="2026-02-30T10:00:00+00:00"),
    "null in a list": _set("messages", 0, value=None),
    "score of the first releases": _set("score", value={"value": 1}),
    "what its reader moves": _set("scores", "match", "metadata", value={"unscored_reason": 3}),
    "what a validator bounds": _set("events", 0, value=_model(config={"prompt_logprobs": 99})),
    "timelines": _set("timelines", value=[{"name": "x"}]),
    "sandbox": _set("sandbox", value={"type": "docker", "config": {"services": 1}}),
    "half a sandbox": _set("sandbox", value=["docker"]),
    "sandbox without a kind": _set("sandbox", value=[None, "compose.yaml"]),
    "deep schema": _set("events", 0, value=_model(tools=[_nested(9)])),
    "list": lambda sample: sample.clear(),
}


@each("change", OTHERS.values(), ids=OTHERS)
def test_of_others_the_reader_itself_is_asked(change: Callable[[Sample], None]) -> None:
    sample = copy.deepcopy(sound_log()["samples"][0])
    change(sample)
    assert not log_types().fits_sample(sample)


def test_a_log_without_its_samples_fits() -> None:
    log = {**sound_log(), "samples": None}
    assert log_types().fits_log(log)
    assert not log_types().fits_log({**log, "eval": None})
    parts = {"name": "parts", "metrics": [{"name": "mean"}, {"a": [{"name": "mean"}]}]}
    policy = {"approvers": [{"name": "auto", "tools": "*", "params": {}}]}
    edit = {"type": "tags", "tags_add": ["x"], "tags_remove": []}
    log["eval"] |= {"sandbox": {"type": "local", "config": None}, "scorers": [parts]}
    log["eval"]["config"]["approval"] = policy
    log["log_updates"] = [{"edits": [edit], "provenance": {"author": "a person"}}]
    assert log_types().fits_log(log)
    log["eval"]["sandbox"] = ["local", None]
    assert log_types().fits_log(log)
    parts["metrics"][1]["a"] = [{"name": 1}]
    assert not log_types().fits_log(log)
    assert not log_types().fits_log(json.loads(json.dumps({**log, "status": "won"})))


def test_nothing_of_a_sample_is_kept_for_the_next() -> None:
    sizes = []

    def load(value: dict[str, Any], *, context: dict[str, Any]) -> None:
        # The harness keeps each message in the context that it loads it with.
        sizes.append(len(context))
        context[value["id"]] = value

    models = SimpleNamespace(EvalSample=SimpleNamespace(model_validate=load))
    library = Library(models, dict)
    assert [library.refused_sample({"id": number}) for number in "abc"] == [None, None, None]
    assert sizes == [0, 0, 0]


def test_the_reason_of_a_refusal_is_kept() -> None:
    def load(value: dict[str, Any], *, context: object) -> None:
        raise KeyError(value["id"])

    models = SimpleNamespace(EvalSample=SimpleNamespace(model_validate=load))
    assert Library(models, lambda: None).refused_sample({"id": 1}) == LibraryRefusal(
        "KeyError: 1", ""
    )
