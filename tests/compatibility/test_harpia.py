"""HarpIA Lab: its three documents by shape and spelling, their findings, and hostile ones."""

import copy
import gzip
import json
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from commands import command, run_command
from depth import examples, in_turn
from each import each
from edits.harpia import EXAMPLE, INPUT, LOG, OUTPUT, documents, written
from hypothesis import given
from hypothesis import strategies as st
from recognition import read_beginning, shown
from rows import ODD_KEYS, ODD_VALUES, at, bounded, places, spoilt_bytes

import evalstream
from evalstream.engine.record_engine import RecordContext
from evalstream.engine.result import BlockResult
from evalstream.formats.base import load_catalogue
from evalstream.formats.harpia.checker import LogRecordChecker
from evalstream.formats.harpia.documents import (
    detect_kind,
    detect_parsed,
    find_lists,
    find_member,
    holds_records,
    list_outputs,
)
from evalstream.formats.harpia.log_tally import Known, LogTally, Pairs
from evalstream.formats.harpia.values import identifier, is_supervised, parameters_key, value_shape
from evalstream.model.block import Lines
from evalstream.model.claim import Reason, State
from evalstream.model.errors import UsageError
from evalstream.model.finding import Severity
from evalstream.model.options import Options

Seen = set[tuple[str, str, int | None, str | None]]
"""Codes with their severities, lines and pointers."""


def check(known: dict[str, Any], folder: Path, **settings: Any) -> evalstream.Report:
    """Check the three documents together."""
    return written(known, folder).check(**settings)


def line_of(finding: evalstream.Finding) -> int | None:
    """Return the line of a record; findings about documents have a column, too."""
    return finding.line if finding.column is None else None


def is_of_open_scores(finding: evalstream.Finding) -> bool:
    """Return whether a warning says only that scores are open, which has tests of its own."""
    is_of_output = finding.code == "HAR303" and line_of(finding) is None
    return finding.code == "ES805" or (is_of_output and finding.severity is Severity.WARNING)


def seen(report: evalstream.Report) -> Seen:
    """Return what was found, and where, besides open scores."""
    return {
        (finding.code, finding.severity.label, line_of(finding), finding.pointer)
        for finding in report
        if not is_of_open_scores(finding)
    }


def codes(report: evalstream.Report) -> dict[str, int]:
    """Return the counts of a report without the warnings about open scores."""
    counts = dict(report.counts)
    for finding in filter(is_of_open_scores, report):
        counts[finding.code] -= finding.count or 1
    return {code: count for code, count in counts.items() if count}


def is_confirmed(report: evalstream.Report) -> bool:
    """Return whether every claim is confirmed or rounded."""
    return all(claim.state.holds for run in report.runs for claim in run.claims)


def states(report: evalstream.Report) -> dict[str, tuple[str, str | None]]:
    """Return the state of each claim, and why it is open."""
    (run,) = report.runs
    return {claim.label: (claim.state.value, claim.reason) for claim in run.claims}


@pytest.fixture
def known() -> dict[str, Any]:
    """Return the sound example."""
    return documents()


@each(
    ("path", "aggregate", "inputs", "rows"),
    [
        (LOG, OUTPUT, INPUT, 6),
        (LOG, OUTPUT, None, 6),
        (LOG, None, INPUT, 6),
        (LOG, None, None, 6),
        (OUTPUT, None, INPUT, 0),
        (OUTPUT, None, None, 0),
        (INPUT, None, None, 0),
        (INPUT, OUTPUT, None, 0),
    ],
)
def test_any_of_the_documents_are_checked_together(
    path: str, aggregate: str | None, inputs: str | None, rows: int
) -> None:
    report = evalstream.check(
        EXAMPLE / path,
        aggregate=None if aggregate is None else EXAMPLE / aggregate,
        inputs_file=None if inputs is None else EXAMPLE / inputs,
    )
    (run,) = report.runs
    named = {Path(name).name for name in (run.file, run.aggregate, run.inputs) if name}
    # An input makes no claims, and the other documents confirm none without each other.
    passes = {LOG, OUTPUT} <= named or named == {INPUT}
    assert (report.counts, report.exit_code) == ({} if passes else {"ES805": 1}, 0)
    verdict = "passed" if passes else "unconfirmed"
    assert (run.format, run.rows, run.verdict) == ("harpia", rows, verdict)
    assert len(run.claims) == (3 if OUTPUT in named else 0)
    for name, noun in ((LOG, "log"), (OUTPUT, "output"), (INPUT, "input")):
        assert (f"no {noun} was given" in (run.remark or "")) is (name not in named)
    strict = evalstream.check(
        EXAMPLE / path,
        aggregate=None if aggregate is None else EXAMPLE / aggregate,
        inputs_file=None if inputs is None else EXAMPLE / inputs,
        strict=True,
    )
    assert strict.exit_code == (0 if passes else 1)


def test_a_folder_holds_one_run() -> None:
    report = evalstream.check(EXAMPLE)
    (run,) = report.runs
    assert report.passed
    assert [Path(name or "").name for name in (run.file, run.aggregate, run.inputs)] == [
        LOG,
        OUTPUT,
        INPUT,
    ]
    assert [(claim.label, claim.kind, claim.rows, claim.state) for claim in run.claims] == [
        ("BLEU NLTK", "overlap", 3, State.CONFIRMED),
        ("Word overlap/precision", "unknown", 3, State.CONFIRMED),
        ("Word overlap/recall", "unknown", 3, State.CONFIRMED),
    ]


def test_a_folder_with_two_logs_says_what_to_name(known: dict[str, Any], tmp_path: Path) -> None:
    written(known, tmp_path)
    (tmp_path / "second.jsonl").write_bytes((tmp_path / LOG).read_bytes())
    report = evalstream.check(tmp_path)
    assert (codes(report), report.exit_code) == ({"ES005": 1}, 3)
    (finding,) = report
    assert "log.jsonl, second.jsonl" in finding.message
    assert "--aggregate" in finding.message


