"""Tests that the events of a sample are witnesses of its messages, scores and models."""

import copy
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from each import each
from hypothesis import example, given
from hypothesis import strategies as st
from inspect_archive import sound_log
from rows import bounded

import evalstream
from evalstream import Report

Log = dict[str, Any]

AT = {"timestamp": "2026-03-02T10:00:00+00:00", "working_start": 0.1}
IMAGE = "data:image/png;base64,iVBORw0KGgo="
MODEL = "mockllm/model"
KEY = MODEL.replace("/", "~1")


def checked(log: Log, folder: Path) -> Report:
    """Check a log."""
    path = folder / "run.json"
    path.write_text(json.dumps(log))
    return evalstream.check(path, max_findings=0)


def errors(log: Log, folder: Path) -> set[str]:
    """Return the codes of the errors of a log."""
    report = checked(log, folder)
    return {one.code for one in report if one.severity.label == "error"}


def _span(
    identity: str, kind: str | None, around: str | None, name: str | None = None
) -> dict[str, Any]:
    return {
        "event": "span_begin",
        **AT,
        "id": identity,
        "name": name or identity,
        "type": kind,
        "parent_id": around,
    }


def _call(given: list[Any], choice: Any, tokens: int, said: int = 0, **more: Any) -> dict[str, Any]:
    """Return the event of a call of the model."""
    usage = {"input_tokens": tokens, "output_tokens": said, "total_tokens": tokens + said}
    output = {"model": MODEL, "choices": [choice], "usage": usage}
    return {
        "event": "model",
        **AT,
        "model": MODEL,
        "input": given,
        "tools": [],
        "tool_choice": "auto",
        "config": {},
        "output": output,
        "span_id": "step",
        **more,
    }


def _choice(message: Any) -> dict[str, Any]:
    return {"message": message, "stop_reason": "stop"}


def _state(changes: list[Any], span: str = "step") -> dict[str, Any]:
    return {"event": "state", **AT, "changes": changes, "span_id": span}


