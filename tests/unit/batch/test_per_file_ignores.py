"""Rules are skipped in the runs of the files that match, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from each import each
from paths import REPOSITORY

import evalstream
from evalstream.batch.per_file_ignores import parse_per_file_ignore, with_per_file_ignores
from evalstream.io.output import Output
from evalstream.model.errors import UsageError
from evalstream.model.options import Options
from evalstream.reporters.jsonl import JsonLinesReporter

ROWS = (REPOSITORY / "examples" / "run.jsonl").read_bytes()
SPOILT = ROWS.replace(b'"sample_hash":', b'"sample_hash": "0", "was":', 1)


def covers(pattern: str, file: str) -> bool:
    """Tell whether a pattern matches a file."""
    options = with_per_file_ignores(Options(per_file_ignores=(f"{pattern}:ES1",)), [None, file])
    return options.ignore == ("ES1",)


@each(
    ("pattern", "file"),
    [
        ("run.jsonl", "a/b/run.jsonl"),
        ("*.jsonl", "/elsewhere/run.jsonl"),
        ("*.jsonl", "s3://bucket/old/run.jsonl"),
        ("old/*.jsonl", "old/run.jsonl"),
        ("old/*.jsonl", "./new/../old/run.jsonl"),
        ("./old/", "old/deep/run.jsonl"),
        ("old/**", "old/deep/run.jsonl"),
        ("**/old", "a/b/old/deep/run.jsonl"),
        ("**/old/**/r?n.jsonl", "old/run.jsonl"),
        ("/data/[ab]", "/data/a/run.jsonl"),
        ("s3://bucket/old/**", "s3://bucket/old/run.jsonl"),
        ("-", "-"),
        ("<stdin>", "-"),
    ],
)
def test_patterns_match(pattern: str, file: str) -> None:
    assert covers(pattern, file)


@each(
    ("pattern", "file"),
    [
        ("old", "old/run.jsonl"),
        ("old/*.jsonl", "old/deep/run.jsonl"),
        ("old/*.jsonl", "new/old/run.jsonl"),
        ("old/", "older/run.jsonl"),
        ("RUN.jsonl", "run.jsonl"),
        ("s3://bucket/old/**", "s3://other/old/run.jsonl"),
        ("bucket/old/**", "s3://bucket/old/run.jsonl"),
        ("*", "-"),
        ("**/*", "-"),
        ("-", "run.jsonl"),
    ],
)
def test_other_files_do_not_match(pattern: str, file: str) -> None:
    assert not covers(pattern, file)


def test_an_absolute_path_matches_a_relative_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert covers("old/*", f"{tmp_path}/old/run.jsonl")
    assert covers(f"{tmp_path}/old/*", "old/run.jsonl")


def test_many_wildcards_take_little_time() -> None:
    assert not covers("**/a/" * 40 + "b", "a/" * 200 + "c")


def test_what_is_ignored_anyway_stays_ignored() -> None:
    options = Options(ignore=("ES2",), per_file_ignores=("a:ES1,ES2", "*:IE1", "b:HL1"))
    assert with_per_file_ignores(options, ["a", None]).ignore == ("ES2", "ES1", "IE1")


@each("text", ["", ":", "a", "a:", ":ES1", "a: ,"])
def test_values_without_pattern_or_codes_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="PATTERN:CODES"):
        parse_per_file_ignore(text)


def test_the_last_colon_ends_the_pattern() -> None:
    assert parse_per_file_ignore("s3://b/x: ES1 , a-name,") == ("s3://b/x", ("ES1", "a-name"))


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(UsageError, match="XX999"):
        evalstream.check("run.jsonl", per_file_ignores=["a:XX999"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with one spoilt rows file in each of two folders."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.jsonl").write_bytes(SPOILT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verdicts(report: Iterable[evalstream.RunSummary]) -> list[tuple[str | None, str, list[str]]]:
    """Return the file, the verdict and the ignored rules of each run."""
    return [(run.file, run.verdict, list(run.ignored)) for run in report]


CODES = "ES405"
BOTH = [("new/run.jsonl", "failed", []), ("old/run.jsonl", "unconfirmed", [CODES])]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_passes_without_its_ignored_rules_and_says_so(jobs: int) -> None:
    report = evalstream.check(["new", "old"], per_file_ignores=[f"old/:{CODES}"], jobs=jobs)
    assert verdicts(report.runs) == BOTH
    assert [finding.file for finding in report if finding.code == CODES] == ["new/run.jsonl"]


@pytest.mark.usefixtures("folder")
def test_workers_ignore_the_same_rules(folder: Path) -> None:
    for number in range(25):
        for name in ("old", "new"):
            (folder / name / f"{number}.jsonl").write_bytes(SPOILT)
    report = evalstream.check(".", per_file_ignores=[f"old/:{CODES}"], jobs=2, executor="pool")
    failed = {run.file for run in report.runs if run.verdict == "failed"}
    assert failed == {f"new/{name}.jsonl" for name in ("run", *range(25))}


@pytest.mark.usefixtures("folder")
def test_a_run_without_any_rule_is_not_passed() -> None:
    select = ["ES4"]
    report = evalstream.check("old/run.jsonl", select=select, per_file_ignores=["*:ES4"])
    (run,) = report.runs
    assert (run.verdict, report.exit_code) == ("incomplete", 3)
    assert "leave no rule for the format eee" in (run.incomplete_reason or "")


@pytest.mark.usefixtures("folder")
def test_a_file_that_cannot_be_checked_stays_so() -> None:
    report = evalstream.check("gone.jsonl", per_file_ignores=["*:ES0"])
    assert report.exit_code == 3
    assert report.runs[0].ignored == ("ES0",)


def test_a_ledger_tells_working_directories_apart(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, rows = folder / "runs.ledger", str(folder / "old" / "run.jsonl")
    for _ in range(2):
        given = evalstream.check(rows, ledger=ledger, per_file_ignores=[f"old/:{CODES}"])
        assert given.runs[0].verdict == "unconfirmed"
    assert given.runs[0].unchanged
    monkeypatch.chdir(folder / "new")
    given = evalstream.check(rows, ledger=ledger, per_file_ignores=[f"old/:{CODES}"])
    assert given.runs[0].verdict == "failed"
    assert not evalstream.check(rows, ledger=ledger).passed


def test_shards_and_relations_between_runs_know_the_ignored_rules(folder: Path) -> None:
    def check(shard: str | None = None, ignored: tuple[str, ...] = ()) -> evalstream.Report:
        if shard is None:
            return evalstream.check(["new", "old"], per_file_ignores=ignored)
        part = folder / f"{shard[0]}.part"
        with Output(str(part)) as output:
            reporter = evalstream.PartReporter(output)
            return evalstream.check(
                ["new", "old"], shard=shard, reporter=reporter, per_file_ignores=ignored
            )

    between = {code for code in check().counts if code.startswith("ES9")}
    assert between
    ignored = ("old/:ES405,ES9",)
    whole = check(ignored=ignored)
    assert not any(code.startswith("ES9") for code in whole.runs[1].counts)
    for shard in ("1/2", "2/2"):
        check(shard, ignored)
    merged = evalstream.merge([folder / "1.part", folder / "2.part"])
    assert [run.counts for run in merged.runs] == [run.counts for run in whole.runs]
    assert verdicts(merged.runs) == verdicts(whole.runs)


@pytest.mark.usefixtures("folder")
def test_reports_name_the_ignored_rules(tmp_path: Path) -> None:
    target = tmp_path / "report.jsonl"
    with Output(str(target)) as output:
        evalstream.check(
            "old/run.jsonl",
            per_file_ignores=[f"run.jsonl:{CODES}"],
            reporter=JsonLinesReporter(output),
        )
    lines = map(json.loads, target.read_text().splitlines())
    (run,) = (line["run"] for line in lines if "run" in line)
    assert run["ignored"] == [CODES]