def test_a_strange_file_in_a_folder_is_told(known: dict[str, Any], tmp_path: Path) -> None:
    written(known, tmp_path)
    (tmp_path / "notes.json").write_text('{"made": "by hand"}')
    report = evalstream.check(tmp_path)
    assert (codes(report), report.exit_code) == ({"ES007": 1}, 0)
    assert evalstream.check(tmp_path, strict=True).exit_code == 1
    assert evalstream.check(tmp_path, exclude=["notes.json"], strict=True).passed


@pytest.mark.parametrize("name", ["run.jsonl", "aggregate.json"])
def test_other_data_under_this_format_is_not_passed(name: str) -> None:
    report = evalstream.check(EXAMPLE.parent / name, input_format="harpia")
    assert (codes(report), report.exit_code) == ({"ES005": 1}, 3)
    (finding,) = report
    for format_ in ("eee", "infereval", "harpia", "evalguard"):
        assert format_ in finding.message


def test_the_wrong_document_in_a_place_is_told(known: dict[str, Any], tmp_path: Path) -> None:
    written(known, tmp_path)
    swapped = evalstream.check(
        tmp_path / LOG, aggregate=tmp_path / INPUT, inputs_file=tmp_path / OUTPUT
    )
    assert (codes(swapped), swapped.exit_code) == ({"ES005": 2}, 3)
    with pytest.raises(UsageError, match="is an output"):
        evalstream.check(tmp_path / OUTPUT, aggregate=tmp_path / OUTPUT)
    with pytest.raises(UsageError, match="is an input"):
        evalstream.check(tmp_path / INPUT, inputs_file=tmp_path / INPUT)


@pytest.mark.parametrize("role", [LOG, OUTPUT, INPUT])
def test_a_missing_document_is_not_passed(role: str, known: dict[str, Any], tmp_path: Path) -> None:
    case = written(known, tmp_path)
    (tmp_path / role).unlink()
    report = case.check()
    assert (codes(report), report.exit_code) == ({"ES001": 1}, 3)


def test_an_empty_log_is_not_passed(known: dict[str, Any], tmp_path: Path) -> None:
    report = check({**known, LOG: []}, tmp_path)
    assert (codes(report), report.exit_code) == ({}, 3)
    assert report.runs[0].incomplete_reason == "the log has no records"
    assert {one.reason for one in report.runs[0].claims} == {Reason.NO_ROWS.value}


def run_cli(*words: str, data: bytes = b"") -> tuple[int, str]:
    ran = run_command(command(*words), input=data, capture_output=True, cwd=EXAMPLE)
    assert b"Traceback" not in ran.stderr
    return ran.returncode, ran.stdout.decode()


def test_a_log_comes_by_standard_input() -> None:
    named = ("--aggregate", OUTPUT, "--inputs-file", INPUT)
    code, said = run_cli("check", "-", *named, data=(EXAMPLE / LOG).read_bytes())
    assert code == 0, said
    assert "): 6 " in said
    code, said = run_cli("check", "-", *named, data=(EXAMPLE / INPUT).read_bytes())
    assert code == 3
    assert "ES005" in said


def test_a_log_may_be_packed_or_an_array(known: dict[str, Any], tmp_path: Path) -> None:
    case = written(known, tmp_path)
    packed, listed = tmp_path / "log.jsonl.gz", tmp_path / "log.json"
    packed.write_bytes(gzip.compress((tmp_path / LOG).read_bytes()))
    known[LOG][1]["instance_id"] = "weather-9"
    listed.write_text(json.dumps(known[LOG], indent=1))
    beside = {"aggregate": case.aggregate, **case.options}
    assert evalstream.check(packed, **beside).passed
    report = evalstream.check(listed, **beside)
    assert ("HAR301", "error", 11, "/1/instance_id") in seen(report)


def test_records_go_different_ways(known: dict[str, Any], tmp_path: Path) -> None:
    known[LOG][3]["result"] = None
    case = written(known, tmp_path)
    lines = (tmp_path / LOG).read_bytes().splitlines(keepends=True)
    good, bad, copied = tmp_path / "good", tmp_path / "bad", tmp_path / "copied"
    report = case.check(accepted=str(good), rejected=str(bad), tee=str(copied))
    assert report.exit_code == 1
    assert bad.read_bytes() == lines[3]
    assert good.read_bytes() == b"".join(lines[:3] + lines[4:])
    assert copied.read_bytes() == b"".join(lines)


def test_a_log_is_not_sealed_and_an_output_has_no_rows() -> None:
    with pytest.raises(UsageError, match="seal"):
        evalstream.check(EXAMPLE / LOG, seal_to=str(EXAMPLE / OUTPUT))
    with pytest.raises(UsageError, match="only from a log"):
        evalstream.check(EXAMPLE / OUTPUT, tee="copy")


