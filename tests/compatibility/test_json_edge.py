"""JSON at its edges: every case as one line of a file of rows, and as a file of its own."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from corpus import expectations, needs_corpus, reader_of
from each import each
from paths import EXAMPLES
from rows import hashed, valid_row

import evalstream
from evalstream.model.finding import Finding, Severity
from evalstream.model.report import Report

pytestmark = needs_corpus

Case = dict[str, Any]

CASES: list[Case] = expectations("json-edge/json-test-suite.json").get("cases", [])
ROW = (EXAMPLES / "run.jsonl").read_bytes().partition(b"\n")[0]
NO_VIOLATION_OF_TEXT = {"ES109", "ES114"}
"""What may be said of a line of sound JSON: it is not an object, or holds half a surrogate pair."""


def text_of(case: Case) -> bytes:
    """Return the bytes of a case without the newline that may end them."""
    return base64.b64decode(case["base64"]).removesuffix(b"\n")


def parameters(cases: list[Case]) -> Any:
    """Run a test for each case, named as in the suite."""
    return each("case", cases, lambda case: str(case["name"]))


LINES = [case for case in CASES if b"\n" not in text_of(case)]

every_case = parameters(CASES)
every_line = parameters(LINES)
every_sound_line = parameters([case for case in LINES if case["expected"] == "accept"])
every_broken_line = parameters(
    [case for case in LINES if case["expected"] == "reject" and not case["blank"]]
)
both_engines = pytest.mark.parametrize("engine", ["rust", "portable"])


def row(sample: str, **members: Any) -> bytes:
    """Return a sound row of its own, but for the members given."""
    own = json.loads(ROW)
    own["input"]["raw"] = f"{sample}: {own['input']['raw']}"
    return json.dumps({**hashed(own, "concat"), "sample_id": sample, **members}).encode()


def checked(path: Path, *lines: bytes, **settings: Any) -> Report:
    """Write lines to a file and check it."""
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return evalstream.check(path, jobs=1, max_findings=0, **settings)


def on_line(report: Report, number: int) -> list[Finding]:
    """Return the findings on one line."""
    return [finding for finding in report if finding.line == number]


def text_errors(findings: list[Finding]) -> list[Finding]:
    """Return the errors of bytes and JSON among findings."""
    return [
        finding
        for finding in findings
        if finding.code.startswith("ES1") and finding.severity is Severity.ERROR
    ]


@every_line
def test_a_line_is_judged_and_those_around_it_as_ever(case: Case, tmp_path: Path) -> None:
    first, last = row("first", model_id=5), row("last", model_id=5)
    report = checked(tmp_path / "run.jsonl", first, text_of(case), last)
    for number in (1, 3):
        found = [(finding.code, finding.pointer) for finding in on_line(report, number)]
        assert found == [("ES202", "/model_id")]
    assert report.exit_code == 1
    assert report.runs[0].rows == (2 if case["blank"] else 3)
    found = on_line(report, 2)
    if case["blank"]:
        assert [finding.code for finding in found] == ["ES110"]
    elif case["expected"] == "reject":
        assert (text_errors(found), len(found)) == (found, 1)
        assert found[0].code != "ES109"
        assert found[0].message
        assert found[0].offset == len(first) + 1
    elif case["expected"] == "accept":
        assert found
        codes = {finding.code for finding in found if finding.code.startswith("ES1")}
        assert codes <= NO_VIOLATION_OF_TEXT


@both_engines
@every_line
def test_no_case_is_accepted_as_a_row(case: Case, engine: str) -> None:
    assert valid_row(reader_of("auto", engine), text_of(case)) is None
    assert valid_row(reader_of("0.2.0", engine), text_of(case)) is None


@both_engines
@every_broken_line
def test_a_row_with_a_broken_value_is_not_accepted(case: Case, engine: str) -> None:
    line = row("broken", metadata={"value": "here"}).replace(b'"here"', text_of(case))
    accepted = valid_row(reader_of("0.2.0", engine), line)
    if accepted is not None:
        # What is no JSON by itself can be JSON in a row, such as a text cut in two.
        assert accepted == json.loads(line)


@both_engines
@every_sound_line
def test_a_row_with_a_sound_value_is_accepted(case: Case, engine: str) -> None:
    line = row("sound", metadata={"value": "here"}).replace(b'"here"', text_of(case))
    accepted = valid_row(reader_of("0.2.0", engine), line)
    assert accepted == json.loads(line)


@every_case
def test_a_case_by_itself_is_no_sound_file(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(base64.b64decode(case["base64"]))
    report = evalstream.check(path, jobs=1)
    assert report.exit_code in (1, 3)
    assert not report.passed
    assert list(report)


@every_case
def test_a_case_by_itself_is_no_aggregate(case: Case, tmp_path: Path) -> None:
    rows, aggregate = tmp_path / "run.jsonl", tmp_path / "aggregate.json"
    aggregate.write_bytes(base64.b64decode(case["base64"]))
    report = checked(rows, row("first"), aggregate=aggregate)
    assert report.exit_code == 1
    assert [finding for finding in report if finding.file == str(aggregate)]
    if case["expected"] == "reject":
        about = [finding for finding in report if finding.file == str(aggregate)]
        assert text_errors(about)
        assert not [finding for finding in about if finding.code == "ES109"]
