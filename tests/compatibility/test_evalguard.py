"""Tests of EvalGuard: the corpus, folders and single documents, and hostile ones."""

import io
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import command, run_command
from corpus import CORPUS, expectations, needs_corpus
from depth import deep, examples, some
from each import each
from edits.evalguard import Loader
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from paths import CORPUS_LOGS, EXAMPLES, SCHEMAS, SHARED
from recognition import read_beginning, shown
from rows import at, places
from schema_texts import descriptions, spelled, stripped

import evalstream
from evalstream.formats.evalguard.format import FORMAT
from evalstream.formats.evalguard.format import SCHEMAS as SCHEMAS_OF
from evalstream.formats.evalguard.rules.documents import climbs, is_absolute
from evalstream.model.errors import UsageError
from evalstream.model.finding import Finding, Severity
from evalstream.model.report import Report
from evalstream.parsing.schema_files import builtin_schema, builtin_validator

EXAMPLE = EXAMPLES / "evalguard"
REFERENCES = SHARED / "reference-schemas" / "evalguard"
REAL = CORPUS / "evalguard"
EXPECTED = expectations("evalguard/expected.json")
METRIC = "id: m\nname: M\ndirection: higher_is_better\n"

Said = Counter[tuple[str, str, str]]
"""What is wrong: a word of the corpus for it, the file, and where or what in it."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of the example."""
    return Path(shutil.copytree(EXAMPLE, tmp_path / "folder"))


def check(path: Path | str, **options: Any) -> Report:
    """Check a folder or a document as EvalGuard's."""
    return evalstream.check(path, input_format="evalguard", **options)


def codes(report: Report, *, least: Severity = Severity.WARNING) -> list[str]:
    """Return the codes of what is wrong, in order.

    The report of the example has no rows, which ES805 says and tests of its own show.
    """
    return [one.code for one in report if one.severity >= least and one.code != "ES805"]


def metric(folder: Path, text: str | bytes, name: str = "m.yaml") -> list[Finding]:
    """Return the findings on a metric document with some text, in a folder of its own."""
    place = folder / "metrics" / name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(text.encode() if isinstance(text, str) else text)
    report = check(folder)
    assert report.exit_code == (1 if codes(report, least=Severity.ERROR) else 0)
    return list(report)


NOTES = {
    "EVG203": "note: metric is not among the metrics of the task",
    "EVG205": "note: id differs from file name",
    "EVG302": "note: gap between ranges",
}
PROBLEMS = {
    "EVG102": "empty-range",
    "EVG201": "task-names-unknown-metric",
    "EVG202": "threshold-names-unknown-task",
    "EVG203": "threshold-names-unknown-metric",
    "EVG204": "task-in-several-threshold-files",
    "EVG205": "repeated-task-id",
    "EVG301": "overlapping-ranges",
}


def told(report: Report, root: Path) -> Said:
    """Return findings in the words of the corpus."""
    said: Said = Counter()
    for finding in report:
        file = Path(finding.file).relative_to(root).as_posix()
        words = PROBLEMS if finding.severity is Severity.ERROR else NOTES
        word = words.get(finding.code) or PROBLEMS.get(finding.code, finding.code)
        what = str(finding.found or "")
        if finding.code == "EVG101":
            word, what = schema_word(finding)
        if finding.code in ("EVG102", "EVG203", "EVG301", "EVG302"):
            what = (finding.pointer or "").removeprefix("/thresholds/")
        if finding.code == "EVG301":
            name, other = what.partition("/")[0], finding.message.rpartition(" ")[2]
            what = " and ".join(sorted((what, f"{name}/{other}")))
        said[word, file, what] += 1
    return said


def schema_word(finding: Finding) -> tuple[str, str]:
    """Return what the corpus calls a finding about the shape of a document.

    Upstream's schemas forbid unknown members. The specification asks to handle them gracefully
    (section 3.3), so they are a warning, and all else that a schema forbids an error.
    """
    if finding.keyword is not None:
        is_unknown = finding.keyword == "additionalProperties"
        assert finding.severity is (Severity.WARNING if is_unknown else Severity.ERROR)
    if finding.keyword == "pattern":
        return "bad-id", str(finding.found)
    if finding.keyword is None:
        return ("legacy" if finding.pointer else "not-yaml"), finding.pointer or ""
    return "schema", f"{finding.pointer} {finding.keyword}"


def expected(pairs: Iterable[Any]) -> Said:
    """Return expectations with gaps named alike, by their metric."""
    said: Said = Counter()
    for word, file, what in pairs:
        if word == "note: gap between ranges":
            said[word, file, what.partition(":")[0]] += 1
        else:
            said[word, file, what] += 1
    return said


def agreed(said: Said, want: Said) -> tuple[Said, Said]:
    """Return what only we say and what only the corpus says, named classes left out."""
    for excused in (
        _label,
        _range_without_bound,
        _text_for_list,
        _repeated_key,
        _no_is_a_text,
        _direction,
    ):
        excused(said, want)
    return +(said - want), +(want - said)


def _label(said: Said, want: Said) -> None:
    """A label is accepted in the place of impact: a warning for two breaches of the schema."""
    for word, file, what in list(said):
        if word == "legacy":
            place = what.removesuffix("/label")
            del said[word, file, what]
            for keyword in ("additionalProperties", "required"):
                want["schema", file, f"{place} {keyword}"] -= 1


def _range_without_bound(said: Said, want: Said) -> None:
    """A range without limits is one finding, EVG102; a null limit by the schema alone."""
    for word, file, what in list(want):
        if word == "range-without-bound":
            del want[word, file, what]
            place = f"/thresholds/{what}"
            if want.pop(("schema", file, f"{place} required"), 0):
                want["empty-range", file, what] += 1


def _text_for_list(said: Said, want: Said) -> None:
    """A text in the place of a list has no items: its letters are not ids of metrics."""
    if said["schema", "tasks/bbq.yaml", "/metrics type"]:
        for what in "ac":
            want.pop(("task-names-unknown-metric", "tasks/bbq.yaml", what), None)


def _repeated_key(said: Said, want: Said) -> None:
    """A key that is written twice leaves no trace in the reference; we say it."""
    said.pop(("ES107", "tasks/bbq.yaml", ""), None)


def _direction(said: Said, want: Said) -> None:
    """Whether impacts follow the metric's direction is nothing that the reference looks at."""
    for word, file, what in list(said):
        if word == "EVG303":
            del said[word, file, what]


def _no_is_a_text(said: Said, want: Said) -> None:
    """The reference reads YAML 1.1, in which `no` is false; the format is YAML 1.2.

    The task is then named `no` in a file that is not.
    """
    if (
        want["schema", "tasks/bbq.yaml", "/id type"]
        and not said["schema", "tasks/bbq.yaml", "/id type"]
    ):
        del want["schema", "tasks/bbq.yaml", "/id type"]
        said.pop(("note: id differs from file name", "tasks/bbq.yaml", "no"), None)