SPELLINGS = [
    {"instance_id": "instance-id", "elapsed time": "elapsed_time"},
    {"instance_id": "instance id", "elapsed time": "elapsed-time"},
    {"instance_id": "instanceId", "elapsed time": "Elapsed Time"},
    {"actual-output": "actual_output", "expected-output": "expected_output"},
    {"actual-output": "actual output", "expected-output": "expectedOutput"},
    {"metric": "id"},
    {"metric": "metric_name"},
    {"metric": "metric-id"},
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_members_may_be_spelled_otherwise(
    spelling: dict[str, str], known: dict[str, Any], tmp_path: Path
) -> None:
    def respelled(value: Any) -> Any:
        if isinstance(value, dict):
            return {spelling.get(key, key): respelled(inner) for key, inner in value.items()}
        return [respelled(inner) for inner in value] if isinstance(value, list) else value

    report = check(respelled(known), tmp_path)
    assert (codes(report), report.passed) == ({}, True)


def test_one_member_in_two_spellings_is_told(known: dict[str, Any], tmp_path: Path) -> None:
    known[INPUT]["instances"][0]["actual_output"] = "Rain."
    known[OUTPUT][0]["elapsed_time"] = 1
    known[LOG][2]["instance-id"] = "weather-1"
    known[LOG][3]["Metric"] = "BLEU NLTK"
    assert seen(check(known, tmp_path)) == {
        ("HAR102", "error", None, "/instances/0"),
        ("HAR201", "error", None, "/0"),
        ("HAR301", "error", 3, ""),
        ("HAR301", "error", 4, ""),
    }


@pytest.mark.parametrize("form", ["keyed", "held", "named inside", "nested"])
def test_an_output_has_several_forms(form: str, known: dict[str, Any], tmp_path: Path) -> None:
    entries = known[OUTPUT]
    bare = {
        entry["metric"]: {key: value for key, value in entry.items() if key != "metric"}
        for entry in entries
    }
    known[OUTPUT] = {
        "keyed": bare,
        "held": {"made": "by hand", "results": entries},
        "named inside": {"first": entries[0], "second": entries[1], "note": {"by": "hand"}},
        "nested": {"metrics": bare},
    }[form]
    report = check(known, tmp_path)
    assert (codes(report), report.passed) == ({}, True)
    assert set(states(report).values()) == {("confirmed", None)}
    assert detect_parsed(known[OUTPUT]) == "output"


def test_an_object_without_members_is_an_output_like_those_beside_it(
    known: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / OUTPUT
    path.write_text(json.dumps({"BLEU NLTK": known[OUTPUT][0], "Word overlap": {}}))
    assert {found[3] for found in seen(evalstream.check(path))} == {"/Word overlap"}


def test_one_output_may_stand_alone_or_below_a_total_time(known: dict[str, Any]) -> None:
    one = known[OUTPUT][0]
    assert [output.pointer for output in list_outputs(one)] == [""]
    below = {"elapsed time": 3, "metrics": {"BLEU NLTK": one}}
    assert [output.pointer for output in list_outputs(below)] == ["/metrics/BLEU NLTK"]


def test_outputs_without_a_score_are_no_input(known: dict[str, Any], tmp_path: Path) -> None:
    results = [{"id": one["metric"], **one} for one in known[OUTPUT]]
    for one in results:
        del one["score"], one["metric"]
    known[OUTPUT] = {"results": results}
    assert codes(check(known, tmp_path)) == {"HAR201": 2}


def test_lists_of_other_names_are_found_and_named(known: dict[str, Any], tmp_path: Path) -> None:
    known[INPUT] = {
        "tags": ["a", "b"],
        "amostras": known[INPUT]["instances"],
        "avaliadores": known[INPUT]["metrics"],
    }
    report = check(known, tmp_path)
    assert report.passed
    (finding,) = report
    assert (finding.code, finding.severity) == ("HAR101", Severity.INFO)
    assert "amostras" in finding.message
    assert "avaliadores" in finding.message


@each(
    ("document", "pointers"),
    [
        ({}, {""}),
        ({"instances": {}, "metrics": "all"}, {"/instances", "/metrics"}),
        ({"instances": [], "metrics": []}, {"/instances", "/metrics"}),
        ({"instances": [{"id": "a", "input": "b", "actual-output": "c"}]}, {""}),
        (
            {"a": [{"actual-output": "c"}], "b": [{"actual-output": "c"}], "metrics": []},
            {"", "/metrics"},
        ),
    ],
)
def test_an_input_without_its_lists(document: Any, pointers: set[str], tmp_path: Path) -> None:
    path = tmp_path / INPUT
    path.write_text(json.dumps(document))
    report = evalstream.check(EXAMPLE / LOG, inputs_file=path)
    found = {finding.pointer for finding in report if finding.code in ("HAR101", "HAR105")}
    assert found == pointers
    assert report.exit_code == 1


@pytest.mark.parametrize(
    ("member_", "value", "severity", "below"),
    [
        ("id", None, "error", "/id"),
        ("id", True, "error", "/id"),
        ("id", 1.5, "error", "/id"),
        ("id", "", "warning", "/id"),
        ("input", ["a"], "error", "/input"),
        ("actual-output", ["It will rain."], "info", "/actual-output"),
        ("actual-output", [], "error", "/actual-output"),
        ("actual-output", ["a", 1], "error", "/actual-output/1"),
        ("actual-output", None, "error", "/actual-output"),
        ("expected-output", "It will rain.", "warning", "/expected-output"),
        ("expected-output", None, "error", "/expected-output"),
        ("expected-output", ["a", None], "error", "/expected-output/1"),
    ],
)
def test_what_an_instance_must_be(
    member_: str, value: Any, severity: str, below: str, known: dict[str, Any], tmp_path: Path
) -> None:
    known[INPUT]["instances"][1][member_] = value
    path = tmp_path / INPUT
    path.write_text(json.dumps(known[INPUT]))
    report = evalstream.check(path)
    assert seen(report) == {("HAR102", severity, None, f"/instances/1{below}")}
    assert report.exit_code == (severity == "error")


def test_lists_of_responses_are_noticed_once(known: dict[str, Any], tmp_path: Path) -> None:
    for instance in known[INPUT]["instances"]:
        instance["actual-output"] = [instance["actual-output"]]
    report = check(known, tmp_path)
    (finding,) = report
    assert (finding.code, finding.severity, finding.count) == ("HAR102", Severity.INFO, 3)
    assert report.passed


def test_ids_that_differ_in_type(known: dict[str, Any], tmp_path: Path) -> None:
    for number, instance in enumerate(known[INPUT]["instances"], 1):
        instance["id"] = number
    for record in known[LOG]:
        record["instance_id"] = record["instance_id"].removeprefix("weather-")
    assert check(known, tmp_path).passed
    known[INPUT]["instances"][1]["id"] = "1"
    known[LOG] = known[LOG][:1]
    report = check(known, tmp_path)
    assert ("HAR103", "warning", None, "/instances/1/id") in seen(report)


@pytest.mark.parametrize(
    ("change", "below"),
    [
        ({"id": 7}, "/id"),
        ({"id": ""}, "/id"),
        ({"enable": 1}, "/enable"),
        ({"enable": None}, "/enable"),
        ({"parameters": []}, "/parameters"),
        ({"parameters": None}, "/parameters"),
    ],
)
def test_what_a_metric_must_be(
    change: dict[str, Any], below: str, known: dict[str, Any], tmp_path: Path
) -> None:
    known[INPUT]["metrics"][1] |= change
    report = check(known, tmp_path)
    assert seen(report) == {("HAR104", "error", None, f"/metrics/1{below}")}


def test_no_metric_is_enabled(known: dict[str, Any], tmp_path: Path) -> None:
    for metric in known[INPUT]["metrics"]:
        metric["enable"] = False
    known[OUTPUT], known[LOG] = [], known[LOG][:0]
    path = written(known, tmp_path).aggregate
    report = evalstream.check(tmp_path / INPUT, aggregate=path)
    assert seen(report) == {("HAR105", "warning", None, "/metrics")}
    assert report.exit_code == 0


def test_only_supervised_metrics_need_references(known: dict[str, Any], tmp_path: Path) -> None:
    known[INPUT]["instances"][0]["expected-output"] = []
    del known[INPUT]["instances"][1]["expected-output"]
    assert seen(check(known, tmp_path)) == {
        ("HAR106", "warning", None, "/instances/0/expected-output"),
        ("HAR106", "warning", None, "/instances/1"),
    }
    known[INPUT]["metrics"][0]["enable"] = False
    assert "HAR106" not in codes(check(known, tmp_path / "again"))


@each(
    ("name", "expected"),
    [
        ("BLEU NLTK", True),
        ("HFBertScore", True),
        ("bert_score", True),
        ("rouge-l", True),
        ("ExactMatch", True),
        ("chrF++", True),
        ("TER", True),
        ("token_f1", True),
        ("Perplexity", False),
        ("Self-BLEU", False),
        ("CometKiwi", False),
        ("water usage", False),
        ("Flesch reading ease", False),
        ("", False),
    ],
)
def test_which_metrics_are_supervised(name: str, expected: bool) -> None:
    assert is_supervised(name) is expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"metric": None}, ("HAR201", "error", None, "/0/metric")),
        ({"metric": ""}, ("HAR201", "error", None, "/0/metric")),
        ({"parameters": []}, ("HAR201", "error", None, "/0/parameters")),
        ({"score": None}, ("HAR201", "error", None, "/0/score")),
        ({"score": {}}, ("HAR201", "error", None, "/0/score")),
        ({"elapsed time": -0.1}, ("HAR201", "error", None, "/0/elapsed time")),
        ({"elapsed time": "4 s"}, ("HAR201", "error", None, "/0/elapsed time")),
        ({"elapsed time": True}, ("HAR201", "error", None, "/0/elapsed time")),
    ],
)
def test_what_an_output_must_be(
    change: dict[str, Any], expected: Any, known: dict[str, Any], tmp_path: Path
) -> None:
    known[OUTPUT][0] |= change
    assert seen(check(known, tmp_path)) == {expected}


