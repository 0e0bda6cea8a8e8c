"""What the summary of several runs counts."""

from evalstream.model.run_summary import RunSummary, Verdict
from evalstream.reporters.overview import Sums


def describe(verdict: Verdict) -> str:
    """Return what is said of a file without rows and without an aggregate."""
    reason = "it is gone" if verdict == "incomplete" else None
    sums = Sums()
    sums.add(RunSummary("some.jsonl", None, "eee", verdict=verdict, incomplete_reason=reason))
    return sums.describe()


def test_an_empty_file_has_no_place_for_a_checksum() -> None:
    assert describe("failed") == ""
    assert describe("incomplete") == "checksum ok in 0 of 1 run, row count ok in 0 of 1 run"