@needs_corpus
@pytest.mark.parametrize("snapshot", EXPECTED.get("snapshots", []), ids=lambda one: one["snapshot"])
def test_configurations_have_the_problems_that_upstream_finds(snapshot: Any) -> None:
    root = REAL / snapshot["snapshot"]
    report = check(root)
    said, want = agreed(told(report, root), expected(snapshot["problems"] + snapshot["notes"]))
    assert (said, want) == (Counter(), Counter())
    counted = snapshot["tasks"] + snapshot["metrics"] + snapshot["thresholds"]
    assert report.runs[0].rows == counted


@cache
def said_before_changes() -> Said:
    """Return the findings on the configuration that the mutants change."""
    root = REAL / EXPECTED["mutants_of"]
    return told(check(root), root)


@needs_corpus
@each("mutant", some(EXPECTED.get("mutants", []), 24), ids=lambda one: one["change"])
def test_mutants_have_the_problems_that_upstream_finds(mutant: Any, tmp_path: Path) -> None:
    root = Path(shutil.copytree(REAL / EXPECTED["mutants_of"], tmp_path / "config"))
    before = said_before_changes()
    for name, text in mutant["write"].items():
        (root / name).write_text(text, encoding="utf-8")
    for name in mutant["delete"]:
        (root / name).unlink()
    after = told(check(root), root)
    gone = before - after
    said, want = agreed(after - before, expected(mutant["new_problems"]))
    assert (said, want) == (Counter(), Counter())
    assert +gone == expected(mutant["problems_gone"])


@needs_corpus
@each("real", EXPECTED.get("reports", []), ids=lambda one: one["file"][-70:])
def test_real_reports_are_interpreted(real: Any) -> None:
    report = check(REAL / real["file"], aggregate=REAL / "config-3f3b6f5", max_findings=0)
    own = [finding for finding in report if finding.file.endswith(".json")]
    # Raw output is accepted as a report, which one finding says.
    assert not real["valid_as_report"]
    assert [one.severity for one in own if one.code == "EVG101"] == [Severity.INFO]
    assert report.exit_code == 0
    values = {one.pointer: one for one in own if one.code == "EVG402"}
    for task, known in real["tasks"].items():
        for name, value in known["metrics"].items():
            finding = values.pop(f"/results/{task}/{name}")
            assert finding.found == value["value"]
            assert all(f"impact {impact}" in finding.message for impact in value["impact"])
    assert not values


@each("kind", SCHEMAS_OF)
def test_schemas_are_valid_and_explain_themselves(kind: str) -> None:
    schema = builtin_schema(f"evalguard/v1/{kind}")
    Draft202012Validator.check_schema(schema)
    assert schema["title"].startswith("EvalGuard v1 ")
    texts = list(descriptions(schema))
    assert all(text.endswith(".") and text == text.strip() for text in texts if text)
    silent = [name for name, part in schema["properties"].items() if not part.get("description")]
    assert silent == []


@each("kind", SCHEMAS_OF)
def test_schemas_equal_the_references(kind: str) -> None:
    # The references are those of the specification, which has neither policies nor models.
    if kind.endswith("_response") or not (REFERENCES / f"{kind}.schema.yaml").is_file():
        pytest.skip("the reference schema is not kept in the repository")
    reference = yaml.safe_load((REFERENCES / f"{kind}.schema.yaml").read_bytes())
    assert spelled(stripped(builtin_schema(f"evalguard/v1/{kind}"))) == spelled(reference)