@pytest.mark.parametrize("member_", ["metric", "parameters", "score", "elapsed time"])
def test_an_output_lacks_a_member(member_: str, known: dict[str, Any], tmp_path: Path) -> None:
    del known[OUTPUT][1][member_]
    assert seen(check(known, tmp_path)) == {("HAR201", "error", None, "/1")}


def test_outputs_and_metrics_are_paired(known: dict[str, Any], tmp_path: Path) -> None:
    twice, other = copy.deepcopy(known[OUTPUT][0]), copy.deepcopy(known[OUTPUT][0])
    other["parameters"]["max_order"] = 9
    strange = {**other, "metric": "ROUGE"}
    idle = {**other, "metric": "Perplexity", "parameters": {"model": "tiny-lm"}, "score": 9}
    known[OUTPUT] = [known[OUTPUT][0], twice, other, strange, idle, 7]
    assert seen(check(known, tmp_path)) == {
        ("HAR201", "error", None, "/1"),  # a second object
        ("HAR201", "error", None, "/5"),  # no object
        ("HAR202", "warning", None, "/2"),  # other parameters
        ("HAR202", "warning", None, "/3"),  # not in the input
        ("HAR202", "warning", None, "/4"),  # not enabled
    }
    known[OUTPUT].pop()
    assert ("HAR201", "error", None, None) in seen(check(known, tmp_path))


def test_parameters_are_compared_as_values() -> None:
    key = parameters_key
    assert key({"a": 1, "b": [0.5]}) == key({"b": [0.5], "a": 1.0})
    assert key({"a": 1}) != key({"a": True})
    assert key({"a": 1}) != key({"a": "1"})
    assert key({"a": 2**70}) == key({"a": float(2**70)})
    assert key({"a": None}) != key({})


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"metric": 7}, "/metric"),
        ({"metric": "ROUGE"}, "/metric"),
        ({"parameters": None}, "/parameters"),
        ({"parameters": {"max_order": 2}}, "/parameters"),
        ({"instance_id": "weather-4"}, "/instance_id"),
        ({"instance_id": None}, "/instance_id"),
        ({"result": None}, "/result"),
        ({"result": {}}, "/result"),
    ],
)
def test_what_a_log_record_must_be(
    change: dict[str, Any], pointer: str, known: dict[str, Any], tmp_path: Path
) -> None:
    known[LOG][1] |= change
    report = check(known, tmp_path)
    assert ("HAR301", "error", 2, pointer) in seen(report)
    assert {found[0] for found in seen(report)} <= {"HAR301", "HAR302", "HAR303"}
    assert codes(report)["HAR301"] == 1


@pytest.mark.parametrize("member_", ["metric", "instance_id", "parameters", "result"])
def test_a_log_record_lacks_a_member(member_: str, known: dict[str, Any], tmp_path: Path) -> None:
    del known[LOG][1][member_]
    report = check(known, tmp_path)
    assert seen(report) == {("HAR301", "error", 2, "")}
    alone = evalstream.check(tmp_path / LOG)
    assert seen(alone) == {("HAR301", "error", 2, "")}


