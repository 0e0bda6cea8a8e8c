"""What the summary of several runs counts."""

from report_fixture import finding

from evalstream.model.finding import Severity
from evalstream.model.report import GoneRuns, Report, Totals
from evalstream.model.run_summary import RunSummary, Verdict
from evalstream.reporters.overview import FirstFindings, ListedRun, Sums
from evalstream.reporters.summary import gone_lines


def describe(verdict: Verdict) -> str:
    """Return what is said of a file without rows and without an aggregate."""
    reason = "it is gone" if verdict == "incomplete" else None
    sums = Sums()
    sums.add(RunSummary("some.jsonl", None, "eee", verdict=verdict, incomplete_reason=reason))
    return sums.describe()


def test_an_empty_file_has_no_place_for_a_checksum() -> None:
    assert describe("failed") == ""
    assert describe("incomplete") == "checksum ok in 0 of 1 run, row count ok in 0 of 1 run"


def test_the_reason_of_a_failed_run_in_a_stored_report_is_an_error() -> None:
    run = RunSummary("some.jsonl", None, "eee", verdict="failed")
    findings = FirstFindings()
    for code, severity in (("ES110", Severity.WARNING), ("ES202", Severity.ERROR)):
        findings.add(finding(code, "a-name", severity, "words", file="some.jsonl"))
    reasons = findings.reasons([ListedRun(1, run)], Report([run], [], 2, 1, Totals()))
    assert "ES202" in reasons[1]


def test_runs_that_are_gone_are_counted() -> None:
    told = ["1 run that the ledger remembers is gone:", "  a"]
    assert [*gone_lines(Totals(gone=GoneRuns(1, ("a",))))] == told
    told = ["3 runs that the ledger remembers are gone:", "  a", "  … and 2 more"]
    assert [*gone_lines(Totals(gone=GoneRuns(3, ("a",))))] == told