def whole(schema: Any, definitions: Any) -> Any:
    """Return a schema with its own definitions, and those of small files, in their places.

    Documents in a response are checked by their own schemas.
    """
    if isinstance(schema, list):
        return [whole(one, definitions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if reference is None:
        return {key: whole(value, definitions) for key, value in schema.items()}
    if reference.startswith("#"):
        return whole(definitions[reference.rpartition("/")[2]], definitions)
    name = reference.removeprefix("./")
    if name in ("report.schema.yaml", "threshold.schema.yaml"):
        return {"type": "object"}
    found = yaml.safe_load((REFERENCES / name).read_bytes())
    return {key: value for key, value in found.items() if not key.startswith("$")}


@pytest.mark.skipif(not REFERENCES.is_dir(), reason="needs the reference schemas")
@each(
    ("ours", "theirs"),
    [
        ("reports_response", "report_list"),
        ("thresholds_response", "thresholds_response"),
        ("error_response", "error"),
        ("models_response", "model_info"),
    ],
)
def test_schemas_of_responses_equal_the_references(ours: str, theirs: str) -> None:
    schema = stripped(builtin_schema(f"evalguard/v1/{ours}"))
    definitions = schema.pop("definitions", {})
    reference = yaml.safe_load((REFERENCES / f"{theirs}.schema.yaml").read_bytes())
    if theirs == "model_info":
        schema, reference = definitions["ModelInfo"], whole({**reference, "$ref": None}, {})
    for one in (schema, reference):
        for name in ("$schema", "$id", "$ref"):
            one.pop(name, None)
    assert spelled(whole(schema, definitions)) == spelled(whole(reference, {}))


@pytest.mark.parametrize("engine", ["rust", "portable"])
def test_engines_agree_on_the_example(engine: str, folder: Path) -> None:
    (folder / "thresholds" / "sums.yaml").write_text("task: 5\nthresholds: {a: [{min: x}, 1]}\n")
    shown = [(one.file, one.code, one.pointer, one.keyword) for one in check(folder, engine=engine)]
    assert shown == [(one.file, one.code, one.pointer, one.keyword) for one in check(folder)]
    assert builtin_validator("evalguard/v1/report", engine).fits({})


def test_the_example_is_sound_and_recognised() -> None:
    report = evalstream.check(EXAMPLE)
    (run,) = report.runs
    assert (report.exit_code, run.verdict, run.format, run.version) == (
        0,
        "unconfirmed",
        "evalguard",
        "v1 (specification)",
    )
    assert run.rows == 7
    assert set(report.counts) == {"ES805", "EVG402"}


def test_findings_are_ordered_and_the_same_every_time(folder: Path) -> None:
    (folder / "metrics" / "accuracy.yaml").unlink()
    report = check(folder)
    assert [one.as_dict() for one in report] == [one.as_dict() for one in check(folder)]
    for file in {one.file for one in report}:
        order = [one.order() for one in report if one.file == file]
        assert order == sorted(order)


@each("name", ["no", "yes", "on", "2025-01-01", "1_000", "1_0e3"])
def test_ids_stay_what_is_written(name: str, tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    task = f"id: {name}\nname: x\nmetrics: [{name}]\n"
    (tmp_path / "tasks" / f"{name}.yaml").write_text(task)
    (tmp_path / "thresholds").mkdir()
    thresholds = f"task: {name}\nthresholds:\n  {name}: []\n"
    (tmp_path / "thresholds" / f"{name}.yml").write_text(thresholds)
    assert metric(tmp_path, METRIC.replace("id: m", f"id: {name}"), f"{name}.yaml") == []


@each(
    ("written", "kind"),
    [
        ("5", "integer"),
        ("-0", "integer"),
        ("0o17", "integer"),
        ("0x1F", "integer"),
        ("1.10", "number"),
        ("1e3", "number"),
        ("true", "boolean"),
        ("", "null"),
    ],
)
def test_ids_that_are_no_texts_are_errors(written: str, kind: str, tmp_path: Path) -> None:
    (finding,) = metric(tmp_path, METRIC.replace("id: m", f"id: {written}"))
    assert (finding.code, finding.pointer, finding.line) == ("EVG101", "/id", 1)
    assert finding.message.startswith(kind)
    quoted = written not in ("5", "true", "")
    assert (f"reads {written} as a number" in finding.message) == quoted
    sound = metric(tmp_path, METRIC.replace("id: m", 'id: "m"').replace("M", f'"{written}"'))
    assert sound == []


def test_an_octal_of_yaml_1_1_is_one_error(tmp_path: Path) -> None:
    (finding,) = metric(tmp_path, METRIC.replace("id: m", "id: 0777"))
    assert (finding.code, finding.pointer, finding.line) == ("EVG101", "/id", 1)
    assert finding.message.startswith("0777 is 777 in YAML 1.2")


@each("name", ["a b", "v1.0", "é", "a\\n", ""])
def test_ids_are_identifiers(name: str, tmp_path: Path) -> None:
    found = metric(tmp_path, METRIC.replace("id: m", f'id: "{name}"'))
    assert [(one.code, one.keyword) for one in found if one.severity is Severity.ERROR] == [
        ("EVG101", "pattern")
    ]


@each(
    ("text", "code", "line"),
    [
        (b"\xef\xbb\xbf" + METRIC.encode(), "ES102", 1),
        (METRIC.encode("utf-16"), "ES102", 1),
        (METRIC + "tags: [\xff", "EVG101", 4),
        (METRIC.encode() + b"tags: [\xff]\n", "ES101", 4),
        (METRIC + "tags: [a\0]\n", "ES106", 4),
        (METRIC + "name: again\n", "ES107", 4),
        (METRIC + "description: '1e999'\n", None, None),
        (METRIC + "description: 1e999\n", "ES108", 4),
        (METRIC + "type: .nan\n", "ES108", 4),
        (METRIC + "tags: " + "[" * 300, "ES113", 4),
        ("", "EVG101", 1),
        ("- a\n", "EVG101", 1),
        (METRIC + "---\n" + METRIC, "EVG101", 4),
        (METRIC + "<<: {type: score}\n", "EVG101", 4),
        (METRIC + "tags: !!python/tuple [a]\n", "EVG101", 4),
        ("%YAML 1.1\n---\n" + METRIC, "EVG101", 1),
    ],
)
def test_texts_are_refused_where_they_are_wrong(
    text: str | bytes, code: str | None, line: int | None, tmp_path: Path
) -> None:
    found = metric(tmp_path, text)
    assert [(one.code, one.line) for one in found] == ([] if code is None else [(code, line)])


@each(
    ("text", "code"),
    [
        (b"", "ES103"),
        (b'{"id": "m", "id": "m", "name": "M", "direction": "higher_is_better"}', "ES107"),
        (b'{"id": "m", "name": "\\ud800", "direction": "higher_is_better"}', "ES114"),
        (b'{"id": "m", "name": "M", "direction": "higher_is_better"', "ES103"),
        (b"[]", "EVG101"),
        (b"[" * 300, "ES113"),
        (b'{"id": "\xff"}', "ES101"),
    ],
)
def test_json_is_read_exactly(text: bytes, code: str, tmp_path: Path) -> None:
    assert [one.code for one in metric(tmp_path, text, "m.json")] == [code]


def test_numbers_that_are_none_are_shared_findings(folder: Path) -> None:
    thresholds = (
        "task: sums\nthresholds: {accuracy: [{impact: low, min: .nan}, {impact: low, max: .inf}]}\n"
    )
    (folder / "thresholds" / "sums.yaml").write_text(thresholds)
    found = [(one.code, one.pointer) for one in check(folder) if one.severity is Severity.ERROR]
    assert found == [
        ("ES108", "/thresholds/accuracy/0/min"),
        ("ES108", "/thresholds/accuracy/1/max"),
    ]


def test_a_document_that_cannot_be_read_accuses_no_other(folder: Path) -> None:
    (folder / "metrics" / "accuracy.yaml").write_text("id: [")
    assert codes(check(folder)) == ["EVG101"]
    report = check(folder, ignore=("EVG101",))
    assert (report.exit_code, report.runs[0].verdict) == (3, "incomplete")


def test_tasks_of_a_report_may_have_names_round_them(folder: Path) -> None:
    path = folder / "reports" / "acorn-7b.yaml"
    report = yaml.safe_load(path.read_text())
    report["tasks"] = [{"any": report["tasks"][0]}, {"advice": {"n_samples": {"original": 1}}}]
    path.write_text(json.dumps(report))
    assert codes(check(folder)) == []
    report["tasks"][0]["any"]["task_ref"] = "none"
    report["tasks"][1]["advice"]["n_samples"]["effective"] = 2
    path.write_text(json.dumps(report))
    places = [one.pointer for one in check(folder) if one.code == "EVG401"]
    assert sorted(place or "" for place in places) == [
        "/tasks/0/any/task_ref",
        "/tasks/1/advice/n_samples/effective",
    ]


def test_flat_tasks_are_judged_where_they_stand(folder: Path) -> None:
    path = folder / "reports" / "acorn-7b.yaml"
    path.write_text(path.read_text().replace("n_shot: 0", "n_shot: few"))
    found = [(one.code, one.pointer, one.line) for one in check(folder) if one.keyword]
    assert found == [("EVG101", "/tasks/0/n_shot", 14)]


def test_results_that_belong_to_no_task_are_told(folder: Path) -> None:
    path = folder / "reports" / "acorn-7b.yaml"
    report = yaml.safe_load(path.read_text())
    report["results"].append({"accuracy": {"value": "0.5"}})
    path.write_text(json.dumps(report))
    found = [
        (one.code, one.severity.label, one.pointer) for one in check(folder) if one.code == "EVG401"
    ]
    # No text of the specification says which results belong to which task.
    assert found == [
        ("EVG401", "info", "/results"),
        ("EVG401", "error", "/results/2/accuracy/value"),
    ]


def test_what_a_report_measures_has_to_be_known(folder: Path) -> None:
    path = folder / "reports" / "acorn-7b.yaml"
    text = (
        path.read_text()
        .replace("  - refusal_rate:", "  - accuracy:")
        .replace("task_ref: sums", "task_ref: Sums")
    )
    path.write_text(text.replace("    refusal_rate:", "    refusals:"))
    found = {
        (one.severity.label, one.pointer, one.found)
        for one in check(folder)
        if one.code == "EVG401"
    }
    # Only the references of section 9.2 are demanded, not that a task lists the metric.
    assert found == {
        ("error", "/tasks/0/task_ref", "Sums"),
        ("error", "/results/0/refusals", "refusals"),
        ("warning", "/results/1/accuracy", "accuracy"),
        ("warning", "/results", None),
    }


@pytest.mark.parametrize(
    ("value", "words"), [("0.5", "[0.5, 0.8)"), ("0.8", "[0.8, …)"), ("0", "[…, 0.5)")]
)
def test_min_counts_to_a_range_and_max_does_not(value: str, words: str, folder: Path) -> None:
    path = folder / "reports" / "acorn-7b.yaml"
    path.write_text(path.read_text().replace("0.875", value))
    finding = next(one for one in check(folder) if one.pointer == "/results/0/accuracy/value")
    assert words in finding.message
    assert finding.severity is Severity.INFO


@pytest.mark.parametrize("name", ["sums", "advice"])
def test_a_task_by_itself_leaves_its_references_open(name: str) -> None:
    report = check(EXAMPLE / "tasks" / f"{name}.yaml")
    assert codes(report) == ["EVG201"]
    assert (report.exit_code, report.runs[0].verdict) == (0, "unconfirmed")
    assert check(EXAMPLE / "tasks" / f"{name}.yaml", strict=True).exit_code == 1


def test_a_metric_by_itself_refers_to_nothing() -> None:
    report = evalstream.check(EXAMPLE / "metrics" / "accuracy.yaml")
    assert (report.exit_code, report.runs[0].verdict, report.counts) == (0, "passed", {})


def test_a_report_goes_with_the_folder_that_it_refers_to(folder: Path, tmp_path: Path) -> None:
    alone = check(folder / "reports" / "acorn-7b.yaml")
    assert (codes(alone), alone.runs[0].verdict) == (["EVG401"], "unconfirmed")
    moved = tmp_path / "acorn-7b.yaml"
    (folder / "reports" / "acorn-7b.yaml").rename(moved)
    report = evalstream.check(moved, aggregate=folder)
    assert (report.exit_code, report.runs[0].verdict, report.runs[0].rows) == (0, "unconfirmed", 7)
    assert report.counts == {"ES805": 1, "EVG402": 3}
    both = evalstream.check(EXAMPLE, aggregate=EXAMPLE / "tasks")
    assert both.runs[0].rows == 7


def test_a_report_comes_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    data = (EXAMPLE / "reports" / "acorn-7b.yaml").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    report = check("-", aggregate=EXAMPLE)
    assert report.exit_code == 0
    assert [one.line for one in report if one.file == "-" and one.code != "ES805"] == [24, 27, 29]


POLICY = """id: default
name: Default
description: Everywhere.
thresholds:
  sums:
    accuracy:
      - {impact: severe, max: 0.5}
      - {impact: low, min: 0.5}
"""
RANGES = "/thresholds/sums/accuracy"
GUARDRAIL = """id: filter
name: Filter
scope: both
targets:
  - {task: sums, metrics: [accuracy], model: acorn/acorn-7b}
instructions: Turn it on.
"""


@pytest.fixture
def later(folder: Path) -> Path:
    """Return the example in the layout with policies."""
    shutil.rmtree(folder / "thresholds")
    for path in (folder / "tasks").iterdir():
        task = yaml.load(path.read_text(), Loader=Loader)
        del task["metrics"]
        path.write_text(json.dumps(task))
    model = "id: acorn/acorn-7b\nname: acorn-7b\nnamespace: acorn\n"
    for place, text in {
        "policies/default.yaml": POLICY,
        "guardrails/filter.yaml": GUARDRAIL,
        "models/acorn/acorn-7b.yaml": model,
    }.items():
        (folder / place).parent.mkdir(parents=True)
        (folder / place).write_text(text)
    return folder


def test_the_layout_with_policies_is_recognised_and_checked(later: Path) -> None:
    report = evalstream.check(later)
    (run,) = report.runs
    assert (report.exit_code, run.verdict, run.version, run.rows) == (
        0,
        "unconfirmed",
        "v1 (policies)",
        8,
    )
    assert codes(report) == []
    (said,) = (one for one in report if one.code == "EVG402" and "policy" in one.message)
    assert said.message.endswith("falls in [0.5, …), impact low of the policy default")


@pytest.mark.parametrize(
    ("place", "old", "new", "found"),
    [
        ("policies/default.yaml", "  sums:", "  sum:", ("EVG202", "/thresholds/sum")),
        ("policies/default.yaml", "accuracy", "acc", ("EVG203", "/thresholds/sums/acc")),
        (
            "policies/default.yaml",
            "max: 0.5",
            "min: 2, max: 1",
            ("EVG102", "/thresholds/sums/accuracy/0"),
        ),
        (
            "policies/default.yaml",
            "severe",
            "bad",
            ("EVG101", "/thresholds/sums/accuracy/0/impact"),
        ),
        ("policies/default.yaml", "description: Everywhere.\n", "", ("EVG101", None)),
        ("policies/default.yaml", "id: default", "id: ../default", ("EVG502", "/id")),
        ("guardrails/filter.yaml", "task: sums", "task: sum", ("EVG207", "/targets/0/task")),
        ("guardrails/filter.yaml", "[accuracy]", "[acc]", ("EVG207", "/targets/0/metrics/0")),
        ("guardrails/filter.yaml", "acorn-7b", "acorn-8b", ("EVG207", "/targets/0/model")),
        ("guardrails/filter.yaml", "scope: both", "scope: all", ("EVG101", "/scope")),
        ("guardrails/filter.yaml", "[accuracy]", "[]", ("EVG101", "/targets/0/metrics")),
        ("models/acorn/acorn-7b.yaml", "namespace: acorn", "space: a", ("EVG101", None)),
    ],
)
def test_each_defect_of_the_later_layout_is_found(
    place: str, old: str, new: str, found: tuple[str, str | None], later: Path
) -> None:
    path = later / place
    path.write_text(path.read_text().replace(old, new))
    wrong = [one for one in check(later) if one.severity is Severity.ERROR]
    assert {one.code for one in wrong} == {found[0]}
    assert found[1] in {None, *(one.pointer for one in wrong)}


@pytest.mark.parametrize(
    ("place", "copy"),
    [
        ("policies/default.yaml", "policies/other.yaml"),
        ("guardrails/filter.yaml", "guardrails/other.yaml"),
        ("models/acorn/acorn-7b.yaml", "models/other/acorn-8b.yaml"),
    ],
)
def test_no_text_calls_the_ids_of_later_kinds_unique(place: str, copy: str, later: Path) -> None:
    (later / copy).parent.mkdir(exist_ok=True)
    shutil.copy(later / place, later / copy)
    found = [one for one in check(later) if one.code == "EVG205" and one.found != "x"]
    repeated = [one for one in found if "another document" in one.message]
    assert [(one.severity, Path(one.file).name) for one in repeated] == [
        (Severity.WARNING, Path(copy).name)
    ]


def test_the_ids_of_reports_are_unique(folder: Path) -> None:
    path = folder / "reports" / "acorn-7b.yaml"
    copy = shutil.copy(path, folder / "reports" / "copy.yaml")
    assert "EVG205" not in check(folder).counts
    path.write_text(path.read_text().replace("0.875", "0.5"))
    (finding,) = [one for one in check(folder) if one.code == "EVG205"]
    assert (finding.severity, Path(finding.file)) == (Severity.ERROR, Path(copy))


def test_metrics_in_a_task_beside_policies_mix_the_layouts(later: Path) -> None:
    task = later / "tasks" / "sums.yaml"
    task.write_text(
        json.dumps({**json.loads(task.read_text()), "metrics": ["accuracy", "refusal_rate"]})
    )
    report = check(later)
    assert (codes(report), report.runs[0].version) == (["EVG206"], "v1 (both layouts)")


def test_a_task_without_metrics_needs_another_sign_of_the_later_layout(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    for name in ("a", "b"):
        (tmp_path / "tasks" / f"{name}.yaml").write_text(f"id: {name}\nname: x\n")
    (one,) = evalstream.check(tmp_path / "tasks").runs
    assert (one.verdict, one.version) == ("incomplete", "v1 (policies)")
    assert "layout was not shown" in (one.incomplete_reason or "")
    (tmp_path / "tasks" / "a.yaml").unlink()
    assert codes(check(tmp_path / "tasks"), least=Severity.ERROR) == ["EVG101"]
    assert codes(check(tmp_path / "tasks" / "b.yaml"), least=Severity.ERROR) == ["EVG101"]


def test_a_policy_that_cannot_be_read_accuses_no_task(later: Path) -> None:
    shutil.rmtree(later / "models")
    (later / "policies" / "default.yaml").write_text("id: [")
    assert codes(check(later)) == ["EVG101"]


def test_folders_named_together_are_one_configuration(folder: Path) -> None:
    places = [folder / name for name in ("thresholds", "tasks", "metrics", "reports")]
    report = evalstream.check(places)
    (run,) = report.runs
    assert (report.exit_code, run.verdict, run.rows, codes(report)) == (0, "unconfirmed", 7, [])
    assert report.counts == evalstream.check(folder).counts
    (folder / "metrics" / "accuracy.yaml").unlink()
    assert set(codes(evalstream.check(places))) == {"EVG201", "EVG203", "EVG401"}


def test_folders_that_were_not_named_leave_references_open(folder: Path) -> None:
    for names in (("tasks",), ("tasks", "thresholds"), ("thresholds",)):
        report = evalstream.check([folder / name for name in names], input_format="evalguard")
        (run,) = report.runs
        assert (codes(report), run.verdict, report.exit_code) == ([], "incomplete", 3)
        assert "were not looked up" in (run.incomplete_reason or "")
    assert evalstream.check(folder / "metrics").runs[0].verdict == "passed"


def test_whole_configurations_stay_apart(folder: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    assert [run.verdict for run in evalstream.check([folder, other]).runs] == ["unconfirmed"] * 2
    parts = [place / name for place in (folder, other) for name in ("tasks", "metrics")]
    assert [run.rows for run in evalstream.check(parts).runs] == [4, 4]
    moved = shutil.move(folder / "reports", tmp_path / "reports")
    (run,) = evalstream.check([folder, moved]).runs
    assert (run.verdict, run.rows) == ("unconfirmed", 7)


def test_raw_output_gets_one_finding_and_impacts(folder: Path) -> None:
    shutil.rmtree(folder / "reports")
    raw = {
        "results": {
            "sums": {"alias": "sums", "accuracy,none": 0.6, "accuracy_stderr,none": 0.2449},
            "other": {
                "accuracy,none": 0.6,
                "f1,none": float("nan"),
                "em,none": "0.6",
                "f1_stderr,none": float("nan"),
            },
        },
        "configs": {},
        "versions": {},
        "n-shot": {},
        "n-samples": {"sums": {"original": 5, "effective": 5}},
    }
    path = folder / "reports" / "raw.json"
    path.parent.mkdir()
    path.write_text(json.dumps(raw))
    for report in (evalstream.check(folder), check(folder)):
        (run,) = report.runs
        assert (report.exit_code, run.rows) == (0, 7)
        said = sorted((one.code, one.severity.label, one.pointer) for one in report)
        assert "2 values are not finite numbers" in {one.message for one in report}
        assert said == [
            ("ES108", "warning", "/results/other/f1_stderr,none"),
            ("ES805", "warning", None),
            ("EVG101", "info", ""),
            ("EVG101", "warning", "/results"),
            ("EVG402", "info", "/results/sums/accuracy,none"),
        ]
    for old, new in (('"effective": 5', '"effective": 6'), ("0.2449", "-0.1")):
        path.write_text(json.dumps(raw).replace(old, new))
        assert codes(check(folder), least=Severity.ERROR) == ["EVG401"]


@pytest.mark.parametrize(
    ("value", "ranges", "found"),
    [
        ("87.5", "[{impact: low, min: 0, max: 50}, {impact: high, min: 50}]", []),
        ("0.875", "[{impact: low, max: 0.5}, {impact: high, min: 0.5, max: 1}]", []),
        ("100.00000000000001", "[{impact: low, min: 50, max: 100.5}]", []),
        ("187.5", "[{impact: low, min: 0}]", [("error", "/results/0/accuracy/value")]),
        ("-0.5", "[{impact: low, max: 5}]", [("error", "/results/0/accuracy/value")]),
        ("5", "[{impact: low, max: 9}, {impact: high, min: 150}]", [("error", "1")]),
        ("5", "[{impact: low, max: 0}, {impact: high, min: 0}]", [("error", "0")]),
        ("5", "[{impact: low, min: -5, max: 150}]", [("warning", "0/max"), ("warning", "0/min")]),
    ],
)
def test_percentages_lie_between_0_and_100(
    value: str, ranges: str, found: list[tuple[str, str]], folder: Path
) -> None:
    (folder / "metrics" / "accuracy.yaml").write_text(
        "id: accuracy\nname: A\ntype: percentage\ndirection: lower_is_better\n"
    )
    (folder / "thresholds" / "sums.yaml").write_text(
        f"task: sums\nthresholds: {{accuracy: {ranges}}}\n"
    )
    path = folder / "reports" / "acorn-7b.yaml"
    path.write_text(path.read_text().replace("0.875", value))
    told = [
        (one.severity.label, (one.pointer or "").removeprefix("/thresholds/accuracy/"))
        for one in check(folder)
        if one.code == "EVG304"
    ]
    assert sorted(told) == found


def test_folders_beside_config_are_said_and_not_checked(folder: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(folder, project / "config", ignore=shutil.ignore_patterns("reports"))
    shutil.move(folder / "reports", project / "reports")
    fixtures = project / "tools" / "fixtures" / "metrics"
    fixtures.mkdir(parents=True)
    (fixtures / "bad.yaml").write_text("id: bad\n")
    report = evalstream.check(project)
    assert (report.exit_code, report.runs[0].rows) == (0, 7)
    (said,) = (one for one in report if one.code == "ES007" and "beside config" in one.message)
    assert said.message.endswith("was not checked: tools")
    (project / "policies").mkdir()
    (project / "policies" / "bad.yaml").write_text("id: bad\n")
    assert check(project).exit_code == 1


def test_inputs_do_not_go_with_evalguard() -> None:
    with pytest.raises(UsageError, match="evalguard"):
        check(EXAMPLE, inputs_file=EXAMPLE)


@each("name", ["x.yaml", "x.json", "x.jsonl", "x.txt"])
def test_other_files_are_not_checked_and_do_not_pass(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text('{"evaluation_results": [], "items": 1}')
    for path in (tmp_path, tmp_path / name):
        report = check(path)
        assert report.exit_code == 3
        finding, *left = report
        assert [finding.code, *codes(left)] in (["ES005"], ["ES005", "ES007"])
        assert "eee, evalguard, harpia, helm, infereval" in finding.message


def test_what_is_missing_or_unreadable_is_not_checked(tmp_path: Path, folder: Path) -> None:
    report = check(tmp_path / "none.yaml")
    assert (report.exit_code, codes(report)) == (3, ["ES001"])
    (tmp_path / "empty").mkdir()
    assert check(tmp_path / "empty").exit_code == 3
    report = check(folder, aggregate=tmp_path / "none")
    assert (report.exit_code, codes(report)) == (3, ["ES001"])


def test_a_schema_in_the_folder_is_no_document(folder: Path) -> None:
    (folder / "schemas" / "v1").mkdir(parents=True)
    shutil.copy(SCHEMAS / "evalguard" / "v1" / "task.schema.yaml", folder / "schemas" / "v1")
    report = check(folder)
    assert (report.exit_code, report.runs[0].rows, codes(report)) == (0, 7, [])
    assert report.counts["EVG101"] == 1


@pytest.mark.parametrize(
    ("place", "count"),
    [
        ("schemas/v1/task.schema.yaml", 0),
        ("schemas/v1.10/task.schema.yaml", 0),
        ("schemas/1.0/task.schema.yaml", 1),
        ("schemas/v1.0.0/task.schema.yaml", 1),
        ("schemas/v1/task.yaml", 1),
        ("schemas/task.schema.json", 2),
        ("tasks/task.schema.yaml", 1),
    ],
)
def test_schemas_are_named_after_type_and_version(place: str, count: int, folder: Path) -> None:
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).write_text('{"$schema": "http://json-schema.org/draft/2020-12/schema"}')
    report = check(folder)
    assert report.exit_code == 0
    assert [code for code in codes(report) if code != "ES007"] == ["EVG208"] * count


def test_links_are_not_followed_out_of_the_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text(METRIC)
    (tmp_path / "outside").mkdir()
    os.symlink(tmp_path / "secret.yaml", folder / "metrics" / "m.yaml")
    os.symlink(tmp_path / "outside", folder / "more")
    os.symlink(folder / "metrics", folder / "again")
    os.symlink("accuracy.yaml", folder / "metrics" / "b.yaml")
    os.symlink(".", folder / "loop")
    report = check(folder)
    assert report.exit_code == 1
    found = [(one.code, Path(one.file).name) for one in report if one.severity is Severity.ERROR]
    assert sorted(found) == [("EVG502", "m.yaml"), ("EVG502", "more")]
    assert check(folder, ignore=("EVG502",)).exit_code == 3


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tasks/x.yaml", "id: ../x\nname: x\nmetrics: []\n"),
        ("tasks/x.yaml", "id: x\nname: x\nmetrics: [/etc/passwd]\n"),
        ("metrics/x.yaml", 'id: "..\\\\x"\nname: x\ndirection: higher_is_better\n'),
        ("thresholds/x.yaml", "task: ../sums\nthresholds: {}\n"),
        ("thresholds/sums.yaml", "task: sums\nthresholds: {../accuracy: []}\n"),
        ("reports/x.yaml", "tasks: [{task_ref: ../sums}]\nresults: []\n"),
        ("reports/x.yaml", "tasks: [{task_ref: sums, dataset_path: ../../data}]\n"),
        ("reports/x.yaml", "metadata: {$ref: 'file:///etc/passwd'}\n"),
        ("reports/a/b/x.yaml", "metadata: {$ref: ../../../../x}\n"),
    ],
)
def test_paths_that_leave_the_folder_are_said_once(path: str, text: str, folder: Path) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text)
    assert codes(check(folder), least=Severity.ERROR) == ["EVG502"]


@pytest.mark.parametrize("path", ["/path/to/data", "../data", "a/../../data", "squad", "C:\\data"])
def test_data_may_lie_on_another_machine_or_within(path: str, folder: Path) -> None:
    text = json.dumps({"tasks": [{"task_ref": "sums", "dataset_path": path}]})
    (folder / "reports" / "x.json").write_text(text)
    assert codes(check(folder)) == []


def test_paths_climb_by_their_parts() -> None:
    assert climbs("..", 0)
    assert climbs("a/../..", 0)
    assert not climbs("a/..", 0)
    assert not climbs("../x", 1)
    assert not climbs("a..b", 0)
    assert is_absolute("/x")
    assert is_absolute("FILE:x")
    assert not is_absolute("a/b")


def test_options_hold_for_this_system_too(folder: Path) -> None:
    for number in range(5):
        (folder / "metrics" / f"m{number}.yaml").write_text("id: x\n")
    (folder / "metrics" / "m0.yaml").write_text("[]")
    report = check(folder, select=("EVG101",), max_findings=1)
    shown_by_file = Counter(finding.file for finding in report)
    assert report.counts["EVG101"] > report.shown == len(shown_by_file)
    shown = check(folder, select=("EVG205",), show_values=False)
    assert all(one.found is None for one in shown)
    sound = check(EXAMPLE, fail_on=Severity.INFO)
    assert sound.exit_code == 1


@pytest.mark.parametrize("how", ["text", "json", deep("jsonl"), deep("github")])
def test_all_reporters_report(how: str, folder: Path) -> None:
    (folder / "metrics" / "accuracy.yaml").write_text("id: [é\n")
    words = command("check", str(folder), "--format", how)
    ran = run_command(words, capture_output=True, text=True)
    assert ran.returncode == 1, ran.stderr
    assert "EVG101" in ran.stdout


def test_documents_are_recognised(folder: Path, tmp_path: Path) -> None:
    def kind(path: Path) -> str | None:
        return FORMAT.detect_kind(read_beginning(str(path)))

    assert kind(folder / "tasks" / "sums.yaml") == "task"
    assert kind(folder / "metrics" / "accuracy.yaml") == "metric"
    assert kind(folder / "thresholds" / "sums.yaml") == "threshold"
    assert kind(folder / "thresholds" / "advice.json") == "threshold"
    assert kind(folder / "reports" / "acorn-7b.yaml") == "report"
    (tmp_path / "x.yml").write_text("a: 1")
    assert kind(tmp_path / "x.yml") is None
    assert kind(tmp_path / "none.yaml") is None
    assert kind(EXAMPLES / "aggregate.json") is None
    assert shown(str(folder)) == ["evalguard"]
    assert list(shown(str(EXAMPLES / "tampered"))) == ["eee"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.yaml").write_text("a: 1")
    (tmp_path / "other" / "x.json").write_text('{"metrics": [], "instances": []}')
    assert "evalguard" not in shown(str(tmp_path / "other"))


JUNK: list[Any] = [
    None,
    True,
    5,
    -1,
    1e308,
    10**400,
    "",
    "no",
    "x" * 200,
    [],
    {},
    [[]],
    {"": {"": 0}},
    "../x",
]


def _mutated(text: str, draw: Callable[[Any], Any]) -> bytes:
    """Return a document with one node replaced, removed or renamed, or its bytes spoilt."""
    if draw(st.booleans()):
        data = bytearray(text.encode())
        start = draw(st.integers(0, len(data)))
        data[start : start + draw(st.integers(0, 20))] = draw(st.binary(max_size=6))
        return bytes(data)
    document = yaml.safe_load(text)
    place = draw(st.sampled_from([*places(document)]))
    owner, last = at(document, place[:-1]), place[-1]
    action = draw(st.sampled_from(["set", "remove", "add"]))
    if action == "remove":
        del owner[last]
    elif action == "add" and isinstance(owner, dict):
        owner[draw(st.text(max_size=5))] = draw(st.sampled_from(JUNK))
    else:
        owner[last] = draw(st.sampled_from(JUNK))
    return json.dumps(document).encode()


@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_no_mutation_of_the_example_crashes(tmp_path: Path, data: st.DataObject) -> None:
    root = tmp_path / "mutated"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(EXAMPLE, root)
    path = data.draw(st.sampled_from(sorted(root.rglob("*.*"))))
    path.write_bytes(_mutated(path.read_text(), data.draw))
    report = check(root)
    assert report.exit_code in {0, 1, 3}
    assert (report.exit_code == 0) == (not codes(report, least=Severity.ERROR))
    strict = check(root, strict=True)
    assert strict.exit_code != 0 or (strict.passed and not strict.runs[0].claims)
    for finding in report:
        json.dumps(finding.as_dict())


def states(report: Report) -> dict[str, str]:
    """Return the state of each claim by its label."""
    (run,) = report.runs
    return {claim.label: claim.state.value for claim in run.claims}


def test_a_configuration_makes_no_claims(folder: Path) -> None:
    shutil.rmtree(folder / "reports")
    report = check(folder, strict=True)
    (run,) = report.runs
    assert (report.exit_code, run.verdict, run.claims, report.counts) == (0, "passed", [], {})


def test_the_values_of_a_report_are_open_claims(folder: Path) -> None:
    report = check(folder)
    (run,) = report.runs
    assert (report.exit_code, run.verdict) == (0, "unconfirmed")
    assert set(states(report).values()) == {"open"}
    assert [
        (claim.label, claim.pointer, claim.claimed) for claim in run.claims if claim.is_score
    ] == [
        ("accuracy of sums", "/results/0/accuracy/value", 0.875),
        ("refusal_rate of sums", "/results/0/refusal_rate/value", 0.01),
        ("refusal_rate of advice", "/results/1/refusal_rate/value", 0.91),
    ]
    others = [claim.label for claim in run.claims if not claim.is_score]
    assert "standard error of accuracy of sums" in others
    assert "effective samples of advice" in others
    assert {claim.reason for claim in run.claims} == {"there are no rows to compute from"}
    strict = check(folder, strict=True)
    assert (strict.exit_code, strict.counts["ES805"]) == (1, 1)


@pytest.mark.parametrize(
    ("old", "new", "label", "code"),
    [
        ("0.0234", "-0.0234", "standard error of accuracy of sums", "EVG401"),
        ("effective: 100", "effective: 121", "effective samples of advice", "EVG401"),
        ("0.875", "187.5", "accuracy of sums", "EVG304"),
    ],
)
def test_a_figure_that_cannot_be_is_a_refuted_claim(
    old: str, new: str, label: str, code: str, folder: Path
) -> None:
    path = folder / "metrics" / "accuracy.yaml"
    path.write_text(path.read_text().replace("type: score", "type: percentage"))
    assert "type: percentage" in path.read_text()
    path = folder / "reports" / "acorn-7b.yaml"
    path.write_text(path.read_text().replace(old, new))
    report = check(folder)
    assert (report.exit_code, codes(report, least=Severity.ERROR)) == (1, [code])
    assert {name for name, state in states(report).items() if state == "refuted"} == {label}


def test_claims_of_several_reports_name_their_file(folder: Path) -> None:
    text = (folder / "reports" / "acorn-7b.yaml").read_text()
    (folder / "reports" / "b.yaml").write_text(text.replace("id: acorn-7b", "id: b"))
    labels = states(check(folder))
    assert "reports/acorn-7b.yaml: accuracy of sums" in labels
    assert "reports/b.yaml: accuracy of sums" in labels


@pytest.mark.parametrize(
    ("place", "old", "new"),
    [
        ("tasks/sums.yaml", "category:", "owner: me\ncategory:"),
        ("metrics/accuracy.yaml", "direction:", "owner: me\ndirection:"),
        ("thresholds/sums.yaml", "    - impact:", "    - owner: me\n      impact:"),
        ("reports/acorn-7b.yaml", "      value: 0.875", "      value: 0.875\n      owner: me"),
    ],
)
def test_an_unknown_member_is_a_warning(place: str, old: str, new: str, folder: Path) -> None:
    path = folder / place
    path.write_text(path.read_text().replace(old, new, 1))
    report = check(folder)
    found = [one for one in report if one.code == "EVG101"]
    assert [(one.severity, one.keyword) for one in found] == [
        (Severity.WARNING, "additionalProperties")
    ]
    assert report.exit_code == 0
    assert check(folder, strict=True).exit_code == 1


def test_a_name_round_a_task_is_no_reference(folder: Path) -> None:
    path = folder / "reports" / "acorn-7b.yaml"
    report = yaml.safe_load(path.read_text())
    report["tasks"] = [{"first": {"n_shot": 0}}]
    del report["results"][1]
    path.write_text(json.dumps(report))
    found = [(one.severity.label, one.pointer) for one in check(folder) if one.code == "EVG401"]
    assert found == [("warning", "/tasks/0/first")]


def schema_findings(text: str, folder: Path, **options: Any) -> list[tuple[str, str, str | None]]:
    """Return what is found in a schema file with some text, besides that it is one."""
    path = folder / "schemas" / "v1" / "task.schema.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return [
        (one.code, one.severity.label, one.pointer)
        for one in check(folder, **options)
        if one.file == str(path) and one.severity is not Severity.INFO
    ]


@pytest.mark.parametrize("engine", ["rust", "portable"])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("type: object\n", []),
        ("type: objekt\n", [("EVG210", "error", "/type")]),
        ("required: id\n", [("EVG210", "error", "/required")]),
        ("properties: {a: {minimum: x}}\n", [("EVG210", "error", "/properties/a/minimum")]),
        ("$schema: http://json-schema.org/draft/2020-12/schema\ntype: object\n", []),
        ("$schema: http://json-schema.org/draft-07/schema#\nitems: [{type: 1}]\n",
         [("EVG210", "error", "/items/0/type")]),
        ("$schema: https://example.org/mine\ntype: 5\n", [("EVG210", "warning", "/$schema")]),
        ("type: object\ntype: array\n", [("ES107", "error", "/type")]),
    ],
)  # fmt: skip
def test_a_schema_fits_its_meta_schema(
    text: str, found: list[tuple[str, str, str | None]], engine: str, folder: Path
) -> None:
    assert schema_findings(text, folder, engine=engine) == found


@each("kind", SCHEMAS_OF)
def test_our_schemas_pass_as_schemas_of_a_folder(kind: str, tmp_path: Path) -> None:
    (tmp_path / "schemas" / "v1").mkdir(parents=True)
    name = f"{kind}.schema.yaml"
    shutil.copy(SCHEMAS / "evalguard" / "v1" / name, tmp_path / "schemas" / "v1" / name)
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "m.yaml").write_text(METRIC)
    report = check(tmp_path, strict=True)
    assert (report.exit_code, report.runs[0].verdict) == (0, "passed")