def test_a_log_is_held_against_an_output_alone(known: dict[str, Any], tmp_path: Path) -> None:
    known[OUTPUT][0]["parameters"]["max_order"] = 3
    known[OUTPUT].pop()
    case = written(known, tmp_path)
    report = evalstream.check(case.rows, aggregate=case.aggregate)
    assert seen(report) == {
        *(("HAR301", "error", line, "/parameters") for line in (1, 2, 3)),
        *(("HAR301", "error", line, "/metric") for line in (4, 5, 6)),
    }


def test_instances_that_a_metric_was_not_applied_to(known: dict[str, Any], tmp_path: Path) -> None:
    del known[LOG][2]
    report = check(known, tmp_path)
    (finding,) = report
    assert (finding.code, finding.line, finding.expected, finding.found) == ("HAR302", None, 3, 2)
    assert finding.message.endswith("missing: weather-3")
    alone = evalstream.check(tmp_path / LOG)
    assert codes(alone) == {"HAR302": 1}


def test_a_metric_need_not_log_at_all(known: dict[str, Any], tmp_path: Path) -> None:
    known[LOG] = known[LOG][:3]
    assert check(known, tmp_path).passed


def test_nothing_is_said_of_what_is_missing_where_records_are_lost(
    known: dict[str, Any], tmp_path: Path
) -> None:
    case = written(known, tmp_path)
    lines = case.rows.read_bytes().splitlines(keepends=True)
    case.rows.write_bytes(b"".join([lines[0], b'{"metric": "BLEU\n', *lines[2:]]))
    assert codes(case.check()) == {"ES103": 1}


@each(
    ("score", "result", "is_alike"),
    [
        (0.5, 1, True),
        (0.5, "a", False),
        (0.5, [0.5], False),
        ([1, 2], [1], True),
        ({"f1": 1}, {"f1": 0.5}, True),
        ({"f1": 1}, {"f1": "0.5"}, False),
        ({"f1": 1}, {"f1": 1, "recall": 1}, False),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, True),
        ({"a": {"b": 1}}, {"a": 2}, False),
    ],
)
def test_shapes_of_scores_and_results(score: Any, result: Any, is_alike: bool) -> None:
    assert (value_shape(score) == value_shape(result)) is is_alike


def test_a_result_of_another_shape_is_a_warning(known: dict[str, Any], tmp_path: Path) -> None:
    renamed(known, "Exact match")
    known[OUTPUT][0]["score"] = 0.667
    for record, result in zip(known[LOG], (True, False, True), strict=False):
        record["result"] = result
    report = check(known, tmp_path)
    assert seen(report) == {("HAR303", "warning", line, "/result") for line in (1, 2, 3)}
    assert states(report)["Exact match"] == ("confirmed", None)


@pytest.mark.parametrize(
    ("score", "state", "code"),
    [
        ("0.65", "confirmed", None),
        ("0.650", "confirmed", None),
        ("0.7", "rounded", ("HAR303", "info")),
        ("0.6", "rounded", ("HAR303", "info")),
        ("0.651", "open", ("HAR303", "warning")),
        ("65.0", "open", ("HAR303", "warning")),
    ],
)
def test_means_are_compared_to_the_digits_of_the_claim(
    score: str, state: str, code: tuple[str, str] | None, known: dict[str, Any], tmp_path: Path
) -> None:
    case = written(known, tmp_path)
    text = (tmp_path / OUTPUT).read_text().replace("0.65,", f"{score},")
    (tmp_path / OUTPUT).write_text(text)
    report = case.check()
    found = [(finding.code, finding.severity.label) for finding in report]
    assert found == ([] if code is None else [code])
    assert states(report)["BLEU NLTK"][0] == state
    assert report.passed
    assert case.check(strict=True).exit_code == (state == "open")


def test_a_repeated_record_leaves_the_score_open(known: dict[str, Any], tmp_path: Path) -> None:
    known[LOG].append({**known[LOG][0], "result": 0.0})
    report = check(known, tmp_path)
    assert seen(report) == {("HAR302", "warning", 7, None)}
    assert states(report)["BLEU NLTK"] == ("open", Reason.UNEVEN.value)
    assert states(report)["Word overlap/recall"] == ("confirmed", None)


def renamed(known: dict[str, Any], name: str) -> None:
    """Give the first metric of the three documents another name."""
    known[INPUT]["metrics"][0]["id"] = known[OUTPUT][0]["metric"] = name
    for record in known[LOG][:3]:
        record["metric"] = name


@pytest.mark.parametrize(
    ("name", "score", "state", "severity"),
    [
        ("METEOR NLTK", 0.65, "confirmed", None),
        ("METEOR NLTK", 0.75, "refuted", "error"),
        ("METEOR NLTK", 0.654, "rounded", "info"),
        ("METEOR NLTK", 65.0, "refuted", "error"),
        ("Exact match", 0.656, "refuted", "error"),
        ("Accuracy", 0.99, "refuted", "error"),
        ("Median", 0.5, "confirmed", None),
        ("Median", 0.65, "refuted", "error"),
        ("Balanced accuracy", 0.75, "open", "warning"),
        ("Balanced accuracy", 1.2, "refuted", "error"),
        ("Word error rate", 0.61, "open", "warning"),
        ("BLEU NLTK", 0.75, "open", "warning"),
        ("BLEU NLTK", 0.99, "open", "warning"),
        ("ROUGE", 0.75, "open", "warning"),
        ("Log perplexity", 2.5, "open", "warning"),
        ("Success", 2, "open", "warning"),
    ],
)
def test_the_name_of_a_metric_decides_what_refutes_its_score(
    name: str, score: float, state: str, severity: str | None, known: dict[str, Any], tmp_path: Path
) -> None:
    renamed(known, name)
    known[OUTPUT][0]["score"] = score
    report = check(known, tmp_path)
    found = [finding.severity.label for finding in report if line_of(finding) is None]
    assert found == ([severity] if severity else [])
    assert states(report)[name][0] == state
    assert report.runs[0].verdict == ("failed" if state == "refuted" else "passed")
    strict = check(known, tmp_path, strict=True)
    assert strict.exit_code == (severity in ("error", "warning"))


