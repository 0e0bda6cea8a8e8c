"""The report in the shape of the validator of Every Eval Ever: places, words, files, verdicts."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st
from paths import EXAMPLES

import evalstream
from evalstream.model.finding import Excerpt, Finding, Severity
from evalstream.model.report import Report, Totals
from evalstream.model.run_summary import RunSummary
from evalstream.parsing.json import pointer
from evalstream.reporters.eee import EeeReporter, location

ROWS, AGGREGATE = "run_samples.jsonl", "run.json"
EMPTY: dict[str, Any] = dict.fromkeys(Finding._fields)


def finding(code: str, message: str = "wrong", **details: Any) -> Finding:
    """Make a finding in the rows; what is not given is absent."""
    given = {"file": ROWS, "severity": Severity.ERROR, "name": "name", **details}
    return Finding(**EMPTY | given | {"code": code, "message": message})


def in_row(line: int, code: str, message: str = "wrong", **details: Any) -> Finding:
    """Make a finding in a row."""
    return finding(code, message, line=line, offset=10 * line, **details)


def reported(findings: Sequence[Finding], *runs: RunSummary) -> list[dict[str, Any]]:
    """Return the objects of a report."""
    totals = Totals()
    for run in runs:
        totals.add(run)
    output = io.StringIO()
    reporter = EeeReporter(output)  # type: ignore[arg-type]  # it writes texts only
    for one in findings:
        reporter.finding(one)
    reporter.finish(Report(runs, findings, len(findings), 0, totals))
    text = output.getvalue()
    files: list[dict[str, Any]] = json.loads(text)
    assert text == json.dumps(files, indent=2) + "\n"
    assert EeeReporter.wrote(text.encode())
    return files


def run_of(findings: Sequence[Finding] = (), **details: Any) -> RunSummary:
    """Make the summary of a pair with some findings."""
    run = RunSummary(ROWS, AGGREGATE, "eee", **{"verdict": "passed", "rows": 3, **details})
    for one in findings:
        run.count(one.code, one.severity, one.occurrences)
    return run


PLACES = [
    (in_row(2, "ES202", pointer="/evaluation/score"), "line 2 -> evaluation -> score"),
    (in_row(2, "ES202", pointer="/choices/0/text"), "line 2 -> choices[0] -> text"),
    (in_row(2, "ES209", pointer=""), "line 2 -> (root)"),
    (in_row(2, "ES202", pointer="/a~1b/~0c"), "line 2 -> a/b -> ~c"),
    (
        in_row(2, "ES201", "raw is missing", pointer="/input", keyword="required"),
        "line 2 -> input -> raw",
    ),
    (
        in_row(
            2,
            "ES205",
            "unknown property modell; did you mean model_id?",
            pointer="",
            keyword="additionalProperties",
        ),
        "line 2 -> modell",
    ),
    (
        in_row(2, "ES209", "output is missing; a row requires it", pointer="", keyword="required"),
        "line 2 -> (root)",
    ),
    (in_row(2, "ES103", "expecting value at column 9 (byte 9)"), "line 2, col 9"),
    (in_row(2, "ES107", "the key 'a' occurs 2 times", pointer="/a"), "line 2"),
    (in_row(2, "ES109"), "line 2 -> (root)"),
    (finding("ES103", "expecting value at column 9", file=AGGREGATE, line=4), "line 4, col 9"),
    (finding("ES202", file=AGGREGATE, line=4, pointer="/a/1"), "a[1]"),
    (finding("ES301", pointer="/answer_attribution", count=11), "answer_attribution"),
    (finding("ES001"), "(file)"),
]


@each(("one", "place"), PLACES)
def test_places_are_written_as_the_validator_writes_them(one: Finding, place: str) -> None:
    assert location(one) == place


@given(st.lists(st.one_of(st.text(min_size=1), st.integers(0, 99)), min_size=1))
def test_every_step_of_a_pointer_is_in_the_place(path: list[str | int]) -> None:
    place = location(finding("ES202", pointer=pointer(path)))
    for step in path:
        assert str(step) in place


WORDS = [
    ("ES201", "a is missing", "required", None, "missing"),
    ("ES209", "a is missing; a row requires it", "required", None, "ES209"),
    ("ES202", "wrong", "type", {"type": "string"}, "string_type"),
    ("ES202", "wrong", "type", {"type": ["null", "integer"]}, "int_type"),
    ("ES204", "null", "type", None, "ES204"),
    ("ES203", "wrong", "enum", {"enum": [1]}, "enum"),
    ("ES103", "wrong", None, None, "json_parse_error"),
    ("ES501", "wrong", None, "ab", "ES501"),
]


@each(("code", "message", "keyword", "expected", "word"), WORDS)
def test_types_are_words_of_the_validator_or_our_codes(
    code: str, message: str, keyword: str | None, expected: Any, word: str
) -> None:
    one = in_row(2, code, message, pointer="", keyword=keyword, expected=expected)
    (_, rows) = reported([one], run_of([one]))
    (entry,) = rows["errors"]
    assert entry["type"] == word
    assert entry["msg"] == f"{message} ({code} name)"
    assert ("input" in entry) == (keyword is not None)


def test_input_is_the_value_that_was_found() -> None:
    found = [
        in_row(1, "ES202", pointer="/a", keyword="type", found=float("nan")),
        in_row(2, "ES501", pointer="/a", found="ab"),
        in_row(3, "ES103", found=Excerpt("{x", 1)),
    ]
    (_, rows) = reported(found, run_of(found))
    assert [one.get("input", "absent") for one in rows["errors"]] == [None, "ab", "absent"]


def test_a_clean_pair_has_an_object_for_each_file() -> None:
    info = in_row(1, "ES402", severity=Severity.INFO)
    assert reported([info], run_of([info])) == [
        {"file": AGGREGATE, "valid": True, "file_type": "aggregate", "line_count": 0}
        | {"errors": [], "warnings": []},
        {"file": ROWS, "valid": True, "file_type": "instance", "line_count": 3}
        | {"errors": [], "warnings": []},
    ]


def test_warnings_leave_a_file_valid() -> None:
    warning = in_row(1, "ES307", severity=Severity.WARNING)
    (_, rows) = reported([warning], run_of([warning]))
    assert rows["valid"] is True
    assert [one["type"] for one in rows["warnings"]] == ["ES307"]


def test_an_error_in_a_row_leaves_the_aggregate_valid_and_one_about_both_does_not() -> None:
    schema, count = in_row(1, "ES202", pointer="/a"), finding("ES503", file=AGGREGATE)
    aggregate, rows = reported([schema], run_of([schema], verdict="failed"))
    assert (aggregate["valid"], rows["valid"]) == (True, False)
    aggregate, rows = reported([count], run_of([count], verdict="failed"))
    assert (aggregate["valid"], rows["valid"]) == (False, False)
    assert rows["errors"][0]["msg"] == "run.json, which belongs to this file, has an error of ES503"


def test_what_is_counted_and_not_listed_is_said() -> None:
    shown = in_row(1, "ES202", pointer="/a")
    run = run_of([shown, shown, shown], verdict="failed")
    (_, rows) = reported([shown], run)
    assert rows["errors"][-1] == {
        "loc": "(truncated)",
        "msg": "2 more findings of ES202 counted and not listed",
        "type": "truncated",
    }


@each("name", ["notes.md", "run.json", "run.jsonl"])
def test_a_run_that_was_not_checked_is_not_valid(name: str) -> None:
    run = RunSummary(name, None, "eee", incomplete_reason="nothing was checked: no access")
    run.counts["ES001"] = 1
    (file,) = reported([], run)
    assert not file["valid"]
    assert file["errors"][0]["type"] == "not_checked"
    kinds = {"md": "unsupported", "json": "aggregate", "jsonl": "instance"}
    assert file["file_type"] == kinds[name.split(".")[1]]


def test_rows_that_were_not_checked_are_not_valid() -> None:
    run = run_of(verdict="failed")
    run.counts["ES001"] = 1
    aggregate, rows = reported([], run)
    assert (aggregate["valid"], rows["valid"]) == (True, False)
    assert rows["errors"][0]["type"] == "not_checked"


def test_a_run_that_fails_without_a_finding_is_not_valid() -> None:
    aggregate, rows = reported([], run_of(verdict="failed"))
    assert (aggregate["valid"], rows["valid"]) == (True, False)
    assert rows["errors"][0]["type"] == "failed"


def test_findings_of_other_files_come_last() -> None:
    elsewhere = finding("ES007", file="data", severity=Severity.WARNING)
    files = reported([elsewhere], run_of())
    assert [one["file"] for one in files] == [AGGREGATE, ROWS, "data"]
    assert files[-1]["file_type"] == "unsupported"


def test_a_file_of_several_runs_is_listed_once() -> None:
    files = reported([], run_of(), run_of())
    assert [one["file"] for one in files] == [AGGREGATE, ROWS]


@given(st.text())
def test_untrusted_text_stays_inside_its_string(text: str) -> None:
    one = in_row(1, "ES202", text, pointer=pointer([text]), found=text, file=text)
    (file,) = reported([one], RunSummary(text, None, "eee", rows=1))
    assert file["file"] == text
    assert file["errors"][0]["input"] == text


def test_values_are_hidden_on_request(tmp_path: Path) -> None:
    rows = tmp_path / "run.jsonl"
    line = json.loads((EXAMPLES / "run.jsonl").read_bytes().splitlines()[0])
    line["evaluation"]["score"] = "a secret"
    rows.write_text(json.dumps(line) + "\n")
    for show_values in (True, False):
        output = io.StringIO()
        reporter = EeeReporter(output)  # type: ignore[arg-type]  # it writes texts only
        evalstream.check(rows, reporter=reporter, show_values=show_values)
        assert ("a secret" in output.getvalue()) is show_values


@pytest.mark.parametrize("limit", [1, 0])
def test_every_file_with_an_error_shows_one_however_few_are_shown(
    limit: int, tmp_path: Path
) -> None:
    for name in ("run.jsonl", "aggregate.json"):
        text = (EXAMPLES / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace('"schema_version"', '"schemaversion"'))
    output = io.StringIO()
    evalstream.check(
        tmp_path / "run.jsonl",
        aggregate=tmp_path / "aggregate.json",
        select=("ES205", "ES215"),
        reporter=EeeReporter(output),  # type: ignore[arg-type]  # it writes texts only
        max_findings=limit,
    )
    files = json.loads(output.getvalue())
    assert [one["valid"] for one in files] == [False, False]
    assert all(
        {one["type"] for one in file["errors"]} & {"missing", "extra_forbidden"} for file in files
    )


def test_other_documents_are_not_taken_for_a_report() -> None:
    wrote = EeeReporter.wrote
    assert not any(map(wrote, (b"[]\n", b"[1]", b"[{}]", b'[{"file": 1}]', b'{"file": "a"}', b"")))
