"""Tests of the JUnit report: its structure, and that only what was verified is a passed test."""

import json
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest
import report_fixture
from depth import examples
from each import each
from hostile import findings as hostile_findings
from hostile import names
from hypothesis import given, settings
from paths import EXAMPLES
from report_fixture import (
    ABSENT,
    FINDINGS,
    NOTICE,
    ROWS,
    SYNTAX,
    TYPE,
    UNSEALED,
    Case,
    claim,
    empty_run,
    failed_run,
    finding,
    render,
    several_formats,
    sound_run,
)

import evalstream
from evalstream.io.output import Output
from evalstream.model.claim import State
from evalstream.model.data_class import replace
from evalstream.model.finding import MORE, Finding, Severity
from evalstream.model.report import Report, Totals
from evalstream.model.run_summary import RunSummary, Verified
from evalstream.reporters.describe import file_name, visible
from evalstream.reporters.jsonl import JsonLinesReporter
from evalstream.reporters.junit import JunitReporter
from evalstream.reporters.junit_tests import MOST_CLAIMS

STRUCTURE: Final[dict[str, tuple[set[str], set[str], list[str]]]] = {
    "testsuites": ({"name"}, set(), ["testsuite"]),
    "testsuite": (
        {"name", "tests"},
        {"failures", "errors", "skipped", "time"},
        ["properties", "testcase"],
    ),
    "properties": (set(), set(), ["property"]),
    "property": ({"name", "value"}, set(), []),
    "testcase": ({"name", "classname"}, set(), ["skipped", "error", "failure", "system-out"]),
    "skipped": (set(), set(), []),
    "error": ({"message", "type"}, set(), []),
    "failure": ({"message", "type"}, set(), []),
    "system-out": (set(), set(), []),
}
"""Each element: attributes it must have, others it may have, and children in their order.

This is the part of the structure that Jenkins documents, and GitLab reads, which we use.
"""


def cases() -> dict[str, Case]:
    """Return the shared reports, and which findings fail their runs."""
    shared = report_fixture.cases()
    for case in shared.values():
        for run in case.runs:
            failing = {"ES103", "ES202", "ES204", "ES501", "INF201"} & run.counts.keys()
            run.failing = {code: run.counts[code] for code in failing}
    return shared


def parsed(case: Case) -> ET.Element:
    """Return the document of a report, whose structure is valid."""
    root = ET.fromstring(render(JunitReporter, case))
    assert root.tag == "testsuites"
    check(root)
    classes: set[str] = set()
    for suite in root:
        tests = suite.findall("testcase")
        counts = {
            "tests": len(tests),
            "failures": len(suite.findall("testcase/failure")),
            "errors": len(suite.findall("testcase/error")),
            "skipped": len(suite.findall("testcase/skipped")),
        }
        assert {key: int(suite.attrib[key]) for key in counts} == counts
        # GitLab ignores a test with the names of another one.
        assert len({test.attrib["name"] for test in tests}) == len(tests)
        (name,) = {test.attrib["classname"] for test in tests}
        assert name not in classes
        classes.add(name)
    return root


def check(element: ET.Element) -> None:
    """Check an element and what is in it."""
    required, others, children = STRUCTURE[element.tag]
    assert required <= element.attrib.keys() <= required | others
    numbers = [children.index(child.tag) for child in element]
    assert numbers == sorted(numbers)
    if element.tag == "testcase":
        assert len(element) <= 1
    for child in element:
        check(child)


def outcomes(case: Case, suite: int = 0) -> dict[str, str]:
    """Return the outcome of each test of a suite by name."""
    found = {}
    for test in parsed(case)[suite].findall("testcase"):
        kinds = {child.tag for child in test} - {"system-out"}
        found[test.attrib["name"]] = kinds.pop() if kinds else "passed"
    return found


def text_of(case: Case, name: str, suite: int = 0) -> str:
    """Return the text of a test."""
    for test in parsed(case)[suite].findall("testcase"):
        if test.attrib["name"] == name:
            return "".join(test.itertext()).strip()
    raise KeyError(name)


@each("name", cases())
def test_reports_have_the_structure_that_platforms_read(name: str) -> None:
    parsed(cases()[name])