def _added(place: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": place, "value": value}


def witnessed() -> Log:
    """Return the sound log; its first sample has an image, a call of a tool, and all events."""
    log = sound_log()
    sample = log["samples"][0]
    asked, answered = sample["messages"]
    asked["content"] = [
        {"type": "text", "text": "What is 2 + 2?"},
        {"type": "image", "image": IMAGE},
    ]
    call = {"id": "c1", "function": "add", "arguments": {"x": 2, "y": 2}, "type": "function"}
    called = {**answered, "id": "m1t", "content": "I add.", "tool_calls": [call]}
    returned = {
        "id": "m1r",
        "role": "tool",
        "content": "4",
        "tool_call_id": "c1",
        "function": "add",
    }
    sample["messages"] = [asked, called, returned, answered]
    begun, scored, _ = sample["events"]
    begun["state"] = {
        "messages": [asked],
        "output": {"model": MODEL, "choices": [], "completion": ""},
    }
    changes = [
        *(_added(f"/messages/{n}", one) for n, one in enumerate((called, returned, answered), 1)),
        _added("/output/choices/0", sample["output"]["choices"][0]),
        {"op": "replace", "path": "/output/completion", "value": "4"},
    ]
    sample["events"] = [
        *(begun, _span("solvers", "solvers", None), _span("step", "solver", "solvers", "generate")),
        _call([asked], _choice(called), 2),
        _call([asked, called, returned], _choice(answered), 3, said=1),
        _state(changes),
        *(_span("scorers", None, None), _span("match", "scorer", "scorers")),
        {**scored, "span_id": "match"},
    ]
    sample["output"]["usage"] = sample["events"][SECOND_CALL]["output"]["usage"]
    whole: Log = json.loads(json.dumps(log))
    return whole


STEP = 2
FIRST_CALL, SECOND_CALL, CHANGES, SCORE = 3, 4, 5, 8


def _sample(log: Log) -> dict[str, Any]:
    sample: dict[str, Any] = log["samples"][0]
    return sample


def _changed(log: Log, number: int) -> dict[str, Any]:
    """Return the value of a change of the state."""
    value: dict[str, Any] = _sample(log)["events"][CHANGES]["changes"][number]["value"]
    return value


def _replace_image(log: Log) -> None:
    _sample(log)["messages"][0]["content"][1]["image"] = IMAGE + "AAAA"


def _ask_otherwise(log: Log) -> None:
    _sample(log)["messages"][0]["content"][0]["text"] = "What is 1 + 3?"


def _return_otherwise(log: Log) -> None:
    _sample(log)["messages"][2]["content"] = "5"


def _call_otherwise(log: Log) -> None:
    _sample(log)["messages"][1]["tool_calls"][0]["arguments"]["x"] = 3


def _remove_result(log: Log) -> None:
    del _sample(log)["messages"][2]


def _remove_last(log: Log) -> None:
    del _sample(log)["messages"][3]


def _swap_messages(log: Log) -> None:
    messages = _sample(log)["messages"]
    messages[1], messages[2] = messages[2], messages[1]


def _speak_for_the_user(log: Log) -> None:
    _sample(log)["messages"][3]["role"] = "user"


def _call_in_the_output(log: Log) -> None:
    message = _sample(log)["output"]["choices"][0]["message"]
    message["tool_calls"] = [{"id": "c9", "function": "add", "arguments": {}}]


def _answer_in_all_but_calls(log: Log) -> None:
    sample = _sample(log)
    choices = (sample["output"]["choices"][0], _changed(log, 3))
    messages = [sample["messages"][3], _changed(log, 2), *(one["message"] for one in choices)]
    for message in messages:
        message["content"] = "five"
    sample["output"]["completion"] = "five"
    sample["events"][CHANGES]["changes"][4]["value"] = "five"


def _get_another_question(log: Log) -> None:
    for call in (FIRST_CALL, SECOND_CALL):
        _sample(log)["events"][call]["input"][0]["content"][0]["text"] = "What is 1 + 3?"


def _name_another_model(log: Log) -> None:
    _sample(log)["messages"][3]["model"] = "acme/another"


def _name_another_model_in_the_output(log: Log) -> None:
    _sample(log)["output"]["model"] = "another"


def _say_in_all_but_the_next_call(log: Log) -> None:
    sample = _sample(log)
    made = sample["events"][FIRST_CALL]["output"]["choices"][0]["message"]
    for message in (sample["messages"][1], _changed(log, 0), made):
        message["content"] = "I do not add."


def _forget_a_state(log: Log) -> None:
    del _sample(log)["events"][CHANGES]["changes"][1]


def _rename_model(log: Log) -> None:
    log["eval"]["model"] = "acme/acorn-7b"
    for holder in (log["stats"], *log["samples"]):
        holder["model_usage"] = {"acme/acorn-7b": holder["model_usage"][MODEL]}


def _count_less(log: Log) -> None:
    _sample(log)["model_usage"][MODEL]["input_tokens"] -= 3
    log["stats"]["model_usage"][MODEL]["input_tokens"] -= 3


def _uncount(log: Log) -> None:
    for usage in _sample(log)["model_usage"], log["stats"]["model_usage"]:
        del usage[MODEL]["input_tokens"]


def _ask_otherwise_in_the_sample(log: Log) -> None:
    _sample(log)["input"] = "What is 3 + 3?"


def _explain_otherwise(log: Log) -> None:
    _sample(log)["scores"]["match"]["explanation"] = "It is close."


def _describe_otherwise(log: Log) -> None:
    _sample(log)["metadata"] = {"topic": "hard sums"}


def _plan_otherwise(log: Log) -> None:
    log["plan"]["steps"][0]["solver"] = "chain_of_thought"


def _plan_nothing(log: Log) -> None:
    log["plan"]["steps"] = []


def _call_with_other_settings(log: Log) -> None:
    log["plan"]["config"] = {"temperature": 0.0}


def _lower_the_limit(log: Log) -> None:
    log["eval"]["config"]["limit"] = 1


def _enlarge_the_dataset(log: Log) -> None:
    log["eval"]["dataset"]["samples"] = 1000


def _hide_score_event(log: Log) -> None:
    del _sample(log)["events"][SCORE]


def _stop_otherwise(log: Log) -> None:
    _sample(log)["output"]["choices"][0]["stop_reason"] = "max_tokens"


def _count_in_the_output(log: Log) -> None:
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    _sample(log)["output"]["usage"] = usage


def _add_tool(log: Log, **members: Any) -> None:
    """Add the event of the tool that the first sample called."""
    asked = _sample(log)["messages"][1]["tool_calls"][0]
    event = {"event": "tool", **AT, **asked, "result": "4", "span_id": "step", **members}
    _sample(log)["events"].insert(SECOND_CALL, json.loads(json.dumps(event)))


def _tell_another_result(log: Log) -> None:
    _add_tool(log, result="5")


def _tell_another_argument(log: Log) -> None:
    _add_tool(log, arguments={"x": 3, "y": 2})


def _tell_another_tool(log: Log) -> None:
    _add_tool(log, function="multiply")


CHANGED: dict[Callable[[Log], None], set[str]] = {
    _replace_image: {"INS215"},
    _ask_otherwise: {"INS215"},
    _return_otherwise: {"INS215"},
    _call_otherwise: {"INS215"},
    _remove_result: {"INS215"},
    _remove_last: {"INS215"},
    _swap_messages: {"INS215"},
    _speak_for_the_user: {"INS215"},
    _say_in_all_but_the_next_call: {"INS215"},
    _get_another_question: {"INS215"},
    _name_another_model: {"INS215"},
    _name_another_model_in_the_output: {"INS212"},
    _forget_a_state: {"INS215"},
    _tell_another_result: {"INS215"},
    _tell_another_argument: {"INS215"},
    _tell_another_tool: {"INS215"},
    _call_in_the_output: {"INS212"},
    _stop_otherwise: {"INS212"},
    _count_in_the_output: {"INS212"},
    _answer_in_all_but_calls: {"INS212", "INS215"},
    _rename_model: {"INS217"},
    _count_less: {"INS217"},
    _hide_score_event: {"INS216"},
    _ask_otherwise_in_the_sample: {"INS208"},
    _explain_otherwise: {"INS208"},
    _describe_otherwise: {"INS208"},
    _plan_otherwise: {"INS208"},
    _plan_nothing: {"INS208"},
    _call_with_other_settings: {"INS208"},
    _lower_the_limit: {"INS203"},
    _enlarge_the_dataset: {"INS202"},
}


def test_a_log_with_all_its_events_is_sound(tmp_path: Path) -> None:
    assert errors(witnessed(), tmp_path) == set()


@each(("change", "codes"), CHANGED.items(), ids=[one.__name__[1:] for one in CHANGED])
def test_what_the_events_contradict_is_found(
    change: Callable[[Log], None], codes: set[str], tmp_path: Path
) -> None:
    log = witnessed()
    change(log)
    assert errors(log, tmp_path) == codes


@each(
    ("change", "place", "expected", "found"),
    [
        (_return_otherwise, "messages/2/content", "4", "5"),
        (_count_less, f"model_usage/{KEY}/input_tokens", {"minimum": 5}, 2),
        (_uncount, f"model_usage/{KEY}", {"minimum": 5}, None),
    ],
)
def test_a_finding_names_the_place_and_both_values(
    change: Callable[[Log], None], place: str, expected: object, found: object, tmp_path: Path
) -> None:
    log = witnessed()
    change(log)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(log))
    finding = next(iter(evalstream.check(path)))
    assert finding.pointer == f"/samples/0/{place}"
    assert (finding.expected, finding.found) == (expected, found)


def _with_solver(log: Log, name: str) -> None:
    log["plan"]["steps"][0]["solver"] = _sample(log)["events"][STEP]["name"] = name


def _solver_edits_messages(log: Log) -> None:
    """A solver of one's own changes a message of the model, which the state tells."""
    _with_solver(log, "own_solver")
    for message in (_sample(log)["messages"][1], _changed(log, 0)):
        message["content"] = "[agent] I add."


def _agent_removes_calls(log: Log) -> None:
    """The agent `react` removes the calls of its submit tool from messages."""
    _with_solver(log, "react")
    for message in (_sample(log)["messages"][1], _changed(log, 0)):
        message["tool_calls"] = []


def _solver_within_a_solver(log: Log) -> None:
    """The changes of a solver within a step are told twice: by it, and by the step."""
    events = _sample(log)["events"]
    events.insert(FIRST_CALL, _span("inner", "solver", "step"))
    events.insert(FIRST_CALL + 1, _state(copy.deepcopy(events[CHANGES + 1]["changes"]), "inner"))


def _model_gets_no_reasoning(log: Log) -> None:
    sample = _sample(log)
    made = sample["events"][FIRST_CALL]["output"]["choices"][0]["message"]
    for message in (sample["messages"][1], _changed(log, 0), made):
        thought = {"type": "reasoning", "reasoning": "2 and 2"}
        message["content"] = [thought, {"type": "text", "text": "I add."}]


def _scorer_adds_messages(log: Log) -> None:
    _sample(log)["messages"].append({"id": "g1", "role": "user", "content": "Grade this."})


def _answer_from_the_cache(log: Log) -> None:
    given = _sample(log)["events"][FIRST_CALL]
    given["cache"] = "read"
    given["output"]["usage"]["input_tokens"] = 1_000


