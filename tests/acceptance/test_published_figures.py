"""Aggregates that report published figures have no rows, and pass as what they are."""

import json
from pathlib import Path
from typing import Any

from corpus import CORPUS, needs_corpus
from each import each
from paths import PAIRS

import evalstream
from evalstream.model.finding import Severity
from evalstream.reporters.run_lines import run_line

SOUND = next((PAIRS / "0.3.0").rglob("*.json"))
DETAILS = "detailed_evaluation_results"


def aggregate(tmp_path: Path, source: str | None, **members: Any) -> Path:
    """Write an aggregate without rows; a member that is None is left out."""
    document = {**json.loads(SOUND.read_bytes()), DETAILS: None, **members}
    document["source_metadata"] = {**document["source_metadata"], "source_type": source}
    kept = {name: value for name, value in document.items() if value is not None}
    path = tmp_path / "record.json"
    path.write_text(json.dumps(kept))
    return path


def test_documentation_is_unconfirmed_and_says_that_there_are_no_rows(tmp_path: Path) -> None:
    path = aggregate(tmp_path, "documentation")
    for named in (path, tmp_path):
        report = evalstream.check(named)
        assert (report.exit_code, report.counts, report.passed) == (0, {"ES805": 1}, False)
        (run,) = report.runs
        assert (run.file, run.rows, run.verdict) == (None, 0, "unconfirmed")
        assert run_line(run).startswith(f"{path}: unconfirmed: an aggregate without rows, 1 info; ")
        assert evalstream.check(named, strict=True).exit_code == 1


def test_a_run_without_its_rows_is_unconfirmed(tmp_path: Path) -> None:
    report = evalstream.check(aggregate(tmp_path, "evaluation_run"))
    assert (report.exit_code, report.counts, report.passed) == (0, {"ES506": 1, "ES805": 1}, False)
    assert report.runs[0].verdict == "unconfirmed"


def test_documentation_that_declares_rows_needs_them(tmp_path: Path) -> None:
    details = {"format": "jsonl", "file_path": "rows.jsonl"}
    path = aggregate(tmp_path, "documentation", **{DETAILS: details})
    report = evalstream.check(path, ignore=("ES2",))
    assert (report.exit_code, report.runs[0].verdict) == (3, "incomplete")


def test_documentation_with_violations_fails(tmp_path: Path) -> None:
    path = aggregate(tmp_path, "documentation", evaluation_results=[])
    document = json.loads(path.read_text())
    del document["evaluation_id"]
    path.write_text(json.dumps(document))
    report = evalstream.check(path)
    assert (report.exit_code, report.runs[0].verdict) == (1, "failed")


def test_rows_beside_documentation_are_checked(tmp_path: Path) -> None:
    aggregate(tmp_path, "documentation")
    (tmp_path / "record_samples.jsonl").write_text("{}\n")
    assert evalstream.check(tmp_path).exit_code == 1


@each("source", [None, 3, [], "Documentation"])
def test_odd_sources_are_not_documentation(tmp_path: Path, source: Any) -> None:
    report = evalstream.check(aggregate(tmp_path, source), select=("ES0", "ES805"))
    assert report.runs[0].verdict == "unconfirmed"
    assert [finding.severity for finding in report] == [Severity.WARNING]


@needs_corpus
def test_records_of_the_public_store_are_unconfirmed_if_they_are_sound() -> None:
    report = evalstream.check(CORPUS / "eee-aggregates", exclude=["expected.json"])
    verdicts: dict[tuple[Any, str], int] = {}
    for run in report.runs:
        source = json.loads(Path(run.aggregate or "").read_bytes())["source_metadata"]
        key = source.get("source_type"), run.verdict
        verdicts[key] = verdicts.get(key, 0) + 1
    assert verdicts[("documentation", "unconfirmed")] == 49
    assert {verdict for _, verdict in verdicts} == {"unconfirmed", "failed"}