@pytest.mark.skipif(not REFERENCES.is_dir(), reason="needs the reference schemas")
def test_the_schemas_of_upstream_fit_their_meta_schema(tmp_path: Path) -> None:
    target = Path(shutil.copytree(REFERENCES, tmp_path / "schemas" / "v1"))
    target.chmod(0o755)
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "m.yaml").write_text(METRIC)
    found = [one for one in check(tmp_path) if one.severity is not Severity.INFO]
    # Upstream's own API asks for reports by POST, and the specification by GET.
    assert [(one.code, one.message) for one in found] == [
        ("EVG211", "the endpoint GET /reports is missing")
    ]


PARAMETERS = {
    "/reports": ("model_name", "model_source", "task_ref", "metric", "limit", "offset"),
    "/thresholds": ("tasks", "metrics"),
}


def api() -> dict[str, Any]:
    """Return an OpenAPI document with all that sections 4.5.2 and 4.5.3 list."""
    plain = ("/reports/{id}", "/reports/{id}/metrics", "/models", "/tasks")
    paths: dict[str, Any] = {path: {"get": {}} for path in (*PARAMETERS, *plain)}
    for path, names in PARAMETERS.items():
        paths[path]["get"]["parameters"] = [
            {"name": name, "in": "query", "required": name == "tasks"} for name in names
        ]
    return {"openapi": "3.0.3", "info": {"title": "API", "version": "1"}, "paths": paths}