def test_a_corpus_score_alone_is_never_passed(known: dict[str, Any], tmp_path: Path) -> None:
    known[OUTPUT] = [{**known[OUTPUT][0], "score": 0.99}]
    known[INPUT]["metrics"] = known[INPUT]["metrics"][:1]
    known[LOG] = known[LOG][:3]
    report = check(known, tmp_path)
    assert (report.counts, report.runs[0].verdict) == ({"ES805": 1, "HAR303": 1}, "unconfirmed")
    assert states(report) == {"BLEU NLTK": ("open", Reason.FORMULA.value)}
    assert check(known, tmp_path, strict=True).exit_code == 1


@pytest.mark.parametrize(
    ("results", "score", "state"),
    [
        ([1.0, 0.5, 0.67], 0.7222222222222222, "rounded"),
        ([1.0, 0.5, 0.6667], 0.7222222222222222, "rounded"),
        ([1.0, 0.5, 0.67], 0.7166666666666667, "refuted"),
        ([0.33, 0.33, 0.33], 0.3333333333333333, "rounded"),
        ([0.7, 0.7, 0.7], 0.6666666666666666, "open"),
        ([56.3, 56.3, 56.4], 56.35, "rounded"),
        ([1, 0, 1], 0.6666666666666666, "confirmed"),
        ([1, 0, 1], 0.67, "rounded"),
        ([1, 0, 1], 0.6679, "refuted"),
        ([True, False, True], 0.6667, "confirmed"),
    ],
)
def test_results_that_were_rounded_are_evidence_to_their_digits(
    results: list[float], score: float, state: str, known: dict[str, Any], tmp_path: Path
) -> None:
    renamed(known, "METEOR")
    known[OUTPUT][0]["score"] = score
    for record, result in zip(known[LOG][:3], results, strict=True):
        record["result"] = result
    assert states(check(known, tmp_path))["METEOR"][0] == state


@pytest.mark.parametrize(
    ("name", "score", "state"),
    [
        *[("BLEU NLTK", number, "refuted") for number in (150, -0.1)],
        *[("BLEU NLTK", number, "open") for number in (0.61, 61.2)],
        *[("rougeL", 101, "refuted"), ("chrF++", 100.5, "refuted"), ("TER", 150, "open")],
        *[
            ("bleu_score", 140, "refuted"),
            ("rouge_l", 140, "refuted"),
            ("BLEU length", 360, "open"),
        ],
        *[("BLEU delta", -2, "open"), ("log-BLEU", -0.5, "open")],
    ],
)
def test_an_overlap_of_texts_is_a_share_or_in_percent(
    name: str, score: float, state: str, known: dict[str, Any], tmp_path: Path
) -> None:
    renamed(known, name)
    known[OUTPUT][0]["score"] = score
    assert states(check(known, tmp_path))[name][0] == state


def test_impossible_results_confirm_no_possible_mean(known: dict[str, Any], tmp_path: Path) -> None:
    known[OUTPUT][0]["score"] = 50
    for record, result in zip(known[LOG], (150, -50, 50), strict=False):
        record["result"] = result
    found = seen(check(known, tmp_path))
    assert found == {("HAR303", "error", line, "/result") for line in (1, 2)}


@pytest.mark.parametrize(
    "score", [[0.5, 0.6], "0.65", {"bleu": 0.65, "parts": [1]}, True, {"bleu": 0.65, "parts": None}]
)
def test_a_score_with_other_values_than_numbers_is_not_confirmed(
    score: Any, known: dict[str, Any], tmp_path: Path
) -> None:
    known[OUTPUT][0]["score"] = score
    for record in known[LOG][:3]:
        record["result"] = score
    report = check(known, tmp_path)
    found = states(report)
    label = "BLEU NLTK/parts" if isinstance(score, dict) else "BLEU NLTK"
    assert found[label] == ("open", Reason.NO_NUMBER.value)
    assert check(known, tmp_path, strict=True).exit_code == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("missing record", Reason.MISSING),
        ("record of an unknown instance", Reason.UNASSIGNED),
        ("result without a number", Reason.UNSCORED),
        ("two outputs", Reason.AMBIGUOUS),
        ("no records", Reason.UNJOINED),
        ("unread record", Reason.UNREAD),
    ],
)
def test_why_a_score_is_open(
    change: str, reason: Reason, known: dict[str, Any], tmp_path: Path
) -> None:
    known[OUTPUT][0]["score"] = 0.8
    if change == "missing record":
        del known[LOG][1]
    elif change == "record of an unknown instance":
        known[LOG][1]["instance_id"] = "weather-9"
    elif change == "result without a number":
        known[LOG][1]["result"] = None
    elif change == "two outputs":
        known[OUTPUT].append(dict(known[OUTPUT][0]))
    elif change == "no records":
        del known[LOG][:3]
    case = written(known, tmp_path)
    if change == "unread record":
        case.rows.write_bytes(case.rows.read_bytes() + b"{\n")
    assert states(case.check())["BLEU NLTK"] == ("open", reason.value)
    assert case.check(strict=True).exit_code == 1


def test_a_log_without_records_of_a_metric(known: dict[str, Any], tmp_path: Path) -> None:
    del known[LOG][3:]
    report = check(known, tmp_path)
    assert codes(report) == {"HAR304": 1}
    assert "an enabled metric: Word overlap" in next(iter(report)).message
    report = evalstream.check(tmp_path / LOG, aggregate=tmp_path / OUTPUT)
    assert "a metric of the output" in next(iter(report)).message
    known[LOG][0]["metric"] = None
    assert "HAR304" not in codes(check(known, tmp_path))


