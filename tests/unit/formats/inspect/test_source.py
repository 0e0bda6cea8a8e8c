"""What a log of Inspect gives to the comparison with what was converted from it."""

import gzip
import json
from collections.abc import Callable
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from each import each
from inspect_archive import HEADER, REDUCTIONS, START, members_of, packed, sound_log
from paths import EXAMPLES

from evalstream.formats.inspect.source import (
    InspectSource,
    _default,
    _models,
    open_source,
    score_number,
)
from evalstream.formats.inspect.source_members import (
    _stop_reason,
    _text,
    iterate_task_names,
    list_messages,
)
from evalstream.formats.inspect.views import LogView, SampleView
from evalstream.model.errors import CannotCheck
from evalstream.model.options import Options
from evalstream.model.source_log import SourceScore, Wanted

ANY = Wanted(frozenset(), None)
SAMPLE = "samples/1_epoch_1.json"


def opened(path: Path | str) -> InspectSource:
    """Open a log."""
    found = open_source(str(path), Options(), ANY)
    assert found is not None
    return found


def facts_of(path: Path | str) -> Any:
    """Return all that a log gives, but for places and the order of samples."""
    with closing(opened(path)) as log:
        samples = [one._replace(place="") for one in log.samples()]
        samples.sort(key=lambda one: (one.id, one.part))
        return log.results, log.stated, log.stated_of_run, log.models, samples


def write(path: Path, data: Any) -> Path:
    """Write a log as JSON, or the bytes of one."""
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return path


def test_a_log_says_the_same_however_it_is_stored(tmp_path: Path) -> None:
    log, members = sound_log(), members_of(sound_log())
    whole = facts_of(write(tmp_path / "log.json", log))
    assert [(one.id, one.part, one.default) for one in whole[-1]] == [
        ("1", "1", SourceScore(1.0, 1.0)),
        ("1", "2", SourceScore(1.0, 1.0)),
        ("2", "1", SourceScore(1.0, 0.5)),
        ("2", "2", SourceScore(0.0, 0.5)),
    ]
    archive = write(tmp_path / "log.eval", packed(members))
    assert facts_of(archive) == whole
    if find_spec("fsspec"):
        assert facts_of(archive.as_uri()) == whole
    again = [*members.items(), (SAMPLE, members[SAMPLE])]
    with pytest.warns(UserWarning, match="Duplicate name"):
        rewritten = packed([(SAMPLE, {"id": 9}), *again])
    assert facts_of(write(tmp_path / "rewritten.eval", rewritten)) == whole
    within = {**log, "results": {**log["results"], "sample_reductions": log["reductions"]}}
    del within["reductions"]
    compressed = gzip.compress(json.dumps(within).encode())
    assert facts_of(write(tmp_path / "within.json.gz", compressed)) == whole


def test_newer_readers_fill_in_what_was_passed_to_a_step(tmp_path: Path) -> None:
    log = sound_log()
    log["plan"]["steps"] = [{"solver": "generate", "params": {"cache": True}}]
    steps = "generation_config/generation_args/eval_plan/steps"
    with closing(opened(write(tmp_path / "log.json", log))) as source:
        given = source.stated[steps]
    (step,) = log["plan"]["steps"]
    passed = {"params_passed": step["params"]}
    assert [step] in given
    assert [step | passed] in given


def test_a_run_that_did_not_end_has_no_results(tmp_path: Path) -> None:
    members = members_of(sound_log())
    del members[HEADER], members[REDUCTIONS]
    with closing(opened(write(tmp_path / "log.eval", packed(members)))) as log:
        assert log.results is None
        assert [one.default.reduced for one in log.samples()] == [None] * 4


def without(*names: str) -> Callable[[dict[str, Any]], Any]:
    return lambda members: [members.pop(name) for name in names]