def test_an_api_has_the_endpoints_and_parameters_of_the_specification(folder: Path) -> None:
    def found(document: Any) -> list[str]:
        path = folder / "schemas" / "v1" / "api.schema.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(document))
        report = check(folder)
        assert report.exit_code == 0
        return [one.message for one in report if one.code == "EVG211"]

    assert found(api()) == []
    for path in api()["paths"]:
        document = api()
        del document["paths"][path]
        (message,) = found(document)
        assert message == f"the endpoint GET {path.replace('{id}', '{report_id}')} is missing"
    for path, names in PARAMETERS.items():
        for place, name in enumerate(names):
            document = api()
            del document["paths"][path]["get"]["parameters"][place]
            assert found(document) == [f"GET {path} lacks the query parameter {name}"]
    document = api()
    document["paths"]["/thresholds"]["get"]["parameters"][0]["required"] = False
    assert found(document) == ["the query parameter tasks of GET /thresholds is not required"]
    document = api()
    document["components"] = {"parameters": {"all": {"name": "metrics", "in": "query"}}}
    document["paths"]["/thresholds"]["get"]["parameters"][1] = {
        "$ref": "#/components/parameters/all"
    }
    assert found(document) == []
    document["paths"]["/thresholds"]["get"]["parameters"][1] = {"$ref": "other.yaml"}
    assert found(document) == []
    assert found({"openapi": "3.0.3"}) == ["the document has no paths"]
    # The later layout has policies in place of thresholds.
    document = api()
    document["paths"]["/policies"] = document["paths"].pop("/thresholds")
    assert found(document) == []