def _grader_of_a_later_scoring(log: Log) -> None:
    message = {"id": "g2", "role": "assistant", "content": "GRADE: C"}
    call = _call([], _choice(message), 70, span_id="match", model="acme/judge")
    _sample(log)["events"].insert(SCORE, call)


def _text_as_attachment(log: Log) -> None:
    """Events refer to long texts, which messages have in full."""
    log["samples"][1]["messages"][0]["content"] = log["samples"][1]["attachments"][
        "cadf2023ef80bd10e65bebdca87434ab"
    ]


def _step_with_a_setting_of_its_own(log: Log) -> None:
    log["plan"]["config"] = {"temperature": 0.0}
    log["plan"]["steps"][0]["params"] = {"temperature": 1.0}
    for number in (FIRST_CALL, SECOND_CALL):
        _sample(log)["events"][number]["config"] = {"temperature": 1.0}


def _done_before_the_last_step(log: Log) -> None:
    log["plan"]["steps"].append({"solver": "self_critique", "params": {}})


def _solver_adds_metadata(log: Log) -> None:
    _sample(log)["metadata"]["seen"] = True
    _sample(log)["events"][CHANGES]["changes"].append(_added("/metadata/seen", True))


def _part_of_the_dataset(log: Log) -> None:
    log["eval"]["dataset"]["samples"] = 1000
    log["eval"]["config"]["limit"] = [10, 12]


def _sample_is_stopped(log: Log) -> None:
    _sample(log)["limit"] = {"type": "message", "limit": 4}
    _return_otherwise(log)


def _questions_that_are_joined(log: Log) -> None:
    sample = _sample(log)
    first, second = {"id": "u1", "role": "user"}, {"id": "u2", "role": "user", "content": "b"}
    sample["messages"][0:0] = _begun(log)["messages"][0:0] = [{**first, "content": "a"}, second]
    for change in sample["events"][CHANGES]["changes"][:3]:
        change["path"] = f"/messages/{int(change['path'][-1]) + 2}"
    for call in (FIRST_CALL, SECOND_CALL):
        sample["events"][call]["input"].insert(0, {**first, "content": "a\nb"})


def _begun(log: Log) -> dict[str, Any]:
    state: dict[str, Any] = _sample(log)["events"][0]["state"]
    return state


def _messages_that_are_moved(log: Log) -> None:
    changes = _sample(log)["events"][CHANGES]["changes"]
    changes[0]["path"] = "/kept"
    changes[0:1] = [
        {"op": "copy", "from": "/messages/0", "path": "/messages/1"},
        {"op": "test", "path": "/messages/0", "value": {}},
        {"op": "remove", "path": "/messages/1"},
        _added("/messages/0", changes[0]["value"]),
        {"op": "move", "from": "/messages/0", "path": "/messages/1"},
    ]


def _with_changes(log: Log, *changes: Any, span: str = "step") -> None:
    _sample(log)["events"].insert(CHANGES + 1, json.loads(json.dumps(_state([*changes], span))))


SWITCHES: dict[str, Callable[[Log], None]] = {
    "a test": lambda log: _with_changes(log, {"op": "test", "path": "/a", "value": 1}),
    "no operation": lambda log: _with_changes(log, {"op": "skip", "path": "/messages"}, None, 1),
    "no such place": lambda log: _with_changes(log, {"op": "remove", "path": "/messages/99"}),
    "no such source": lambda log: _with_changes(log, {"op": "move", "path": "/a", "from": "/b"}),
    "no span": lambda log: _with_changes(log, span="nowhere"),
    "a second start": lambda log: _sample(log)["events"].insert(3, _sample(log)["events"][0]),
}
"""Members that a log may add about itself."""


@each("switch", SWITCHES.values(), ids=[*SWITCHES])
def test_no_event_turns_the_comparison_off(switch: Callable[[Log], None], tmp_path: Path) -> None:
    log = witnessed()
    _return_otherwise(log)
    switch(log)
    assert "INS215" in errors(log, tmp_path)


@each(
    "switch",
    [
        lambda log: _sample(log).update(limit={"type": "message", "limit": 4}),
        lambda log: _with_changes(log, {"op": "replace", "path": "/messages", "value": []}),
        lambda log: _with_changes(log, {"op": "replace", "path": "/messages", "value": "none"}),
    ],
)
def test_no_event_hides_a_text_of_the_model(switch: Callable[[Log], None], tmp_path: Path) -> None:
    log = witnessed()
    _with_solver(log, "own_solver")
    message = _sample(log)["messages"][3]
    message |= {"content": "five", "source": "generate"}
    switch(log)
    assert "INS215" in errors(log, tmp_path)


@each("limit", [None, {"type": "message", "limit": 4}])
def test_a_limit_does_not_change_the_completion(limit: Any, tmp_path: Path) -> None:
    log = witnessed()
    _sample(log)["limit"] = limit
    _sample(log)["output"]["completion"] = "five"
    assert "INS212" in errors(log, tmp_path)


HONEST: list[Callable[[Log], None]] = [
    _solver_edits_messages,
    _agent_removes_calls,
    _solver_within_a_solver,
    _model_gets_no_reasoning,
    _scorer_adds_messages,
    _answer_from_the_cache,
    _grader_of_a_later_scoring,
    _text_as_attachment,
    _step_with_a_setting_of_its_own,
    _done_before_the_last_step,
    _solver_adds_metadata,
    _part_of_the_dataset,
    _sample_is_stopped,
    _questions_that_are_joined,
    _messages_that_are_moved,
]


@each("change", HONEST, ids=lambda one: one.__name__[1:])
def test_what_the_harness_does_itself_is_no_error(
    change: Callable[[Log], None], tmp_path: Path
) -> None:
    log = witnessed()
    change(log)
    assert errors(log, tmp_path) == set()


def test_a_solver_whose_name_is_no_text_is_none_of_the_harness(tmp_path: Path) -> None:
    log = witnessed()
    _tell_another_result(log)
    log["plan"]["steps"][0]["solver"] = {"name": "generate"}
    assert "ES010" not in errors(log, tmp_path)


def test_a_scorer_of_ones_own_may_change_the_metadata(tmp_path: Path) -> None:
    log = witnessed()
    sample = _sample(log)
    sample["metadata"]["seen"] = True
    # `cleanup` of a task may do so, too.
    assert warnings(log, tmp_path) == {"INS208": "/samples/0/metadata"}
    assert not errors(log, tmp_path)
    sample["scores"]["judge"] = sample["scores"]["match"]
    sample["events"].append({**sample["events"][SCORE], "scorer": "judge"})
    assert "INS208" not in warnings(log, tmp_path)
    _describe_otherwise(log)
    assert "INS208" in warnings(log, tmp_path)
    assert "INS208" not in errors(log, tmp_path)
    del sample["scores"]["judge"], sample["events"][-1]
    assert "INS208" in errors(log, tmp_path)