@each(
    ("change", "reason"),
    [
        (without(HEADER, START), "has neither header.json nor _journal/start.json"),
        (without(), "the end of the archive is missing"),
        (lambda some: some[HEADER].update(version=9), "unknown version 9"),
        (lambda some: some[HEADER].pop("eval"), "not a log of Inspect"),
        (lambda some: some.update({SAMPLE: b"{"}), "samples/1_epoch_1.json is not valid JSON"),
        (lambda some: some.update({SAMPLE: b"[]"}), "samples/1_epoch_1.json is not a sample"),
    ],
)
def test_an_archive_that_cannot_be_read_is_not_compared(
    change: Callable[[dict[str, Any]], Any], reason: str, tmp_path: Path
) -> None:
    members = members_of(sound_log())
    change(members)
    data = packed(members)
    path = write(tmp_path / "log.eval", data[:-50] if "end" in reason else data)
    with pytest.raises(CannotCheck, match=reason), closing(opened(path)) as log:
        list(log.samples())


def test_a_damaged_member_is_not_compared(tmp_path: Path) -> None:
    data = packed(members_of(sound_log()), method=0)
    place = data.index(b"What is 2 + 2?", data.index(SAMPLE.encode()))
    path = write(tmp_path / "log.eval", data[:place] + b"w" + data[place + 1 :])
    with pytest.raises(CannotCheck, match="damaged"), closing(opened(path)) as log:
        list(log.samples())


@each(
    ("samples", "reason"),
    [
        ('[{"id": 1}, {"id"', "it cannot be read"),
        ('[{"epoch": 1}]}', "sample 1 is not a sample"),
        ('[{"id": 1}, {"id": 2, "a": 01}]}', "an element is not valid JSON"),
        ('[{"id": 1}, 7]}', "sample 2 is not a sample"),
    ],
)
def test_a_document_that_cannot_be_read_is_not_compared(
    samples: str, reason: str, tmp_path: Path
) -> None:
    log = {name: one for name, one in sound_log().items() if name != "samples"}
    text = f'{json.dumps(log)[:-1]}, "samples": {samples}'
    path = write(tmp_path / "log.json", text.encode())
    with pytest.raises(CannotCheck, match=reason), closing(opened(path)) as source:
        list(source.samples())


def test_other_paths_are_no_log(tmp_path: Path) -> None:
    assert open_source(str(tmp_path), Options(), ANY) is None
    assert open_source(str(EXAMPLES / "run.jsonl"), Options(), ANY) is None


@each(
    ("reductions", "reduced"),
    [
        ([{"sample_id": 1, "value": 0.25}], 0.25),
        ([{"sample_id": 1, "value": 0.5}, {"sample_id": 1, "value": "C"}], 1.0),
        ([{"sample_id": 1, "value": None}], None),
        ([{"value": 0.25}], None),
        ([{"sample_id": None, "value": 0.25}], None),
        ([{"sample_id": 2, "value": 0.25}], None),
    ],
)
def test_the_last_reduced_score_of_a_sample_counts(
    reductions: list[Any], reduced: float | None, tmp_path: Path
) -> None:
    log = sound_log() | {"reductions": [{"scorer": "match", "samples": reductions}]}
    with closing(opened(write(tmp_path / "log.json", log))) as source:
        first = next(iter(source.samples()))
    assert first.scores == {"match": SourceScore(1.0, reduced)}
    assert first.default == SourceScore(1.0, reduced)


@each(
    ("own", "reduced", "expected"),
    [
        ({}, {}, (None, None)),
        ({"a": None, "b": 0.0, "c": 1.0}, {}, (0.0, None)),
        ({"a": 1.0, "b": 0.0}, {"b": 0.0}, (1.0, 0.0)),
        ({"a": 1.0}, {"other": 0.25}, (1.0, 0.25)),
        ({"a": 1.0}, {"other": 0.25, "more": 0.25}, (1.0, 0.25)),
        ({"a": 1.0}, {"other": 0.25, "more": 0.5}, (1.0, None)),
        ({"a": 1.0}, {"other": 0.25, "a": 0.5}, (1.0, 0.5)),
    ],
)
def test_a_row_that_names_no_result_has_the_first_score_and_its_reduced_one(
    own: dict[str, float | None],
    reduced: dict[str, float],
    expected: tuple[float | None, float | None],
) -> None:
    assert _default(own, reduced) == expected