@pytest.mark.parametrize(
    ("place", "old", "new", "pointer"),
    [
        ("tasks/sums.yaml", "id: sums", "other: sums", ""),
        ("tasks/sums.yaml", "name: Sums of small numbers", "name: 7", "/name"),
        (
            "tasks/sums.yaml",
            "metrics:\n  - accuracy\n  - refusal_rate",
            "metrics: accuracy",
            "/metrics",
        ),
        ("metrics/accuracy.yaml", "direction: higher_is_better", "direction: up", "/direction"),
        ("metrics/accuracy.yaml", "type: score", "type: ratio", "/type"),
        ("metrics/accuracy.yaml", "name: Accuracy\n", "", ""),
        ("thresholds/sums.yaml", "task: sums", "task: 7", "/task"),
        (
            "thresholds/sums.yaml",
            "impact: severe",
            "impact: grave",
            "/thresholds/accuracy/0/impact",
        ),
        ("thresholds/sums.yaml", "max: 0.5", 'max: "0.5"', "/thresholds/accuracy/0/max"),
        ("reports/acorn-7b.yaml", "date: 1767225600", "date: today", "/context/date"),
        ("reports/acorn-7b.yaml", "n_shot: 0", "n_shot: few", "/tasks/0/n_shot"),
        (
            "reports/acorn-7b.yaml",
            "  evaluator: the acme evaluation group",
            "  evaluator: 7",
            "/metadata/evaluator",
        ),
    ],
)
def test_members_of_documents_have_their_types(
    place: str, old: str, new: str, pointer: str, folder: Path
) -> None:
    path = folder / place
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    found = [
        one.pointer
        for one in check(folder)
        if one.code == "EVG101" and one.severity is Severity.ERROR
    ]
    assert found == [pointer]


def test_results_with_rows_beside_them_are_those_of_their_harness(folder: Path) -> None:
    logs = Path(shutil.copytree(CORPUS_LOGS / "lm_eval-one", folder / "reports" / "lm-eval"))
    (folder / "reports" / "acorn-7b.yaml").unlink()
    (rows,) = logs.glob("samples_*.jsonl")

    def judged(**options: Any) -> list[tuple[str, str, set[str]]]:
        """Return format, verdict and states of claims of each run, those of EvalGuard first."""
        runs = [one for one in evalstream.check(folder, **options).runs if not one.is_note]
        found = ((str(one.format), one.verdict, one.claims or ()) for one in runs)
        return sorted((name, said, {one.state.value for one in each}) for name, said, each in found)

    own, *others = judged()
    assert own == ("evalguard", "passed", set())
    assert {said for _, said, _ in others} == {"passed"}
    alone = ("evalguard", "unconfirmed", {"open"})
    assert judged(exclude=["samples_*"])[0] == alone
    assert alone in judged(input_format="evalguard")
    rows.rename(rows.with_name(f".{rows.name}"))
    assert judged()[0] == alone
