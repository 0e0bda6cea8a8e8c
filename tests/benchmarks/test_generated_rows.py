"""The generated rows pass or fail as the benchmarks expect, so that these measure what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

import evalstream
from benchmarks.generate.runs import generate

SIZE = {"mixed": 400_000, "single": 200_000, "unicode": 200_000, "agentic": 1_200_000}


@pytest.mark.parametrize("version", ["0.2.0", "0.3.0"])
@pytest.mark.parametrize("mix", sorted(SIZE))
def test_sound_rows_pass_every_rule(tmp_path: Path, mix: str, version: str) -> None:
    run = generate(tmp_path, size=SIZE[mix], mix=mix, version=version, seed=1)
    report = evalstream.check(run.rows_path, aggregate=run.aggregate_path)
    assert [finding.as_dict() for finding in report] == []
    assert report.passed
    assert report.runs[0].rows == run.rows
    assert report.runs[0].bytes == run.bytes <= SIZE[mix]


@pytest.mark.parametrize("version", ["0.2.0", "0.3.0"])
def test_every_faulty_row_is_found(tmp_path: Path, version: str) -> None:
    run = generate(tmp_path, size=400_000, mix="mixed", version=version, faulty=True, seed=1)
    report = evalstream.check(run.rows_path, aggregate=run.aggregate_path, max_findings=0)
    assert {finding.line for finding in report if finding.line} == set(range(1, run.rows + 1))
    assert report.exit_code == 1


def test_generation_is_repeatable(tmp_path: Path) -> None:
    first, second = (
        generate(tmp_path / name, size=100_000, mix="mixed", version="0.3.0", seed=7)
        for name in ("first", "second")
    )
    assert first.rows_path.read_bytes() == second.rows_path.read_bytes()