def test_everything_verified_is_passed() -> None:
    assert outcomes(cases()["passed"]) == {
        "verdict": "passed",
        "checksum": "passed",
        "row count": "passed",
        "sample hashes": "passed",
        "claim accuracy: /evaluation_results/0/score_details/score": "passed",
        "claim accuracy of arc: /evaluation_results/1/score_details/score": "passed",
    }
    assert "checksum ok (sha256), row count ok" in text_of(cases()["passed"], "verdict")


def test_a_failed_run_shows_what_failed_and_what_was_not_verified() -> None:
    assert outcomes(cases()["failed"]) == {
        "verdict": "failure",
        "checksum": "failure",
        "row count": "passed",
        "sample hashes": "skipped",
        "claim größe: /evaluation_results/0/score_details/score": "failure",
        "claim recall: /evaluation_results/1/score_details/score": "skipped",
        "claim precision: /evaluation_results/2/score_details/score": "skipped",
        "claim samples of größe: /evaluation_results/0/count": "passed",
        "ES103 invalid-json": "failure",
        "ES202 wrong-type": "failure",
        "ES406 hash-absent": "passed",
        "ES501 checksum-mismatch": "failure",
        "ES508 weak-algorithm": "passed",
    }


def test_a_test_lists_findings_how_many_more_and_the_remedy() -> None:
    assert text_of(cases()["failed"], "ES202 wrong-type").splitlines() == [
        (
            "zwölf/run.jsonl:3 /evaluation/score: error: string where boolean or number is "
            'expected [sample arith-003]; expected {"type":["boolean","number"]}, found "0.5"'
        ),
        "… and 3 more",
        "fix: Write “6” as a number.",
    ]
    assert text_of(cases()["failed"], "ES406 hash-absent").splitlines() == [
        "1,234 findings",
        "zwölf/run.jsonl: warning: some rows lack sample_hash (1,234 rows)",
    ]


def test_ten_thousand_findings_are_one_short_test() -> None:
    lines = text_of(cases()["many"], "ES204 null-for-absent").splitlines()
    assert lines[20:] == ["… and 9,980 more", "fix: Leave the field out instead."]
    assert len(lines) == 22


def test_warnings_fail_where_they_fail_the_check() -> None:
    run = failed_run()
    run.failing = {"ES406": 1234}
    seen = outcomes(Case([ABSENT, NOTICE], [run]))
    assert (seen["ES406 hash-absent"], seen["ES508 weak-algorithm"]) == ("failure", "passed")


def test_what_was_not_checked_is_an_error_and_nothing_of_it_passed() -> None:
    assert outcomes(cases()["empty"]) == {
        "verdict": "error",
        "checksum": "skipped",
        "row count": "skipped",
        "sample hashes": "skipped",
        "claims": "skipped",
    }
    assert text_of(cases()["empty"], "checksum") == "nothing to check: no rows"


def test_a_rule_that_prevents_a_check_is_an_error() -> None:
    run = RunSummary("gone.jsonl", None, "eee")
    run.count("ES001", Severity.ERROR, 1)
    missing = finding("ES001", "unreadable-input", Severity.ERROR, "not found", file="gone.jsonl")
    seen = outcomes(Case([missing], [run]))
    assert (seen["verdict"], seen["ES001 unreadable-input"]) == ("error", "error")


def test_nothing_at_all_is_an_error() -> None:
    assert outcomes(Case([], [])) == {"verdict": "error"}


def test_runs_that_were_not_reached_are_an_error() -> None:
    class Stopped(Case):
        def report(self) -> Report:
            report = super().report()
            report.totals.unreached = 3
            return report

    case = Stopped([], [sound_run()])
    assert outcomes(case)["verdict"] == "passed"
    assert outcomes(case, 1) == {"verdict": "error"}
    assert "3 of 4 runs NOT CHECKED" in text_of(case, "verdict", 1)


def test_an_open_verdict_is_skipped() -> None:
    case = Case([UNSEALED], several_formats())
    assert outcomes(case, 1) == {
        "verdict": "skipped",
        "checksum": "skipped",
        "row count": "skipped",
        "sample hashes": "passed",
        "claims": "skipped",
        "ES506 unsealed": "passed",
    }


