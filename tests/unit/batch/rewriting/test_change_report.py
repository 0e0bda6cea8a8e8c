"""Reports of changes: classes never mix, counts add up, values can be hidden."""

import json

from evalstream.batch.rewriting.change_report import (
    FIXED,
    MIGRATED,
    ChangeReport,
    outcome_as_dict,
    report_line,
)
from evalstream.batch.rewriting.outcome import ChangeStatus, Outcome
from evalstream.model.changes import (
    BLANK_LINES,
    NULL_DROPPED,
    Applied,
    Change,
    ChangeClass,
    ChangeKind,
    Example,
    Need,
)
from evalstream.model.exit_codes import ExitCode

DECIDED = ChangeKind("evaluation-id", ChangeClass.DECIDED, "id of the aggregate")
SECRET = "s3cret\x1b[31m"


def written(rows: str, lines: int = 2) -> Outcome:
    outcome = Outcome(rows, "a.json", target="new/a.json", row_count=lines)
    for line in range(1, lines + 1):
        null = Applied(Change(NULL_DROPPED, "/x"), Example("/x", "null", None))
        own = Applied(Change(DECIDED, "/id"), Example("/id", f'"{SECRET}"', '"b"'))
        outcome.row_changes.add_each([null, own], line)
    outcome.row_changes.add(Change(BLANK_LINES), lines=(3,))
    return outcome


def lines_of(report: ChangeReport) -> list[str]:
    return list(report.lines())


def test_classes_have_parts_of_their_own_and_units_are_right() -> None:
    report = ChangeReport(MIGRATED, is_dry=False)
    report.add(written("r.jsonl"))
    assert lines_of(report) == [
        "",
        "mechanical changes, which can be reversed:",
        "  null-dropped /x: null in an optional member dropped: 2 rows, from line 1",
        "  blank-lines: blank line removed: 1 line, from line 3",
        "",
        "decided changes:",
        "  evaluation-id /id: id of the aggregate: 2 rows, from line 1",
        "",
        "1 run: 1 written",
    ]


def test_several_runs_add_up_and_name_the_first() -> None:
    report = ChangeReport(FIXED, is_dry=True)
    report.add(written("r.jsonl"))
    report.add(written("s.jsonl", 3))
    lines = lines_of(report)
    assert "safe repairs:" in lines
    assert "unsafe repairs:" in lines
    assert "  evaluation-id /id: id of the aggregate: 5 rows of 2 runs, first r.jsonl:1, 2" in lines
    assert lines[-1] == "2 runs: 2 would be fixed"
    assert report.would_change


def test_examples_are_shown_on_demand_escaped_and_hidden_without_values() -> None:
    for show_values in (True, False):
        report = ChangeReport(MIGRATED, is_dry=False, diff=True, show_values=show_values)
        report.add(written("r.jsonl"))
        text = "\n".join(lines_of(report))
        assert ("s3cret" in text) == show_values
        assert "\x1b" not in text


def test_needs_of_several_runs_add_up_and_those_of_one_are_not_said_twice() -> None:
    rare, often = Need("a name is missing", "--name"), Need("a time is missing", "--time or --fill")
    report = ChangeReport(MIGRATED, is_dry=False)
    for rows, needs in (("r.jsonl", (rare, often)), ("s.jsonl", (often,))):
        refused = Outcome(rows, "a.json", needs=needs)
        refused.refuse("values must be supplied")
        assert list(report.describe_outcome(refused))[1:] == [
            f"  {need.what}: {need.options}" for need in needs
        ]
        report.add(refused)
        if rows == "r.jsonl":
            assert lines_of(report) == ["", "1 run: 1 refused"]
    assert lines_of(report) == [
        "",
        "to be supplied:",
        "  2 runs: a time is missing: --time or --fill",
        "  1 run: a name is missing: --name",
        "",
        "2 runs: 2 refused",
    ]
    summary = json.loads(json.dumps(report.as_dict()))["summary"]
    assert [one["runs"] for one in summary["needs"]] == [1, 2]


def test_what_is_refused_says_why_and_what_to_supply() -> None:
    need = Need("eval_library.name is missing", "--eval-library NAME@VERSION or --fill")
    refused = Outcome("r.jsonl", "a.json", needs=(need,))
    refused.refuse("1 value must be supplied")
    unread = Outcome("s.jsonl", None)
    unread.leave_unread("no permission")
    present = Outcome("t.jsonl", "a.json", ChangeStatus.PRESENT, "new/a.json", is_remembered=True)
    report = ChangeReport(MIGRATED, is_dry=False)
    said = []
    for outcome in (refused, unread, present):
        report.add(outcome)
        said += list(report.describe_outcome(outcome))
    assert said == [
        "r.jsonl: refused: 1 value must be supplied",
        "  eval_library.name is missing: --eval-library NAME@VERSION or --fill",
        "s.jsonl: could not be read: no permission",
        "t.jsonl: already there: new/a.json, unchanged since it passed",
    ]
    assert lines_of(report)[-1] == "3 runs: 1 already there, 1 refused, 1 not read"
    assert report.exit_code is ExitCode.UNCHECKED


def test_the_report_in_json_has_a_line_for_each_run_and_the_totals() -> None:
    report, outcome = ChangeReport(MIGRATED, is_dry=False), written("r.jsonl")
    report.add(outcome)
    line = json.loads(report_line(outcome_as_dict(outcome)))
    assert line["status"] == "written"
    assert line["target"] == "new/a.json"
    assert {change["kind"]: change["times"] for change in line["changes"]} == {
        "null-dropped": 2,
        "evaluation-id": 2,
        "blank-lines": 1,
    }
    summary = json.loads(report_line(report.as_dict()))["summary"]
    assert summary["runs"]["written"] == 1
    assert {change["class"] for change in summary["changes"]} == {"mechanical", "decided"}
    assert summary["exit_code"] == 0
