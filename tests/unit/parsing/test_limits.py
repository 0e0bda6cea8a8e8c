"""Documents that are too large for memory or patience: bounded, and told by their bound."""

import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from commands import SECONDS
from depth import examples
from each import each
from hypothesis import given
from hypothesis import strategies as st
from rows import aggregate_of, bounded, bytes_of, sound_rows, write_run

import evalstream
from evalstream.formats.eee import aggregate_check
from evalstream.io import inputs
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import MORE, Violation
from evalstream.model.signals import STOPPING, Stopped
from evalstream.parsing import limits, schema_errors, yaml
from evalstream.parsing.limits import FindingLimiter, TooLarge, limit_findings, refuse_many_values
from evalstream.parsing.schema_files import builtin_schema, builtin_validator, schema_documents
from evalstream.parsing.strict_json import parse_exactly
from evalstream.parsing.yaml import read_yaml

ROWS = bytes_of(sound_rows())


def counts_of(value: Any) -> tuple[int, int]:
    """Count values one by one: texts in lists apart from all others."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    values, texts = 1, 0
    for one in inner:
        if isinstance(value, list) and isinstance(one, str):
            texts += 1
        else:
            values, texts = (a + b for a, b in zip((values, texts), counts_of(one), strict=True))
    return values, texts


JSON = st.recursive(
    st.none() | st.integers() | st.text('[]{},\\"ab '),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('[{,"'), inner),
    max_leaves=30,
)


@bounded(max_examples=examples(300))
@given(JSON, st.integers(1, 40), st.integers(1, 40), st.sampled_from([None, 1]))
def test_values_are_counted_exactly(
    value: Any, most: int, most_texts: int, indent: int | None
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False).encode(errors="replace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MOST_JSON_VALUES", most)
        patch.setattr(limits, "MOST_JSON_TEXTS", most_texts)
        values, texts = counts_of(value)
        if values > most or texts > most_texts:
            with pytest.raises(TooLarge, match="values" if values > most else "texts in lists"):
                refuse_many_values(text)
        else:
            refuse_many_values(text)


@given(st.text('"\\[{,ab', max_size=60))
def test_what_is_no_json_is_counted_in_no_time(text: str) -> None:
    refuse_many_values(text.encode())


def test_strings_without_an_end_take_linear_time() -> None:
    # In a time that grows with the square this would not end.
    refuse_many_values(b'"\\"' * 800_000 + b"," * 300_000)


def test_very_many_strings_are_counted_exactly_in_little_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = 30_000
    text = json.dumps({f'"[{number}': "{,\\" for number in range(count)}).encode()
    refuse_many_values(text)  # compiles the patterns
    monkeypatch.setattr(limits, "MOST_JSON_VALUES", count + 1)
    tracemalloc.start()
    refuse_many_values(text)
    assert tracemalloc.get_traced_memory()[1] < 2 * len(text)
    tracemalloc.stop()
    monkeypatch.setattr(limits, "MOST_JSON_VALUES", count)
    with pytest.raises(TooLarge, match="more than 30,000 values"):
        refuse_many_values(text)


DOCUMENTS = {
    "eee": lambda path, rows: {"inputs": rows, "aggregate": path},
    "evalguard": lambda path, _: {"inputs": path, "input_format": "evalguard"},
    "infereval": lambda path, _: {"inputs": path, "input_format": "infereval"},
    "harpia": lambda path, rows: {
        "inputs": rows.with_name("log.jsonl"),
        "inputs_file": path,
        "input_format": "harpia",
    },
}


@each("input_format", DOCUMENTS)
@pytest.mark.parametrize("kind", ["values", "bytes"])
def test_a_document_that_is_too_large_is_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, input_format: str, kind: str
) -> None:
    rows, _ = write_run(tmp_path, ROWS)
    (tmp_path / "log.jsonl").write_text('{"instance_id": "1", "metric": {"name": "m"}}\n')
    path = tmp_path / "large.json"
    if kind == "values":
        path.write_text(json.dumps({"items": [], "id": "b", "metrics": [0] * 600_000}))
    else:
        path.write_text(json.dumps({"items": [], "id": "b", "version": "x" * 9_000_000}))
        monkeypatch.setitem(inputs.document_bytes.__kwdefaults__, "most", 8 << 20)
        monkeypatch.setattr("evalstream.formats.evalguard.document.LARGEST_DOCUMENT", 8 << 20)
        monkeypatch.setattr("evalstream.formats.infereval.files.MOST_JSON_BYTES", 8 << 20)
    report = evalstream.check(**DOCUMENTS[input_format](path, rows))
    run = report.runs[0]
    assert (report.exit_code, run.verdict) in ((3, "incomplete"), (3, "failed"), (1, "failed"))
    said = " ".join(finding.message for finding in report) + (run.incomplete_reason or "")
    assert ("500,000 values" if kind == "values" else " MiB") in said or input_format == "infereval"
    assert run.verdict != "passed"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_device_without_an_end_is_read_up_to_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    if not os.path.exists(device):
        pytest.skip("no such device here")
    rows, _ = write_run(tmp_path, ROWS)
    monkeypatch.setitem(inputs.document_bytes.__kwdefaults__, "most", 4 << 20)
    monkeypatch.setattr("evalstream.formats.infereval.files.MOST_JSON_BYTES", 4 << 20)
    report = evalstream.check(rows, aggregate=device)
    assert (report.exit_code, report.counts.get("ES001")) == (3, 1)
    assert "larger than 4 MiB" in (report.runs[0].incomplete_reason or "")
    report = evalstream.check(device, input_format="infereval")
    assert report.exit_code == 3


BEGIN = "import os; from evalstream import __main__; os.write(1, b'x'); __main__.main()"


def test_a_pipe_that_nobody_writes_to_hears_a_signal(tmp_path: Path) -> None:
    """The check says when signals are answered; however far it comes then, it must hear them."""
    rows, _ = write_run(tmp_path, ROWS)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [sys.executable, "-c", BEGIN, "check", str(rows), "--aggregate", str(pipe)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"x"
        time.sleep(1)  # most likely it opens the pipe now
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130


def with_results(count: int) -> dict[str, Any]:
    """Return an aggregate whose results all lack everything."""
    document: dict[str, Any] = aggregate_of("0.2.0", ROWS, 8, "rows.jsonl")
    return {**document, "evaluation_results": [{}] * count}


def test_very_many_findings_hear_a_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "many.json"
    path.write_text(json.dumps(with_results(10 * schema_errors.PART)))
    monkeypatch.setattr(STOPPING, "raised", None)
    monkeypatch.setattr(STOPPING, "_received", None)
    explain, explained = aggregate_check.explain_schema, []

    def explain_then_stop(errors: Any, **named: Any) -> Any:
        explained.append(len(errors))
        if len(explained) == 3:
            monkeypatch.setattr(STOPPING, "_received", signal.SIGINT)
        return explain(errors, **named)

    monkeypatch.setattr(aggregate_check, "explain_schema", explain_then_stop)
    with pytest.raises(Stopped):
        evalstream.check(path)
    assert len(explained) == 3


def test_findings_are_held_up_to_a_bound_and_counted_beyond(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MOST_OF_A_KIND", 50)
    path = tmp_path / "many.json"
    path.write_text(json.dumps(with_results(1300)))
    report = evalstream.check(path, max_findings=0)
    members = builtin_schema("eee/0.2.0/aggregate")["properties"]["evaluation_results"]
    assert report.counts["ES201"] == 1300 * len(members["items"]["required"])
    missing = [finding for finding in report if finding.code == "ES201"]
    assert len(missing) == 51
    assert sum(finding.occurrences for finding in missing) == report.counts["ES201"]
    assert missing[0].pointer == "/evaluation_results/0"
    assert missing[-1].message == MORE


def test_the_first_of_each_kind_are_held() -> None:
    one, other = Violation("ES201", "x"), Violation("ES202", "x", count=3)
    held = FindingLimiter()
    assert all(held.takes(one) for _ in range(limits.MOST_OF_A_KIND))
    assert held.takes(other)
    assert not held.takes(one)
    assert [(file, violation.code, violation.count) for file, violation in held.rest()] == [
        (None, "ES201", 1)
    ]
    assert list(limit_findings([one, other])) == [one, other]


@each("name", schema_documents())
def test_our_schemas_ask_nothing_of_lists_as_a_whole(name: str) -> None:
    try:
        schema = builtin_schema(name)
    except CannotCheck:
        pytest.skip("needs PyYAML")
    whole = {"maxItems", "uniqueItems", "contains", "minContains", "maxContains", "prefixItems"}
    for member in schema.get("properties", {}).values():
        assert not whole & member.keys()
        assert member.get("minItems", 0) <= 1
    for keyword in ("allOf", "anyOf", "oneOf", "if", "dependentSchemas"):
        if keyword in schema:
            assert "evaluation_results" not in json.dumps(schema[keyword])


@each("part", [1, 3, 500])
def test_lists_in_parts_have_the_violations_of_the_whole(
    monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    document = json.loads(json.dumps(aggregate_of("0.2.0", ROWS, 8, "rows.jsonl")))
    (result,) = document["evaluation_results"]
    spoiled: list[Any] = [{}, result, 7, {**result, "source_data": {}}, None]
    spoiled += [{**result, "metric_config": {"score_type": "levels"}}, result, {"x": []}]
    document["evaluation_results"] = spoiled
    del document["evaluation_id"]
    validator = builtin_validator("eee/0.2.0/aggregate")
    monkeypatch.setattr(schema_errors, "PART", part)
    parts = list(schema_errors.error_parts(validator, document))
    assert len(parts) == max(1, -(-len(spoiled) // part))
    found = [violation for some in parts for violation in some]
    assert sorted(map(repr, found)) == sorted(map(repr, validator.errors(document)))


@each(
    "text",
    [
        "a: [" + "x, " * 25_000 + "]\n",
        "".join(f"k{number}: 1\n" for number in range(15_000)),
        "a: " + "x" * (9 << 20),
        "a: &a [" + "1, " * 5_000 + "]\nb: [*a, *a, *a, *a, *a]\n",
    ],
    ids=["nodes", "members", "bytes", "aliases"],
)
def test_yaml_is_read_up_to_its_bounds(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml, "MOST_YAML_NODES", 20_000)
    try:
        said = " ".join(issue.message for issue in read_yaml(text.encode(), 200).issues)
    except TooLarge as error:
        said = str(error)
    assert "20,000 nodes" in said or "8 MiB" in said


def test_yaml_above_a_bound_does_not_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml, "MOST_YAML_NODES", 20_000)
    path = tmp_path / "task.yaml"
    path.write_text("a: [" + "x, " * 25_000 + "]\n")
    report = evalstream.check(path, input_format="evalguard")
    assert report.exit_code in (1, 3)
    assert report.runs[0].verdict != "passed"


def test_long_strings_take_linear_time_and_no_memory_beside_their_text() -> None:
    before = time.process_time()
    parsed = parse_exactly(b'{"a": [[["' + b"x" * 20_000_000 + b'"]]]}', 2)
    assert [issue.name for issue in parsed.issues] == ["too-deep-or-too-big"]
    assert time.process_time() - before < 8


@pytest.mark.parametrize("opens", ["[", '{"a":'])
@each("input_format", ["eee", "infereval", "benchmark"])
def test_what_is_nested_deeper_than_the_schema_can_follow_is_told(
    tmp_path: Path, opens: str, input_format: str
) -> None:
    deep = opens * 300 + "1" + {"[": "]"}.get(opens, "}") * 300
    path = tmp_path / "deep.json"
    document: dict[str, Any] = aggregate_of("0.2.0", ROWS, 8, "rows.jsonl")
    if input_format == "infereval":
        document = {"benchmark_id": "b", "framework_version": "1", "items": [{"id": "@"}]}
    elif input_format == "benchmark":
        document = {"id": "b", "version": "1", "items": [{"id": "@"}]}
    path.write_text(json.dumps({**document, "source_metadata": "@"}).replace('"@"', deep))
    named = "eee" if input_format == "eee" else "infereval"
    report = evalstream.check(path, input_format=named, max_depth=10**7)
    assert report.runs[0].verdict != "passed"
    assert report.counts.get("ES113") or report.exit_code == 3