def test_an_aggregate_alone_verifies_nothing_of_rows() -> None:
    alone = RunSummary(None, "run.json", "eee", version="0.3.0", verdict="passed")
    seen = outcomes(Case([], [alone]))
    assert seen.pop("verdict") == "passed"
    assert set(seen.values()) == {"skipped"}
    assert text_of(Case([], [alone]), "claims") == "there are no claims"


def test_other_formats_have_a_verdict_and_the_checksum_that_they_declare() -> None:
    log = RunSummary("log.jsonl", "output.json", "harpia", rows=4, verdict="passed")
    assert outcomes(Case([], [log])) == {"verdict": "passed"}
    log.declared = log.actual = "ab"
    assert outcomes(Case([], [log])) == {"verdict": "passed", "checksum": "passed"}


def claims_of(run: RunSummary) -> dict[str, str]:
    """Return the outcome of each test about claims."""
    return {name: out for name, out in outcomes(Case([], [run])).items() if "claim" in name}


@each(
    ("state", "outcome", "text"),
    [
        (State.CONFIRMED, "passed", "claims 0.7, recomputed 0.7 from 8 rows: confirmed"),
        (State.ROUNDED, "passed", "claims 0.7, recomputed 0.7 from 8 rows: rounded"),
        (State.REFUTED, "failure", "claims 0.7, recomputed 0.7 from 8 rows: refuted"),
        (State.OPEN, "skipped", "claims 0.7, recomputed 0.7 from 8 rows: open (why)"),
    ],
)
def test_a_claim_is_a_test_whose_outcome_is_its_state(
    state: State, outcome: str, text: str
) -> None:
    reason = "why" if state is State.OPEN else None
    run = replace(sound_run(), verdict="failed", claims=[claim("f1", 0.7, 0.7, state, reason)])
    name = "claim f1: /evaluation_results/0/score_details/score"
    assert claims_of(run) == {name: outcome}
    assert text_of(Case([], [run]), name) == text


def test_a_refuted_claim_that_fails_no_check_is_not_passed() -> None:
    run = replace(sound_run(), ignored=("ES801",), claims=[claim("f1", 0.7, 0.5, State.REFUTED)])
    assert list(claims_of(run).values()) == ["skipped"]


def test_claims_beyond_the_limit_share_a_test() -> None:
    claims = [claim(f"c{n}", 0.5, 0.5, number=n) for n in range(MOST_CLAIMS + 3)]
    claims.append(claim("last", 0.5, 0.1, State.REFUTED))
    run = replace(sound_run(), verdict="failed", claims=claims)
    found = claims_of(run)
    assert len(found) == MOST_CLAIMS + 1
    assert "failure" in found.values()
    assert found["4 more claims"] == "passed"
    assert text_of(Case([], [run]), "4 more claims") == "not listed: 4 confirmed"
    refuted = replace(run, claims=[one._replace(state=State.REFUTED) for one in claims])
    assert set(claims_of(refuted).values()) == {"failure"}


def test_claims_of_one_name_have_tests_of_different_names() -> None:
    same = [claim("f1", value, value) for value in (0.1, 0.2, 0.3)]
    names = list(claims_of(replace(sound_run(), claims=same)))
    assert [name.partition("score_details/score")[2] for name in names] == ["", " (2)", " (3)"]


def test_a_run_without_claims_has_a_skipped_test_of_them() -> None:
    assert claims_of(replace(sound_run(), claims=[])) == {"claims": "skipped"}


def test_an_unconfirmed_run_is_skipped_and_says_why() -> None:
    case = Case([], [replace(sound_run(), verdict="unconfirmed", claims=[])])
    assert outcomes(case)["verdict"] == "skipped"
    assert text_of(case, "verdict").startswith("no score was confirmed: data/made_up")


@each(
    ("verified", "name"),
    [
        (Verified(None, True, 8, 8), "checksum"),
        (Verified(True, None, 8, 8), "row count"),
        (Verified(True, True, 7, 8), "sample hashes"),
        (Verified(True, True, 0, 8), "sample hashes"),
    ],
)
def test_what_was_not_verified_is_skipped(verified: Verified, name: str) -> None:
    assert outcomes(Case([], [replace(sound_run(), verified=verified)]))[name] == "skipped"