def test_a_scorer_of_ones_own_may_set_the_completion(tmp_path: Path) -> None:
    log = witnessed()
    sample = _sample(log)
    sample["output"]["completion"] = "scored: 4"
    assert "INS212" in errors(log, tmp_path)
    sample["scores"]["judge"] = sample["scores"]["match"]
    sample["events"].append({**sample["events"][SCORE], "scorer": "judge"})
    assert "INS212" not in errors(log, tmp_path)
    assert warnings(log, tmp_path)["INS212"] == "/samples/0/output/completion"
    sample["output"]["choices"][0]["message"]["content"] = "scored: 4"
    assert "INS212" in errors(log, tmp_path)


def test_scoring_again_may_leave_events_of_scores_that_it_replaced(tmp_path: Path) -> None:
    log = witnessed()
    left = {**_sample(log)["events"][SCORE], "scorer": "judge"}
    _sample(log)["events"].append(left)
    assert "INS208" in errors(log, tmp_path)
    left["span_id"] = "judge"
    _sample(log)["events"].append(_span("judge", "scorer", "of no event"))
    assert not errors(log, tmp_path)
    assert warnings(log, tmp_path) == {"INS208": "/samples/0/scores"}


def _of_an_early_release(log: Log) -> None:
    log["eval"]["packages"]["inspect_ai"] = "0.3.90"
    for sample in log["samples"]:
        for event in sample["events"]:
            event.pop("scorer", None)


def test_early_releases_named_no_scorer_in_events(tmp_path: Path) -> None:
    log = sound_log()
    _of_an_early_release(log)
    assert errors(log, tmp_path) == set()
    _sample(log)["scores"]["match"]["answer"] = "5"
    assert errors(log, tmp_path) == {"INS216"}


def _edited(scorer: str, edit: Any) -> Log:
    at = {"timestamp": "2026-03-02T10:00:02+00:00", "working_start": 0.6}
    return {"event": "score_edit", **at, "score_name": scorer, "edit": edit}


HISTORIES: dict[str, tuple[list[Log], list[Log]]] = {
    "the score alone": ([{"value": "I"}], []),
    "no event": ([{"value": "I"}, {"value": "C"}], []),
    "another event": ([{"value": "I"}, {"value": "C"}], [{"value": "I"}]),
    "an edit that leaves the value": ([{"value": "I"}, {"metadata": {}}], [{"metadata": {}}]),
    "another end": ([{"value": "I"}, {"value": "N"}], [{"value": "N"}]),
}


@each("name", HISTORIES, ids=HISTORIES)
def test_the_history_of_a_score_is_that_of_recorded_edits(name: str, tmp_path: Path) -> None:
    log = sound_log()
    _turn_score(log)
    sample = log["samples"][3]
    scored = next(one for one in sample["events"] if one["event"] == "score")
    scored["score"]["value"] = "I"
    history, events = HISTORIES[name]
    sample["scores"]["match"]["history"] = history
    sample["events"] += [_edited("match", one) for one in events]
    assert errors(log, tmp_path) == {"INS216"}
    sample["scores"]["match"]["history"] = [{"value": "I"}, {"value": "C"}]
    sample["events"].append(_edited("match", {"value": "C"}))
    assert errors(log, tmp_path) == set()


def test_edits_are_recorded_in_the_order_of_the_history(tmp_path: Path) -> None:
    log = sound_log()
    sample = log["samples"][3]
    by = {"author": "a person"}
    edits = [{"value": one, "explanation": one, "provenance": by} for one in ("C", "I")]
    score = sample["scores"]["match"]
    score["history"] = [{"value": "I", "answer": "460"}, *copy.deepcopy(edits)]
    sample["events"] += [_edited("match", one) for one in edits]
    assert errors(log, tmp_path) == set()
    for name, value in (("value", "I"), ("explanation", "x"), ("provenance", {"author": "b"})):
        changed = copy.deepcopy(log)
        changed["samples"][3]["scores"]["match"]["history"][1][name] = value
        assert errors(changed, tmp_path) == {"INS216"}, name


def test_the_reason_of_a_score_is_that_of_its_event(tmp_path: Path) -> None:
    log = witnessed()
    _sample(log)["scores"]["match"]["reason"] = "no_response"
    assert errors(log, tmp_path) == {"INS208"}
    _sample(log)["events"][SCORE]["score"]["reason"] = "no_response"
    assert errors(log, tmp_path) == set()


def test_a_model_that_used_no_tokens_beside_others_is_a_warning(tmp_path: Path) -> None:
    log = sound_log()
    grader = {"input_tokens": 1, "output_tokens": 0, "total_tokens": 1}
    log["eval"]["model_roles"] = {"grader": {"model": "acme/grader"}}
    log["stats"]["model_usage"]["acme/grader"] = grader
    log["samples"][0]["model_usage"]["acme/grader"] = grader
    assert "INS210" not in warnings(log, tmp_path)
    log["eval"]["model"] = "acme/another"
    assert warnings(log, tmp_path)["INS210"] == "/eval/model"


def test_the_parameters_of_a_scorer_are_those_of_its_events(tmp_path: Path) -> None:
    log = sound_log()
    for sample in log["samples"]:
        for event in sample["events"]:
            event.update({"scorer_args": {"numeric": True}} if event["event"] == "score" else {})
    log["eval"]["scorers"][0]["options"] = {"numeric": True}
    log["results"]["scores"][0]["params"] = {"numeric": True}
    assert "INS208" not in errors(log, tmp_path)
    log["eval"]["scorers"][0]["options"] = {"numeric": True, "own": 1}
    log["results"]["scores"][0]["params"] = {"numeric": True, "own": 1}
    assert errors(log, tmp_path) == {"INS208"}


def test_a_scorer_of_the_harness_gives_scores(tmp_path: Path) -> None:
    log = sound_log()
    _turn_score(log)
    # A scorer of a package takes the name.
    log["eval"]["scorers"].insert(0, {**log["eval"]["scorers"][0], "name": "own/match"})
    report = checked(log, tmp_path)
    assert {one.code: one.severity.label for one in report} == {"INS305": "warning"}
    (part,) = (one for one in report.runs[0].checked if "derived" in one.text)
    assert part == ("0 of 4 scores derived from answers", None)


def _as_pattern(log: Log) -> None:
    text = json.dumps(log).replace('"match"', '"pattern"')
    log |= json.loads(text)
    options = {"pattern": "([0-9]+)", "ignore_case": True}
    log["eval"]["scorers"][0]["options"] = options
    log["results"]["scores"][0]["params"] = options
    for sample in log["samples"]:
        event = next(one for one in sample["events"] if one["event"] == "score")
        for score in (sample["scores"]["pattern"], event["score"]):
            score["explanation"] = sample["output"]["completion"]