def test_a_log_that_is_an_array_is_read_and_named(known: dict[str, Any], tmp_path: Path) -> None:
    case = written(known, tmp_path)
    for indent in (None, 2):
        case.rows.write_text(json.dumps(known[LOG], indent=indent))
        report = case.check()
        assert (codes(report), report.runs[0].rows) == ({"HAR305": 1}, 6)


@pytest.mark.parametrize("is_wrapped", [True, False])
def test_a_log_whose_records_go_over_several_lines_is_named(
    is_wrapped: bool, known: dict[str, Any], tmp_path: Path
) -> None:
    case = written(known, tmp_path)
    documents = [{"log": known[LOG]}] if is_wrapped else known[LOG]
    case.rows.write_text("\n".join(json.dumps(one, indent=2) for one in documents))
    report = case.check()
    assert (codes(report), report.exit_code) == ({"ES005": 1}, 3)
    assert "write each record on one line" in next(iter(report)).message


def test_lines_are_looked_at_as_those_of_rows(known: dict[str, Any], tmp_path: Path) -> None:
    case = written(known, tmp_path)
    lines = case.rows.read_bytes().splitlines()
    text = b"\xef\xbb\xbf" + lines[0] + b"\r\n\n" + b"\n".join(lines[1:5])
    text += b"\n[1]\n" + lines[5][:-1] + b', "result": NaN}'
    case.rows.write_bytes(text)
    report = case.check()
    assert {(code, line) for code, _, line, _ in seen(report)} == {
        ("ES102", 1),
        ("ES112", None),
        ("ES110", 2),
        ("ES109", 7),
        ("ES107", 8),
        ("ES108", 8),
        ("ES111", 8),
    } | {(code, line) for code, _, line, _ in seen(report) if code == "HAR303"}
    assert report.runs[0].rows == 7


def test_long_deep_and_noisy_lines(known: dict[str, Any], tmp_path: Path) -> None:
    known[LOG][1]["note"] = "x" * 1000
    known[LOG][2]["note"] = [[[[[[1]]]]]]
    case = written(known, tmp_path)
    case.rows.write_bytes(b"INFO begin\n" + case.rows.read_bytes())
    report = case.check(max_line_bytes=900, max_depth=4, skip_noise=True)
    assert {(code, line) for code, _, line, _ in seen(report)} == {
        ("ES003", 3),
        ("ES006", None),
        ("ES113", 4),
    }
    assert report.exit_code == 1
    ignored = case.check(max_line_bytes=900, skip_noise=True, ignore=("ES003",))
    assert (codes(ignored), ignored.exit_code) == ({"ES006": 1}, 3)


def test_documents_are_read_exactly(known: dict[str, Any], tmp_path: Path) -> None:
    case = written(known, tmp_path)
    text = (tmp_path / OUTPUT).read_text()
    (tmp_path / OUTPUT).write_text(
        text.replace("0.041", "NaN").replace("0.65", '0.6, "score": 1e999')
    )
    (tmp_path / INPUT).write_bytes(b"\xef\xbb\xbf" + (tmp_path / INPUT).read_bytes())
    report = case.check()
    assert codes(report) == {"ES102": 1, "ES107": 1, "ES108": 2}
    assert report.exit_code == 1


BROKEN = [
    b"",
    b"\xff\xfe{\0",
    b"null",
    b"[]",
    b"{}",
    b"[[[]]]",
    b'"text"',
    b"[" * 5000 + b"]" * 5000,
    b'{"a":' * 3000 + b"1" + b"}" * 3000,
    b"{" + b'"metric":1,' * 3 + b'"score":1}',
    b'{"instances": [' + b"9" * 5000 + b"]}",
    b'[{"metric": "BLEU", "parameters": {"a": ' + b"[" * 150 + b"]" * 150 + b'}, "score": 1}]',
    b"\x1f\x8b\x08\x00broken",
    b"\0" * 100,
]


@each(
    ("role_and_data", "max_depth"),
    in_turn(list(product([INPUT, OUTPUT, LOG], BROKEN)), [200, 100_000]),
)
def test_no_document_crashes(
    role_and_data: tuple[str, bytes], max_depth: int, tmp_path: Path
) -> None:
    role, data = role_and_data
    case = written(documents(), tmp_path)
    (tmp_path / role).write_bytes(data)
    report = case.check(max_depth=max_depth)
    assert report.exit_code in (1, 3)
    assert not report.passed
    alone = evalstream.check(tmp_path / role, input_format="harpia", max_depth=max_depth)
    assert alone.exit_code in (1, 3)


def test_deep_parameters_at_any_depth_allowed(known: dict[str, Any], tmp_path: Path) -> None:
    case = written(known, tmp_path)
    deep = "[" * 700 + "]" * 700
    for path in (tmp_path / INPUT, tmp_path / OUTPUT, tmp_path / LOG):
        path.write_text(path.read_text().replace("true}", deep + "}"))
    report = case.check(max_depth=100_000)
    assert report.exit_code in (0, 1, 3)


ROLES = st.sampled_from([INPUT, OUTPUT, LOG])


