"""The generated rows pass or fail as the benchmarks expect, so that these measure what they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from depth import deep
from each import each

import evalstream
from benchmarks.generate.mixes import MIXES
from benchmarks.generate.runs import generate, main

SIZE = {"mixed": 150_000, "single": 60_000, "unicode": 60_000, "agentic": 600_000}


@pytest.mark.parametrize(
    ("mix", "version"),
    [
        (mix, version) if number % 2 == (version == "0.3.0") else deep(mix, version)
        for number, mix in enumerate(sorted(SIZE))
        for version in ("0.2.0", "0.3.0")
    ],
)
def test_sound_rows_pass_every_rule(tmp_path: Path, mix: str, version: str) -> None:
    run = generate(tmp_path, size=SIZE[mix], mix=mix, version=version, seed=1)
    report = evalstream.check(run.rows_path, aggregate=run.aggregate_path)
    assert [finding.as_dict() for finding in report] == []
    assert report.passed
    assert report.runs[0].rows == run.rows
    assert report.runs[0].bytes == run.bytes <= SIZE[mix]


@each("mix", sorted(MIXES.keys() - SIZE.keys()))
def test_each_finding_of_other_rows_is_known(tmp_path: Path, mix: str) -> None:
    run = generate(tmp_path, size=200_000, mix=mix, seed=1)
    report = evalstream.check(run.rows_path, aggregate=run.aggregate_path)
    assert report.counts == run.findings
    assert report.runs[0].rows == run.rows
    assert {code: run.rows * MIXES[mix].codes.count(code) for code in MIXES[mix].codes}.items() <= (
        report.counts.items()
    )
    assert abs(run.bytes / run.rows / MIXES[mix].mean_bytes() - 1) < 0.15


def test_the_exact_findings_of_faulty_rows_are_known(tmp_path: Path) -> None:
    run = generate(tmp_path, size=200_000, mix="mixed", faulty=True, seed=1)
    report = evalstream.check(run.rows_path, aggregate=run.aggregate_path)
    assert report.counts == run.findings


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--mix", "lm-eval", "--version", "0.2.0"), "rows exist in 0.3.0 only"),
        (("--version", "0.2.1"), "rows exist in 0.2.0 and 0.3.0 only"),
        (("--mix", "inspect-0.2.1", "--faulty"), "cannot be made faulty"),
        (("--size", "1K"), "no room for one row"),
    ],
)
def test_rows_that_do_not_exist_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--out", str(tmp_path), *arguments])
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("version", ["0.2.0", "0.3.0"])
def test_every_faulty_row_is_found(tmp_path: Path, version: str) -> None:
    run = generate(tmp_path, size=150_000, mix="mixed", version=version, faulty=True, seed=1)
    report = evalstream.check(run.rows_path, aggregate=run.aggregate_path, max_findings=0)
    assert {finding.line for finding in report if finding.line} == set(range(1, run.rows + 1))
    assert report.exit_code == 1


def test_generation_is_repeatable(tmp_path: Path) -> None:
    first, second = (
        generate(tmp_path / name, size=40_000, mix="mixed", version="0.3.0", seed=7)
        for name in ("first", "second")
    )
    assert first.rows_path.read_bytes() == second.rows_path.read_bytes()