@each(
    ("answer", "value", "codes"),
    [
        ("460", "C", {"INS218"}),
        ("460", "I", set()),
        (None, "C", {"INS218"}),
        ("465", "I", {"INS218"}),
    ],
)
def test_a_pattern_is_right_by_what_it_found(
    answer: str | None, value: str, codes: set[str], tmp_path: Path
) -> None:
    log = sound_log()
    if value == "C":
        _turn_score(log)
    _as_pattern(log)
    sample = log["samples"][3]
    event = next(one for one in sample["events"] if one["event"] == "score")
    for score in (sample["scores"]["pattern"], event["score"]):
        score["answer"] = answer
    log["reductions"][0]["samples"][1]["answer"] = None
    assert errors(log, tmp_path) == codes


def test_scores_that_look_unlike_the_others_are_named(tmp_path: Path) -> None:
    log = sound_log()
    _turn_score(log)
    sample = log["samples"][3]
    scored = next(one for one in sample["events"] if one["event"] == "score")
    for score in (sample["scores"]["match"], scored["score"]):
        score["answer"] = "465"
    log["reductions"][0]["samples"][1]["answer"] = None
    report = checked(log, tmp_path)
    (finding,) = report
    assert (finding.code, finding.severity.label) == ("INS218", "warning")
    assert finding.pointer == "/samples/3/scores/match/value"
    (part,) = (one for one in report.runs[0].checked if "derived" in one.text)
    assert part == ("3 of 4 scores derived from answers", None)


def test_a_score_that_an_edit_added_needs_no_event_of_a_scorer(tmp_path: Path) -> None:
    log = sound_log()
    edit = {"value": "C", "answer": "4"}
    _sample(log)["scores"]["added"] = {"value": "C", "answer": "4", "history": [edit]}
    _sample(log)["events"].append(_edited("added", edit))
    assert "INS216" not in errors(log, tmp_path)
    _sample(log)["scores"]["added"]["history"] = []
    assert "INS216" in errors(log, tmp_path)


def test_a_completion_is_the_text_of_all_parts(tmp_path: Path) -> None:
    log = sound_log()
    sample = _sample(log)
    parts = [{"type": "reasoning", "reasoning": "2 and 2"}, {"type": "text", "text": "4"}]
    for message in (sample["messages"][1], sample["output"]["choices"][0]["message"]):
        message["content"] = parts
    assert errors(log, tmp_path) == set()
    sample["output"]["completion"] = "5"
    assert errors(log, tmp_path) == {"INS212"}


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Iterate over the paths of all values in a value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for name, part in parts:
        yield (*path, name)
        if isinstance(part, (dict, list)):
            yield from _places(part, (*path, name))


@bounded(max_examples=examples(150))
@given(
    st.sampled_from(list(_places(_sample(witnessed())))),
    st.sampled_from(
        [None, True, -1, 10**30, 1e308, "", "x", "/", [], {}, [[]], [None], ["\ud800"]]
    ),
)
@example(("events", 8, "scorer"), [])
def test_no_value_in_a_sample_crashes_the_check(path: tuple[Any, ...], value: Any) -> None:
    log = witnessed()
    place: Any = _sample(log)
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    with tempfile.TemporaryDirectory() as folder:
        assert "ES010" not in errors(log, Path(folder))


def test_calls_that_are_gone_are_a_warning(tmp_path: Path) -> None:
    log = witnessed()
    _sample(log)["events"] = [one for one in _sample(log)["events"] if one["event"] != "model"]
    path = tmp_path / "run.json"
    path.write_text(json.dumps(log))
    found = [one for one in evalstream.check(path) if one.code == "INS217"]
    assert [(one.severity.label, one.pointer) for one in found] == [
        ("warning", f"/samples/0/model_usage/{KEY}")
    ]
    _sample(log)["model_usage"] = {}
    path.write_text(json.dumps(log))
    assert "INS217" not in evalstream.check(path).counts


@each(
    "members",
    [{}, {"result": "5", "truncated": [9, 1]}, {"result": "5", "error": {"type": "unknown"}}],
)
def test_the_event_of_a_tool_may_differ_only_where_it_says_so(
    members: dict[str, Any], tmp_path: Path
) -> None:
    log = witnessed()
    _add_tool(log, **members)
    assert "INS215" not in errors(log, tmp_path)


@each(
    ("decision", "call", "is_found"),
    [("approve", "c1", True), ("modify", "c1", False), ("modify", "c2", True)],
)
def test_an_approval_is_about_its_own_call(
    decision: str, call: str, is_found: bool, tmp_path: Path
) -> None:
    log = witnessed()
    _tell_another_argument(log)
    asked = {"id": call, "function": "add", "arguments": {}, "type": "function"}
    event = {"event": "approval", **AT, "message": "", "call": asked, "approver": "human"}
    _sample(log)["events"].append({**event, "decision": decision})
    assert ("INS215" in errors(log, tmp_path)) is is_found


@each(
    ("path", "is_found"),
    [("/metadata/seen", True), ("/metadata/topic", False), ("/metadata", False), ("/store", True)],
)
def test_metadata_that_no_solver_changed_is_compared(
    path: str, is_found: bool, tmp_path: Path
) -> None:
    log = witnessed()
    _describe_otherwise(log)
    _sample(log)["events"][CHANGES]["changes"].append(_added(path, {}))
    assert ("INS208" in errors(log, tmp_path)) is is_found


def test_a_limit_does_not_hide_metadata_of_a_plain_plan(tmp_path: Path) -> None:
    log = witnessed()
    _sample(log)["limit"] = {"type": "token", "limit": 4}
    assert "INS208" not in errors(log, tmp_path)
    _describe_otherwise(log)
    assert "INS208" in errors(log, tmp_path)


def test_retries_of_a_sample_do_not_hide_the_usage_of_its_calls(tmp_path: Path) -> None:
    log = witnessed()
    error = {"message": "slow", "traceback": "", "traceback_ansi": ""}
    _sample(log)["error_retries"] = [error]
    _count_less(log)
    assert "INS217" in errors(log, tmp_path)
    _use_more(log)
    assert "INS217" not in errors(log, tmp_path) | warnings(log, tmp_path).keys()


@each("change", [_return_otherwise, _call_otherwise])
def test_the_tools_of_a_stopped_sample_are_compared(
    change: Callable[[Log], None], tmp_path: Path
) -> None:
    log = witnessed()
    _add_tool(log)
    _sample(log)["limit"] = {"type": "token", "limit": 4}
    assert "INS215" not in errors(log, tmp_path)
    change(log)
    assert "INS215" in errors(log, tmp_path)


