"""One small pair with one fault at a time: which errors and warnings it must have."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from corpus import CORPUS, expectations, needs_corpus
from depth import some
from each import each

import evalstream
from evalstream.formats.registry import CATALOGUE
from evalstream.model.finding import Severity
from evalstream.model.report import Report

pytestmark = needs_corpus

LAYERS = ("ES0", "ES1", "ES2", "ES4", "ES5", "ES6")
"""The layers that the cases are about: bytes, text, schema, identity, seal and links."""

FOLDER = CORPUS / "link-cases"
FACTS: dict[str, Any] = expectations("link-cases/expected.json")
CASES: dict[str, Any] = {case["case"]: case for case in FACTS.get("cases", [])}

EXPECTED = {
    "unchanged": "",
    "checksum-one-digit": "E501",
    "checksum-uppercase": "W502",
    "checksum-prefixed": "W502",
    "checksum-missing": "W506",
    "checksum-empty": "E502",
    "checksum-md5-under-sha256": "E501",  # the diagnosis names the algorithm: nearer than E502
    "md5-declared": "E405",  # sample_hash has the wrong length for hash_algorithm
    "hash-algorithm-missing": "W502",
    "total-rows-one-more": "E503",
    "total-rows-one-less": "E503",
    "total-rows-zero": "E503",
    "total-rows-missing": "W506",
    "total-rows-float": "",  # 4.0 is an integer
    "file-changed-later": "E501",
    "row-dropped-later": "E501 E503 W610",
    "evaluation-id-one-row": "E601",
    "evaluation-id-all-rows": "E601",
    "model-id-one-row": "E602",
    "evaluation-name-unknown": "W605 W409",  # the sample's other repeat has its old name
    "sample-hash-wrong": "E401",
    "sample-hash-null": "W406",
    "sample-hash-missing": "W406",
    "sample-hash-uppercase": "W405",
    "sample-hash-md5": "E405",  # as md5-declared
    "sample-hash-sorted-json": "",
    "sample-hash-mixed-recipes": "E403",
    "reference-changed": "E401 E407",
    "sample-id-twice": "E407 W407 E409 W610",
    "whole-row-twice": "E408",
    "schema-version-mixed": "W215 E205",  # 0.2.1 knows no evaluation_result_id
    "schema-fault-one-row": "E202",
    "no-final-newline": "W111",
    "crlf": "W112",
    "cr-only": "E105 E503",  # CR alone ends no line
    "blank-line-inside": "W110",
    "blank-lines-at-end": "W110",
    "spaces-only-line": "W110",
    "leading-spaces": "",
    "bom": "W102",
    "utf-16": "E102",
    "truncated-last-line": "E104",
    "two-rows-on-one-line": "E105 E503",
    "pretty-printed-row": "E103 E109 E503",  # its lines are not rows, so none repeats another
    "json-array-file": "E505",
    "trailing-comma": "E103",
    "invalid-utf-8": "E101",
    "utf-8-surrogate": "E101",
    "overlong-utf-8": "E101",
    "nul-byte": "E106",
    "raw-tab": "E103",  # white space of JSON in a place where it may not stand
    "raw-delete": "",
    "line-separator": "",
    "next-line": "",
    "lone-surrogate-escape": "W114",
    "escaped-nul": "",
    "bad-escape": "E103",
    "form-feed-raw": "E106",
    "file-separator-raw": "E106",
    "score-nan": "E108",
    "score-infinity": "E108",
    "score-overflow": "E108",
    "score-huge-integer": "",
    "score-leading-zero": "E103",
    "score-plus": "E103",
    "score-hex": "E103",
    "score-minus-zero": "",
    "duplicate-key": "E107 E203",
    "duplicate-key-same-value": "E107",
    "single-quotes": "E103",
    "comment-line": "E103 E503",
    "row-is-list": "E109",
    "row-is-null": "E109",
    "deep-nesting": "E113",
    "long-line": "",
    "empty-file": "E504",
    "newline-only": "W110 E504",
    "file-missing": "E001",
    "file-path-other-name": "E213 W507",
    "file-path-upwards": "E213 W507",
    "file-path-from-root": "E213 W507",
    "file-path-base-name": "E213",
    "file-path-backslashes": "E213 W507",
    "file-path-missing": "E201",
    "no-details": "W506",
    "details-null": "E204 W506",
    "format-json": "E505",
}
"""Errors and warnings by case, by the letter of the rules: E401 is ES401 as an error."""

LINES_OF = {
    "ES101": "lines_not_utf8",
    "ES107": "lines_with_duplicate_keys",
    "ES108": "lines_with_nonfinite_numbers",
    "ES110": "blank_lines",
    "ES601": "lines_with_other_evaluation_id",
    "ES602": "lines_with_other_model_id",
}
"""Which fact of the corpus names the lines on which a rule must speak."""

UNREAD = {"utf-16", "json-array-file"}
"""Cases whose lines are not looked at."""

Check = Callable[[str], Report]


def from_the_aggregate(case: str) -> Report:
    """Check the aggregate of a case; its rows are found."""
    return evalstream.check(aggregate_of(case), select=LAYERS, jobs=1, max_findings=0)


def from_the_rows(case: str) -> Report:
    """Check the rows of a case; their aggregate is found."""
    return evalstream.check(rows_of(case), select=LAYERS, jobs=1, max_findings=0)


def with_the_aggregate(case: str) -> Report:
    """Check the rows of a case against the aggregate that is named."""
    aggregate = aggregate_of(case)
    return evalstream.check(
        rows_of(case), aggregate=aggregate, select=LAYERS, jobs=1, max_findings=0
    )


def from_the_folder(case: str) -> Report:
    """Check the whole folder of a case."""
    return evalstream.check(FOLDER / case, select=LAYERS, jobs=1, max_findings=0)


def rows_of(case: str) -> Path:
    """Return where the rows of a case lie."""
    return FOLDER / case / FACTS["samples_path"]


def aggregate_of(case: str) -> Path:
    """Return where the aggregate of a case lies."""
    return FOLDER / case / FACTS["aggregate_path"]


def expected_findings(case: str) -> set[tuple[str, Severity]]:
    """Return the codes and severities that a case must have, of the rules that there are."""
    severities = {"E": Severity.ERROR, "W": Severity.WARNING}
    marks = EXPECTED[case].split()
    expected = {(f"ES{mark[1:]}", severities[mark[0]]) for mark in marks}
    return {(code, severity) for code, severity in expected if code in CATALOGUE}


every_case = each("case", some(list(CASES), 24))
every_case_with_rows = each(
    "case", [name for name, facts in CASES.items() if facts["samples_file_present"]]
)
every_way = pytest.mark.parametrize(
    "check", [from_the_aggregate, from_the_rows, with_the_aggregate, from_the_folder]
)


def test_every_case_is_expected() -> None:
    assert set(CASES) == set(EXPECTED)


@every_way
@every_case
def test_a_case_has_its_findings_and_fails_with_an_error(case: str, check: Check) -> None:
    report = check(case)
    seen = {(finding.code, finding.severity) for finding in report}
    notices = {(code, severity) for code, severity in seen if severity is Severity.INFO}
    expected = expected_findings(case)
    assert seen - notices == expected
    errors = {code for code, severity in expected if severity is Severity.ERROR}
    assert report.exit_code == (3 if errors == {"ES001"} else 1 if errors else 0)
    # Claims belong to rules that are not selected; where rows refute them, no score is confirmed.
    verdicts = {"passed", "unconfirmed"}
    assert all((run.verdict in verdicts) == (not errors) for run in report.runs)


@every_case_with_rows
def test_the_rows_of_a_case_are_counted_and_digested_and_the_faulty_ones_found(case: str) -> None:
    facts, report = CASES[case], with_the_aggregate(case)
    (run,) = report.runs
    assert run.actual == facts[run.algorithm or ""]
    if case in UNREAD:
        return
    assert run.rows == facts["non_blank_lines"]
    for code, fact in LINES_OF.items():
        lines = [finding.line for finding in report if finding.code == code]
        assert lines == facts[fact], code
