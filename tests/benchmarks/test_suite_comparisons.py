"""The suite of comparisons measures what it says, and accepts no sample that is lost."""

import json
from pathlib import Path

import pytest

from benchmarks.generate.runs import generate
from benchmarks.harness.budgets import State
from benchmarks.harness.measure import Measurement
from benchmarks.harness.rounds import WrongAnswer
from benchmarks.suites import comparisons

TINY = comparisons.Scale(60_000, 1, judges=False)
NOTHING = Measurement(0, 0, 0, None, 0, "", "")


@pytest.mark.deep
def test_every_command_gives_a_right_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparisons, "MIXES", comparisons.MIXES[:1])
    (tmp_path / "here").mkdir()
    found = comparisons.comparison(tmp_path / "here", TINY)
    assert not found.errors
    assert {verdict.state for verdict in found.verdicts} <= {
        State.HELD,
        State.UNKNOWN,
        State.UNJUDGED,
    }


@pytest.mark.parametrize(("lacking", "difference"), [(1, 0.0), (0, 0.5), (0, 0.0)])
def test_a_lost_sample_and_a_difference_are_wrong_answers(
    lacking: int, difference: float, tmp_path: Path
) -> None:
    run = generate(tmp_path / "run", size=20_000, mix="mixed", version="0.2.0", seed=1)
    report = tmp_path / "report.json"
    one = {"alignment": {"matched": run.rows - lacking}, "estimate": {"difference": difference}}
    report.write_text(json.dumps({"comparisons": [one]}))
    if lacking or difference:
        with pytest.raises(WrongAnswer):
            comparisons._compared(run, report, NOTHING)
    else:
        comparisons._compared(run, report, NOTHING)