def warnings(log: Log, folder: Path) -> dict[str, str | None]:
    """Return the pointers of the warnings of a log by code."""
    path = folder / "run.json"
    path.write_text(json.dumps(log))
    report = evalstream.check(path, max_findings=0)
    return {one.code: one.pointer for one in report if one.severity.label == "warning"}


def _use_more(log: Log) -> None:
    for holder in (log["stats"], _sample(log)):
        holder["model_usage"][MODEL]["input_tokens"] += 100


def test_a_usage_above_all_calls_is_a_warning(tmp_path: Path) -> None:
    log = witnessed()
    assert "INS217" not in warnings(log, tmp_path)
    _use_more(log)
    place = f"/samples/0/model_usage/{MODEL.replace('/', '~1')}/input_tokens"
    assert warnings(log, tmp_path)["INS217"] == place
    call = _sample(log)["events"][FIRST_CALL]
    _sample(log)["events"].append({**call, "model": "mockllm/other", "retries": 1})
    _sample(log)["model_usage"]["mockllm/other"] = call["output"]["usage"]
    subtask = {"event": "subtask", **AT, "name": "search", "input": {}, "events": []}
    _sample(log)["events"].append(subtask)
    assert warnings(log, tmp_path)["INS217"] == place
    subtask["events"] = [call]
    assert "INS217" not in warnings(log, tmp_path)
    subtask["events"], call["retries"] = [], 1
    assert "INS217" not in warnings(log, tmp_path)


def test_a_fallback_of_a_sample_is_one_of_its_calls(tmp_path: Path) -> None:
    """The harness adds up the fallbacks of all calls."""
    log, fallback = witnessed(), {"model": "model", "fallback_model": "acorn-7b", "count": 1}
    _rename_model(log)
    for sample in log["samples"]:
        sample["model_fallbacks"] = [fallback]
    assert "INS217" in errors(log, tmp_path)
    for sample in log["samples"]:
        for event in sample["events"]:
            if event["event"] == "model":
                event["output"]["fallback"] = fallback
    assert "INS217" not in errors(log, tmp_path) | warnings(log, tmp_path).keys()


def timed(**members: Any) -> Log:
    """Return a log whose first sample has times."""
    log = witnessed()
    clock = "2026-03-02T10:00:"
    times = {"started_at": f"{clock}00+00:00", "completed_at": f"{clock}02+00:00"}
    _sample(log).update({**times, "total_time": 2.0, "working_time": 1.5, **members})
    return log


@each(
    ("members", "place"),
    [
        ({"total_time": 9999.0}, "total_time"),
        ({"total_time": 7.1, "completed_at": "2026-03-02T10:00:02Z"}, "total_time"),
        ({"working_time": 99.0}, "working_time"),
        ({"total_time": 10**400}, "total_time"),
        ({"working_time": 10**400}, "working_time"),
        (
            {"completed_at": "2026-03-02T09:00:01+00:00", "started_at": "2026-03-02T09:00:00Z"},
            f"events/{FIRST_CALL}/timestamp",
        ),
    ],
)
def test_impossible_times_are_a_warning(
    members: dict[str, Any], place: str, tmp_path: Path
) -> None:
    assert warnings(timed(**members), tmp_path)["INS219"] == f"/samples/0/{place}"


@each(
    "members",
    [
        {},
        # The computer slept.
        {"completed_at": "2026-03-02T10:00:02+00:00", "started_at": "2026-03-02T08:00:00+00:00"},
        {"total_time": 6.9},
        {"total_time": None},
        {"started_at": "then"},
    ],
)
def test_times_that_may_be_are_none(members: dict[str, Any], tmp_path: Path) -> None:
    assert "INS219" not in warnings(timed(**members), tmp_path)


def test_a_call_is_no_longer_than_its_sample_works(tmp_path: Path) -> None:
    log = timed()
    _sample(log)["events"][FIRST_CALL]["working_time"] = 60.0
    assert warnings(log, tmp_path)["INS219"] == f"/samples/0/events/{FIRST_CALL}/working_time"


def test_an_answer_from_the_cache_counts_as_the_time_of_its_first_call(tmp_path: Path) -> None:
    log = timed(working_time=61.0)
    call = _sample(log)["events"][FIRST_CALL]
    call["output"]["time"] = 60.0
    assert warnings(log, tmp_path)["INS219"] == "/samples/0/working_time"
    call["cache"] = "read"
    assert warnings(log, tmp_path)["INS219"] == "/samples/0/working_time"
    # The tokens of such an answer are not counted.
    del _sample(log)["model_usage"]
    assert "INS219" not in warnings(log, tmp_path)


def test_a_log_is_completed_after_its_samples(tmp_path: Path) -> None:
    log = timed()
    log["stats"]["completed_at"] = "2026-03-02T09:00:00+00:00"
    log["stats"]["started_at"] = log["eval"]["created"] = "2026-03-02T08:00:00+00:00"
    assert warnings(log, tmp_path)["INS219"] == "/stats/completed_at"


@each(
    ("part", "name", "time", "place"),
    [
        ("stats", "started_at", "10:00:08", "/stats/started_at"),
        ("stats", "started_at", "10:00:06", None),
        # The harness may move the time of creation on, so that the name of the log is a new one.
        ("eval", "created", "10:01:08", "/eval/created"),
        ("eval", "created", "10:01:06", None),
    ],
)
def test_a_log_is_completed_after_it_began(
    part: str, name: str, time: str, place: str | None, tmp_path: Path
) -> None:
    log = timed()
    log[part][name] = f"2026-03-02T{time}+00:00"
    assert warnings(log, tmp_path).get("INS219") == place


def _turn_score(log: Log) -> None:
    """Turn a score in all its places."""
    sample = log["samples"][3]
    sample["scores"]["match"]["value"] = sample["events"][1]["score"]["value"] = "C"
    log["reductions"][0]["samples"][1]["value"] = 1.0
    metrics = log["results"]["scores"][0]["metrics"]
    metrics["accuracy"]["value"], metrics["stderr"]["value"] = 1.0, 0.0


def test_a_score_that_was_turned_everywhere_is_found(tmp_path: Path) -> None:
    log = sound_log()
    _turn_score(log)
    assert errors(log, tmp_path) == {"INS218"}


def test_no_declared_option_hides_a_score_that_was_turned(tmp_path: Path) -> None:
    log = sound_log()
    log["eval"]["packages"]["inspect_ai"] = "0.3.240"
    _turn_score(log)
    log["eval"]["scorers"][0]["options"] = {"numeric": True, "location": "exact"}
    assert errors(log, tmp_path) == {"INS218"}


@each("value", [1, 0.99, "yes", "P"])
def test_a_score_of_another_form_is_given_again(value: Any, tmp_path: Path) -> None:
    log = sound_log()
    _turn_score(log)
    sample = log["samples"][3]
    sample["scores"]["match"]["value"] = sample["events"][1]["score"]["value"] = value
    assert "INS218" in errors(log, tmp_path)


