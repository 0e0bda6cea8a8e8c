"""What no share of right answers can be is refuted in reports of EvalGuard."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from paths import EXAMPLES

import evalstream
from evalstream.model.claim import State

REPORT = "reports/acorn-7b.yaml"


def check(folder: Path, value: Any, error: Any) -> evalstream.Report:
    shutil.copytree(EXAMPLES / "evalguard", folder / "evalguard")
    path = folder / "evalguard" / REPORT
    text = path.read_text().replace("value: 0.875", f"value: {value}")
    path.write_text(text.replace("stderr: 0.0234", f"stderr: {error}"))
    return evalstream.check(folder / "evalguard", max_findings=0)


@pytest.mark.parametrize(
    ("value", "error", "pointer"),
    [
        (-0.1, 0.0234, "/results/0/accuracy/value"),
        (101, 0.0234, "/results/0/accuracy/value"),
        (0.875, 0.65, "/results/0/accuracy/stderr"),
        (87.5, 60, "/results/0/accuracy/stderr"),
    ],
)
def test_an_impossible_share_or_error_is_refuted(
    value: float, error: float, pointer: str, tmp_path: Path
) -> None:
    report = check(tmp_path, value, error)
    (found,) = [one for one in report if one.code == "EVG401"]
    assert found.pointer == pointer
    refuted = {
        one.pointer for run in report.runs for one in run.claims if one.state == State.REFUTED
    }
    assert refuted == {pointer}


@pytest.mark.parametrize(
    ("value", "error"),
    [(0.875, 0.0234), (87.5, 2.34), (1.0, 0.0), (0.5, 0.5), (1.0, 0.01), (0.875, 0.6)],
)
def test_a_possible_share_is_open(value: float, error: float, tmp_path: Path) -> None:
    report = check(tmp_path, value, error)
    assert "EVG401" not in report.counts
    assert not any(one.state == State.REFUTED for run in report.runs for one in run.claims)