@each(
    ("value", "number"),
    [
        (True, 1.0),
        (0.5, 0.5),
        (None, None),
        ([1], None),
        (" C ", 1.0),
        ("p", 0.5),
        ("yes", 1.0),
        ("False", 0.0),
        (" 0.25 ", 0.25),
        ("so so", None),
    ],
)
def test_values_of_scores_are_numbers_as_the_harness_takes_them(
    value: Any, number: float | None
) -> None:
    assert score_number(value) == number


@each(
    ("path", "answered", "spelling"),
    [
        ("openai/gpt-x", None, "gpt-x"),
        ("ollama/llama3:8b", None, "llama3-8b"),
        ("ollama/llama3:8b", None, "ollama/llama3-8b"),
        ("openai/gpt-x", "gpt-x-2026", "openai/gpt-x-2026"),
        ("bedrock/acme.acorn-v1", None, "acorn"),
        ("anthropic/claude-3-5-haiku-20241022", None, "claude-3-5-haiku@20241022"),
        ("anthropic/claude-3-5-haiku", None, "claude-3-5-haiku@00000000"),
    ],
)
def test_a_model_has_the_spellings_of_converters(
    path: str, answered: str | None, spelling: str
) -> None:
    found = _models(path, answered)
    assert {path, spelling} <= found
    assert not _models(None, None)


@each(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([], None),
        ([{"type": "image", "image": "x"}], None),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "image"}], "b"),
        ([{"type": "text", "text": 7}], None),
        ([{"type": "text"}, "b"], None),
        (7, None),
    ],
)
def test_the_last_text_of_a_content_is_its_text(content: Any, text: str | None) -> None:
    assert _text(content) == text


@each(
    ("content", "spellings"),
    [
        (None, (None,)),
        ("plain", ("plain",)),
        ([{"type": "text", "text": "<think>a</think>b"}], ("<think>a</think>b", "b")),
    ],
)
def test_a_message_has_its_text_in_all_spellings(
    content: Any, spellings: tuple[str | None, ...]
) -> None:
    view = SampleView({"messages": [{"role": "user", "content": content}]}, "")
    ((role, members),) = list_messages(view)
    assert (role, members["content"]) == ("user", spellings)


@each(
    ("choices", "spellings"),
    [
        (None, ("", "unknown", None)),
        ([], ("", "unknown", None)),
        ([{"message": {}}, {"stop_reason": "stop"}], ("", "unknown", None)),
        ([{"stop_reason": "stop"}, {"stop_reason": "length"}], ("stop",)),
        ([{"stop_reason": "length"}], ("length", "max_tokens")),
    ],
)
def test_the_reason_of_the_first_choice_is_that_of_a_sample(
    choices: Any, spellings: tuple[str | None, ...]
) -> None:
    assert _stop_reason({"output": {"choices": choices}}) == spellings


@each(
    ("names", "found"),
    [
        (("arithmetic",), ["arithmetic", "arithmetic"]),
        (("acme/sums",), ["acme/sums", "sums"]),
        (("acme/sums", "Sums"), ["Sums", "Sums", "acme/sums", "sums"]),
    ],
)
def test_a_task_is_called_by_its_names_and_their_last_parts(
    names: tuple[str, ...], found: list[str]
) -> None:
    log = sound_log()
    log["eval"] |= dict(zip(("task", "task_display_name"), names, strict=False))
    assert list(iterate_task_names(LogView(log, "", None))) == found  # type: ignore[arg-type]