@each("declared", [None, [{"name": "own_scorer", "options": {}}]])
def test_scorers_of_the_results_are_known_where_they_are_not_declared(
    declared: Any, tmp_path: Path
) -> None:
    log = sound_log()
    log["eval"]["scorers"] = declared
    assert errors(log, tmp_path) == set()
    _turn_score(log)
    assert errors(log, tmp_path) == {"INS218"}


@each(
    ("release", "scorer", "severity"),
    [("0.3.122", "own", "warning"), ("0.3.122", "match", "error"), ("0.3.123", "own", "error")],
)
def test_a_scorer_of_ones_own_may_have_set_the_first_choice(
    release: str, scorer: str, severity: str, tmp_path: Path
) -> None:
    log = witnessed()
    log["eval"]["packages"]["inspect_ai"] = release
    sample = _sample(log)
    sample["scores"][scorer] = sample["scores"].pop("match")
    for message in (sample["messages"][-1], sample["output"]["choices"][0]["message"]):
        message["content"] = "4 (scored)"
    del sample["output"]["completion"]
    found = [one for one in _check(log, tmp_path) if one.code in {"INS212", "INS215"}]
    assert {one.code for one in found} == {"INS212", "INS215"}
    assert {one.severity.label for one in found} == {severity}


def test_the_metadata_of_a_score_are_those_of_its_event(tmp_path: Path) -> None:
    log = sound_log()
    score = log["samples"][0]["scores"]["match"]
    score["metadata"] = {"grading": []}
    assert errors(log, tmp_path) == {"INS208"}
    # An edit may change them, too.
    score["history"] = [{"value": score["value"]}, {"metadata": {"grading": []}}]
    log["samples"][0]["events"].append(_edited("match", score["history"][1]))
    assert errors(log, tmp_path) == set()


def test_an_end_that_was_hidden_is_found(tmp_path: Path) -> None:
    log = sound_log()
    sample = log["samples"][0]
    sample["events"].append({"event": "error", "error": {"message": "boom"}})
    assert errors(log, tmp_path) == {"INS208"}
    # A scorer failed after a user had stopped the sample.
    sample["limit"] = {"type": "operator", "limit": 1}
    assert errors(log, tmp_path) == set()
    sample["events"][-1] = {"event": "sample_limit", "type": "token", "message": "m"}
    assert "INS208" not in warnings(log, tmp_path)
    del sample["limit"]
    assert "INS208" in errors(log, tmp_path)
    log["plan"]["steps"] = [{"solver": "own", "params": {}}]
    assert "INS208" in warnings(log, tmp_path)


@each("dataset", [None, {}, {"name": "sums"}, {"samples": 1}, {"sample_ids": [1]}])
def test_a_log_must_tell_what_samples_were_to_be_run(
    dataset: dict[str, Any] | None, tmp_path: Path
) -> None:
    log = sound_log()
    log["samples"] = [one for one in log["samples"] if one["id"] == 1]
    log["eval"]["dataset"] = dataset
    assert "INS202" in errors(log, tmp_path)


def _scorer_of_ones_own(log: Log) -> None:
    sample = log["samples"][3]
    for score in (sample["scores"]["match"], sample["events"][1]["score"]):
        score |= {"answer": "four hundred", "explanation": "close enough"}


def _other_options(log: Log) -> None:
    log["eval"]["scorers"][0]["options"] = {"numeric": True, "location": "exact"}
    log["results"]["scores"][0]["params"] = {"numeric": True, "location": "exact"}


def _early_release(log: Log) -> None:
    log["eval"]["packages"]["inspect_ai"] = "0.3.9"
    for sample in log["samples"]:
        del sample["uuid"]


@each("packages", [{}, {"inspect_ai": "0.3.9"}, {"inspect_ai": "unknown"}])
def test_no_name_of_a_release_hides_a_score_that_was_turned(
    packages: dict[str, str], tmp_path: Path
) -> None:
    log = witnessed()
    log["eval"]["packages"] = packages
    assert "INS218" not in errors(log, tmp_path)
    _turn_score(log)
    log["samples"][3]["events"].append(_span("step", "solver", None, "generate"))
    assert "INS218" in errors(log, tmp_path)


@each("change", [_scorer_of_ones_own, _other_options, _early_release])
def test_a_score_that_cannot_be_given_again_is_left_alone(
    change: Callable[[Log], None], tmp_path: Path
) -> None:
    log = sound_log()
    _turn_score(log)
    change(log)
    assert errors(log, tmp_path) == set()


def _chosen(log: Log) -> None:
    """Turn the log into one of choices: the model selects B, which is right."""
    log["plan"]["steps"][0]["solver"] = "multiple_choice"
    text = json.dumps(log["eval"] | {"x": 0}).replace('"match"', '"choice"')
    log["eval"] = json.loads(text)
    log["results"] = json.loads(json.dumps(log["results"]).replace('"match"', '"choice"'))
    log["reductions"][0]["scorer"] = "choice"
    for reduced in log["reductions"][0]["samples"]:
        reduced["answer"] = None
    del log["eval"]["x"]
    for sample in log["samples"]:
        value = sample["scores"]["match"]["value"]
        sample |= {"target": "B", "choices": ["4", "465", "460"]}
        letter = "B" if value == "C" else "A"
        text = f"Think.\nANSWER: {letter}"
        score = {"value": value, "answer": letter, "explanation": text, "history": []}
        sample["scores"] = {"choice": score}
        begun, scored, _ = sample["events"]
        begun["sample"]["target"] = "B"
        scored |= {"scorer": "choice", "score": dict(score), "target": "B"}
        sample["output"]["completion"] = text
        for message in (sample["messages"][1], sample["output"]["choices"][0]["message"]):
            message["content"] = text


def _select_otherwise(log: Log) -> None:
    """Turn the letter of a wrong answer as well as its value, but not the completion."""
    _turn_choice(log)
    sample = log["samples"][3]
    for score in (sample["scores"]["choice"], sample["events"][1]["score"]):
        score["answer"] = "B"


def _turn_choice(log: Log) -> None:
    sample = log["samples"][3]
    sample["scores"]["choice"]["value"] = sample["events"][1]["score"]["value"] = "C"
    log["reductions"][0]["samples"][1]["value"] = 1.0
    metrics = log["results"]["scores"][0]["metrics"]
    metrics["accuracy"]["value"], metrics["stderr"]["value"] = 1.0, 0.0


def test_selected_letters_are_those_of_the_completion(tmp_path: Path) -> None:
    for change in (_turn_choice, _select_otherwise):
        log = sound_log()
        _chosen(log)
        assert errors(log, tmp_path) == set()
        change(log)
        assert errors(log, tmp_path) == {"INS218"}
    # A later solver may give another completion than the one that selected the choices.
    log["plan"]["steps"].append({"solver": "generate", "params": {}})
    assert errors(log, tmp_path) == set()


