"""The suite of changes measures what it says, and accepts no result that loses a row."""

import json
from pathlib import Path

import pytest
from depth import some

from benchmarks.generate.runs import generate
from benchmarks.harness.budgets import State
from benchmarks.harness.measure import Measurement
from benchmarks.harness.rounds import WrongAnswer
from benchmarks.suites import changes

TINY = changes.Scale(60_000, 3, 1, judges=False)
NOTHING = Measurement(0, 0, 0, None, 0, "", "")


@pytest.mark.parametrize("section", some(list(changes.SECTIONS.values()), 1))
def test_every_command_gives_a_right_answer(
    tmp_path: Path, section: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "MIXES", changes.MIXES[:1])
    (tmp_path / "here").mkdir()
    found = section(tmp_path / "here", TINY)  # type: ignore[operator]
    assert not found.errors
    assert {verdict.state for verdict in found.verdicts} <= {
        State.HELD,
        State.UNKNOWN,
        State.UNJUDGED,
    }


def test_a_result_without_a_row_is_a_wrong_answer(tmp_path: Path) -> None:
    run = generate(tmp_path / "run", size=20_000, mix="mixed", version="0.2.0", seed=1)
    placed = tmp_path / "new" / "data" / "c" / "d" / "m" / "u.json"
    placed.parent.mkdir(parents=True)
    for lacking in (1, 0):
        placed.parent.mkdir(parents=True, exist_ok=True)
        sealed = {"detailed_evaluation_results": {"total_rows": run.rows - lacking}}
        placed.write_text(json.dumps(sealed))
        if lacking:
            with pytest.raises(WrongAnswer):
                changes._migrated(run, tmp_path / "new", NOTHING)
        else:
            changes._migrated(run, tmp_path / "new", NOTHING)