def test_a_wrong_checksum_whose_rule_was_left_out_is_not_passed() -> None:
    run = replace(sound_run(), verified=Verified(False, True, 8, 8), ignored=("ES501",))
    case = Case([], [run])
    assert outcomes(case)["checksum"] == "skipped"
    assert text_of(case, "checksum") == "checksum not ok; it does not fail this check"


def test_findings_below_the_listed_severity_are_counted() -> None:
    lines = text_of(Case([SYNTAX, TYPE], [failed_run()]), "ES406").splitlines()
    assert lines == ["1,234 findings", "… and 1,234 more"]


def test_findings_about_no_run_are_shown() -> None:
    other = finding("ES507", "orphaned-file", Severity.WARNING, "not checked", file="alone.txt")
    totals = Totals()
    assert totals.runs == 0
    case = Case([other], [])
    assert outcomes(case) == {"ES507 orphaned-file": "passed"}
    assert "alone.txt: warning: not checked" in text_of(case, "ES507 orphaned-file")
    many = Case([other._replace(line=number) for number in range(1, 30)], [])
    assert text_of(many, "ES507 orphaned-file").startswith("20 findings or more")


@each("folder", [".", "..", "x/y", "/x"])
def test_findings_below_a_run_that_is_a_folder_belong_to_it(folder: str) -> None:
    root = "" if folder == "." else f"{folder}/"
    run = RunSummary(folder, None, "evalguard", rows=2, verdict="failed")
    run.count("EVG401", Severity.ERROR, 2)
    run.failing = {"EVG401": 2}
    wrong = finding("EVG401", "unsound-report", Severity.ERROR, "no", file=f"{root}reports/a.yaml")
    other = finding("ES103", "invalid-json", Severity.ERROR, "no", file=f"{root}b.jsonl")
    case = Case([wrong, wrong._replace(file=f"{root}reports/b.yaml"), other], [run])
    assert outcomes(case) == {"verdict": "failure", "EVG401 unsound-report": "failure"}
    assert f"{root}reports/b.yaml: error: no" in text_of(case, "EVG401 unsound-report")
    assert [suite.attrib["name"] for suite in parsed(case)] == [folder, f"{root}b.jsonl"]


def test_findings_about_no_run_fail_if_those_of_a_run_do() -> None:
    run = failed_run()
    run.failing = {"ES202": 4}
    other = TYPE._replace(file="elsewhere.jsonl")
    assert outcomes(Case([other], [run]), 1) == {"ES202 wrong-type": "failure"}


def test_findings_between_runs_belong_to_their_run() -> None:
    first, second = sound_run("a", "a.json"), sound_run("b", "b.json")
    for run in (first, second):
        run.count("ES701", Severity.WARNING, 1)
        run.count("ES202", Severity.ERROR, 1)
    some = [
        finding(code, name, severity, f"in {file}", file=file)
        for code, name, severity in (
            ("ES202", "wrong-type", Severity.ERROR),
            ("ES701", "same-rows", Severity.WARNING),
        )
        for file in ("a", "b")
    ]
    case = Case(some, [first, second])
    for number, file in enumerate(("a", "b")):
        assert f"{file}: warning: in {file}" in text_of(case, "ES701 same-rows", number)
        assert f"{file}: error: in {file}" in text_of(case, "ES202 wrong-type", number)


def test_a_finding_for_many_says_so() -> None:
    more = TYPE._replace(message=MORE, count=3)
    assert "(3 findings)" in text_of(Case([TYPE, more], [failed_run()]), "ES202 wrong-type")


def test_values_are_hidden_if_asked(tmp_path: Path) -> None:
    rows, report, secret = tmp_path / "run.jsonl", tmp_path / "report.xml", "a-secret-text"
    line = json.loads((EXAMPLES / "run.jsonl").read_bytes().splitlines()[0])
    line["evaluation"]["score"] = secret
    rows.write_text(json.dumps(line) + "\n" + secret + "\n")
    for show_values in (True, False):
        with Output(str(report)) as output:
            evalstream.check(rows, reporter=JunitReporter(output), show_values=show_values)
        assert (secret in report.read_text()) is show_values