def _turn_into_missing(log: Log) -> None:
    """Make a wrong answer an unscored one."""
    sample = next(one for one in log["samples"] if one["scores"]["match"]["value"] == "I")
    sample["scores"]["match"]["value"] = float("nan")
    _, score, *_ = sample["events"]
    score["score"]["value"] = float("nan")


def test_a_scorer_of_the_harness_leaves_no_answer_unscored(tmp_path: Path) -> None:
    log = sound_log()
    _turn_into_missing(log)
    assert "INS218" in errors(log, tmp_path)


def test_a_scorer_of_one_s_own_may_leave_an_answer_unscored(tmp_path: Path) -> None:
    log = sound_log()
    _turn_into_missing(log)
    log["eval"]["scorers"][0]["name"] = "own/match"

    assert "INS218" not in errors(log, tmp_path)


@pytest.mark.parametrize("same", [True, False])
def test_a_sample_with_the_events_of_another_is_a_copy(same: bool, tmp_path: Path) -> None:
    log = sound_log()
    for place, sample in enumerate(log["samples"]):
        sample["events"][2]["uuid"] = "one" if same and place in {1, 3} else f"event{place}"
    report = _check(log, tmp_path)
    assert [one.pointer for one in report if one.code == "INS201"] == ["/samples/3"] * same


@pytest.mark.parametrize("target", ["5", "4"])
def test_epochs_have_one_target(target: str, tmp_path: Path) -> None:
    log = sound_log()
    first, second = (one for one in log["samples"] if one["id"] == 1)
    for sample, text in ((first, "4"), (second, target)):
        sample["target"] = text
        sample["events"][0]["sample"]["target"] = text
    found = [one for one in _check(log, tmp_path) if one.code == "INS220"]
    assert [one.severity.label for one in found] == ["warning"] * (target == "5")


def test_calls_that_no_sample_counts_are_found(tmp_path: Path) -> None:
    log = witnessed()
    log["stats"]["model_usage"] = _sample(log)["model_usage"] = {}
    assert "INS217" in errors(log, tmp_path)
    log["eval"]["packages"] = {"inspect_ai": "0.3.50"}
    events = _sample(log)["events"]
    assert "INS217" in errors(log, tmp_path)
    _sample(log)["events"] = [one for one in events if one["event"] != "span_begin"]
    for sample in log["samples"]:
        del sample["uuid"]
    assert "INS217" not in errors(log, tmp_path)


@each(
    ("scorer", "shown", "is_found"),
    [
        ("model_graded_qa", "GRADE: C", True),
        ("model_graded_qa", "GRADE: I", False),
        ("own_grader", "GRADE: C", False),
    ],
)
def test_a_grade_is_the_one_that_the_model_gave(
    scorer: str, shown: str, is_found: bool, tmp_path: Path
) -> None:
    log = sound_log()
    log["eval"]["scorers"][0]["name"] = scorer
    grade = {"id": "grade1", "role": "assistant", "content": "GRADE: I"}
    sample = log["samples"][0]
    sample["events"][2]["output"]["choices"] = [_choice(grade)]
    metadata = {"grading": [{**grade, "content": shown}]}
    sample["scores"] = {scorer: {"value": "C", "explanation": shown, "metadata": metadata}}
    found = [one.pointer for one in _check(log, tmp_path) if one.code == "INS215"]
    assert found == [f"/samples/0/scores/{scorer}/metadata/grading/0/content"] * is_found


@each(
    ("invalidated", "of_sample", "is_found"),
    [(True, False, True), (False, True, True), (False, False, False)],
)
def test_an_invalidated_log_is_a_warning(
    invalidated: bool, of_sample: bool, is_found: bool, tmp_path: Path
) -> None:
    log = sound_log()
    log["invalidated"] = invalidated
    if of_sample:
        log["samples"][1]["invalidation"] = {"timestamp": AT["timestamp"], "author": "a"}
    report = _check(log, tmp_path)
    found = [one.severity.label for one in report if one.code == "INS105"]
    assert found == ["warning"] * is_found


STOPS = [{"id": 2, "epoch": one, "reason": "enough"} for one in (1, 2)]


@each(
    ("results", "ids", "is_found"),
    [
        ({}, [1, 2], True),
        ({"early_stopping": {"manager": "m", "early_stops": STOPS, "metadata": {}}}, [1, 2], False),
        ({"early_stopping": {"manager": "m", "early_stops": [], "metadata": {}}}, [1, 2], True),
        ({"logged_samples": 2}, [1, 2], False),
        ({"logged_samples": 4}, [1, 2], True),
        ({}, None, True),
        ({"logged_samples": 2}, None, True),
    ],
)
def test_samples_that_no_stop_explains_are_missing(
    results: Log, ids: list[int] | None, is_found: bool, tmp_path: Path
) -> None:
    log = sound_log()
    log["samples"] = [one for one in log["samples"] if one["id"] == 1]
    log["results"] |= results
    log["eval"]["dataset"]["sample_ids"] = ids
    assert ("INS202" in errors(log, tmp_path)) is is_found


def test_samples_of_a_drained_run_are_missing_as_a_warning(tmp_path: Path) -> None:
    log = sound_log()
    log["samples"] = [one for one in log["samples"] if one["id"] == 1]
    log["results"]["logged_samples"] = 2
    report = _check(log, tmp_path)
    found = [one for one in report if one.code == "INS202"]
    assert [one.severity.label for one in found] == ["warning"]
    assert report.runs[0].remark == "samples were not run, as the log says, or were removed"


def _check(log: Log, folder: Path) -> evalstream.Report:
    path = folder / "run.json"
    path.write_text(json.dumps(log))
    return evalstream.check(path, max_findings=0)


@each("refs", [[[0, 1]], [[0, 1], [2, 3]], [[0, 4]]])
@pytest.mark.parametrize("name", ["events_data", "message_pool"])
def test_the_messages_of_a_call_are_kept_beside_the_events(
    refs: list[Any], name: str, tmp_path: Path
) -> None:
    log = witnessed()
    sample = _sample(log)
    event = next(one for one in sample["events"] if one["event"] == "model")
    kept, event["input"] = [*event["input"]] * refs[-1][-1], []
    event["input_refs"] = refs
    sample[name] = kept if name == "message_pool" else {"messages": kept, "calls": []}
    assert "INS208" not in errors(log, tmp_path)
    kept.pop()
    assert errors(log, tmp_path) == {"INS208"}
    event["input_refs"] = [None, [], 7, ["a"], [0, None]]
    assert "INS208" not in errors(log, tmp_path)