@given(data=st.data())
@bounded(max_examples=examples(150))
def test_changed_documents_end_in_a_verdict(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    known = documents()
    document = known[data.draw(ROLES)]
    for _ in range(data.draw(st.integers(1, 3))):
        everywhere = list(places(document))
        if not everywhere:
            break
        place = data.draw(st.sampled_from(everywhere))
        owner, key = at(document, place[:-1]), place[-1]
        if data.draw(st.booleans()):
            owner[key] = data.draw(ODD_VALUES)
        elif isinstance(owner, dict):
            owner[data.draw(ODD_KEYS)] = owner.pop(key)
        else:
            del owner[key]
    folder = tmp_path_factory.mktemp("mutant")
    report = check(known, folder)
    assert report.exit_code in (0, 1, 3)
    verdicts = {run.verdict for run in report.runs}
    assert (verdicts <= {"passed", "unconfirmed"}) == (report.exit_code == 0)
    strict = check(known, folder, strict=True)
    assert strict.exit_code != 0 or (strict.passed and is_confirmed(strict))
    for name in (INPUT, OUTPUT, LOG):
        assert evalstream.check(folder / name, input_format="harpia").exit_code in (0, 1, 3)


@given(data=st.data(), role=ROLES)
@bounded(max_examples=examples(100))
def test_spoilt_bytes_end_in_a_verdict(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, role: str
) -> None:
    case = written(documents(), tmp_path_factory.mktemp("spoilt"))
    path = case.rows.with_name(role)
    path.write_bytes(data.draw(spoilt_bytes(path.read_bytes())))
    assert case.check().exit_code in (0, 1, 3)
    assert evalstream.check(path, input_format="harpia").exit_code in (0, 1, 3)


def results_of(data: bytes, cuts: list[int], options: Options) -> tuple[list[Any], Any, int]:
    """Check a log in blocks cut at newlines, and return faults by line, counts and rows."""
    record = LogRecordChecker(LogTally(Known()))
    engine = RecordContext(
        options, load_catalogue("harpia").selection(options), record=record
    ).checker()
    bounds = sorted({0, *cuts, len(data)})
    violations: list[Any] = []
    counts: dict[Any, int] = {}
    lines = rows = 0
    for start, stop in pairwise(bounds):
        result: BlockResult = engine.run(
            Lines(data[start:stop], base=start, final=stop == len(data))
        )
        violations += [(found.line + lines, *found[1:]) for found in result.violations]
        for key, count in result.counts.items():
            counts[key] = counts.get(key, 0) + count
        lines += result.tally.lines
        rows += result.tally.rows
    return violations, counts, rows


@given(data=st.data())
@bounded(max_examples=examples(60))
def test_any_cut_into_blocks_gives_the_same(data: st.DataObject) -> None:
    text = data.draw(spoilt_bytes((EXAMPLE / LOG).read_bytes() * 2))
    ends = [place + 1 for place, byte in enumerate(text) if byte == 10]
    cuts = data.draw(st.lists(st.sampled_from(ends), max_size=4)) if ends else []
    options = Options(max_findings=0)
    if text:
        assert results_of(text, cuts, options) == results_of(text, [], options)


def test_pairs_near_and_far() -> None:
    pairs = Pairs()
    taken = [(0, 0), (0, 1023), (0, 1024), (3, 10**9), (0, 1)]
    assert all(pairs.add(*pair) for pair in taken)
    assert not any(pairs.add(*pair) for pair in taken)
    assert all(pair in pairs for pair in taken)
    assert (1, 0) not in pairs


def test_identifiers_are_texts_and_whole_numbers() -> None:
    assert [identifier(value) for value in ("a", 3, 3.0, -0.0)] == ["a", "3", "3", "0"]
    assert [identifier(value) for value in (None, True, 1.5, [], {})] == [None] * 5


def test_long_instance_ids_are_told_apart(tmp_path: Path) -> None:
    record = {"metric": "BLEU", "parameters": {}, "result": 1}
    log = [{**record, "instance_id": "x" * 5000 + end} for end in "abca"]
    path = tmp_path / LOG
    path.write_text("".join(json.dumps(one) + "\n" for one in log))
    assert seen(evalstream.check(path)) == {("HAR302", "warning", 4, None)}


def test_recognition(tmp_path: Path) -> None:
    for name, kind in ((INPUT, "input"), (OUTPUT, "output"), (LOG, "log")):
        path = str(EXAMPLE / name)
        assert detect_kind(read_beginning(path)) == kind
    for path in (EXAMPLE.parent / "run.jsonl", EXAMPLE.parent / "aggregate.json"):
        assert detect_kind(read_beginning(str(path))) is None
    assert shown(str(EXAMPLE)) == ["harpia"]
    assert not read_beginning(str(tmp_path / "missing")).head
    assert not holds_records((EXAMPLE.parent / "run.jsonl").read_bytes())
    assert holds_records(b'no json\n{"metric": ')


def test_lists_and_outputs_by_shape() -> None:
    asked = [{"id": "BLEU", "parameters": {}}]
    found = find_lists({"things": [{"id": 1}], "asked": asked})
    assert (found.instances, found.metrics) == (("things", [{"id": 1}]), ("asked", asked))
    assert list_outputs(3) == []
    assert list_outputs({"instances": [], "metrics": []}) == []
    assert find_member({"Actual  Output": 1}, "actual-output") == ("Actual  Output", 1)


def test_a_torn_log_does_not_count_the_records_before(
    known: dict[str, Any], tmp_path: Path
) -> None:
    check(known, tmp_path)
    log = next(tmp_path.rglob(LOG))
    log.write_bytes(log.read_bytes()[:-30])
    (torn,) = (one for one in evalstream.check(log) if one.code == "ES104")
    assert torn.line == 6
    assert "whole row" not in torn.message


def test_selection_severity_and_values(known: dict[str, Any], tmp_path: Path) -> None:
    known[LOG][1]["instance_id"] = "weather-secret"
    del known[INPUT]["instances"][0]["expected-output"]
    assert codes(check(known, tmp_path, select=("HAR1",))) == {"HAR106": 1}
    assert check(known, tmp_path, select=("HAR1",), strict=True).exit_code == 1
    assert "HAR301" not in codes(check(known, tmp_path, ignore=("HAR3",)))
    for record in known[LOG]:
        record["result"] = "top secret"
    shown = check(known, tmp_path, show_values=False, max_findings=2)
    # Six results of another shape, and two scores that are open because of it.
    assert shown.counts["HAR303"] == 8
    assert [line_of(one) for one in shown if one.code == "HAR303"] == [1, 2, None]
    assert not any("top secret" in str(finding) for finding in shown)
    known[OUTPUT][0]["score"] = "top secret"
    shown = check(known, tmp_path, show_values=False)
    assert {claim.claimed for claim in shown.runs[0].claims} == {None, 0.889, 0.833}