def test_a_stored_report_fails_what_the_check_failed(tmp_path: Path) -> None:
    rows, stored = tmp_path / "run.jsonl", tmp_path / "report.jsonl"
    rows.write_bytes((EXAMPLES / "run.jsonl").read_bytes())
    with Output(str(stored)) as output:
        evalstream.check(rows, reporter=JsonLinesReporter(output), strict=True)
    for is_stored in (False, True):
        with Output(str(tmp_path / "report.xml")) as output:
            reporter = JunitReporter(output)
            if is_stored:
                evalstream.read_report(stored, reporter=reporter)
            else:
                evalstream.check(rows, reporter=reporter, strict=True)
        (suite,) = ET.parse(tmp_path / "report.xml").getroot()
        failed = [one.attrib["name"] for one in suite if one.find("failure") is not None]
        assert failed == ["verdict", "ES506 unsealed", "ES805 nothing-confirmed"]


@settings(max_examples=examples(100), deadline=None)
@given(hostile_findings(), names)
def test_hostile_texts_stay_texts(one: Finding, name: str) -> None:
    run = RunSummary(one.file, name, "eee", verdict="failed", incomplete_reason=one.message)
    run.count(one.code, one.severity, one.occurrences)
    case = Case([one], [run])
    suite = parsed(case)[0]
    assert suite.attrib["name"] == f"{file_name(one.file)} with {file_name(name)}"
    text = text_of(case, "ES202 wrong-type")
    # What begins a line, and not a message within one, could be a command.
    either = visible(one.message), visible(f"x{one.message}")[1:]
    assert any(shown.strip() in text for shown in either) or len(text) > 900
    assert all(visible(line) == line for line in text.split("\n"))


def test_a_report_is_recognised_and_others_are_not() -> None:
    for case in (Case([], []), Case(FINDINGS, [failed_run(), empty_run()])):
        assert JunitReporter.wrote(render(JunitReporter, case).encode())
    foreign = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="pytest tests">'
    assert not JunitReporter.wrote(foreign.encode())


def test_standard_input_has_a_name() -> None:
    run = RunSummary("-", None, "eee", rows=1)
    run.count("ES202", Severity.ERROR, 1)
    case = Case([TYPE._replace(file="-")], [run])
    assert parsed(case)[0].attrib["name"] == "<stdin>"
    assert "<stdin>:3 /evaluation/score: error" in text_of(case, "ES202 wrong-type")
    assert ROWS not in text_of(case, "ES202 wrong-type")


def classes(*names: str) -> list[str]:
    """Return the class names of the suites of sound runs with these names of files."""
    runs = [replace(sound_run(), file=name, aggregate=None) for name in names]
    return [suite[1].attrib["classname"] for suite in parsed(Case([], runs))]


def test_a_class_is_the_path_below_the_folder_of_all_runs() -> None:
    assert classes("data/acme/a-1.5/x.jsonl") == ["x"]
    assert classes("data/acme/a-1.5/x.jsonl.gz", "data/acme/b/x.jsonl", "data/y.jsonl") == [
        "acme.a-1_5.x",
        "acme.b.x",
        "y",
    ]
    assert classes("/a/x.jsonl", "b/x.jsonl") == [".a.x", "b.x"]


def test_runs_never_share_a_class() -> None:
    assert classes("d/x.jsonl", "d/x.json", "d/x.jsonl") == ["x", "x (2)", "x (3)"]


def test_a_report_of_many_runs_has_suites_for_those_that_did_not_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evalstream.reporters.junit.MOST_SUITES", 2)
    runs = [*(replace(sound_run(), file=f"{number}.jsonl") for number in range(5)), failed_run()]
    others = [TYPE._replace(file=name) for name in ("a.json", "b.json")]
    root = parsed(Case([TYPE, *others], runs))
    names = [suite.attrib["name"].split(" with ")[0] for suite in root]
    assert names == [ROWS, "0.jsonl", "other files", "other runs"]
    assert outcomes(Case([], runs), 2) == {"verdict passed": "passed"}
    assert text_of(Case([], runs), "verdict passed", 2) == "4 more runs, not listed"


def test_a_report_ends_its_suites_below_the_size_that_platforms_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evalstream.reporters.junit.MOST_BYTES", 100)
    runs = [failed_run(), replace(failed_run(), file="2.jsonl"), empty_run()]
    assert outcomes(Case([], runs), 1) == {
        "verdict failed": "failure",
        "verdict incomplete": "error",
    }
