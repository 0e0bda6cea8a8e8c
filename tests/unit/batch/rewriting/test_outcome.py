"""The outcome of a run: its status, and its reasons within bounds."""

import signal
from pathlib import Path

import pytest
from rows import write_run

from evalstream import check
from evalstream.batch.rewriting.outcome import ChangeStatus, Outcome, Reasons, change_run
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Severity
from evalstream.model.options import Options
from evalstream.model.run import NoInput, Run
from evalstream.model.signals import STOPPING, Stopped


def leave_unread(_run: Run, _outcome: Outcome) -> None:
    raise CannotCheck("stopped")


def test_an_input_without_a_run_is_unread_for_its_reason() -> None:
    outcome = change_run(NoInput("a", "not a file"), leave_unread)
    assert (outcome.rows, outcome.status) == ("a", ChangeStatus.UNREAD)
    assert outcome.reasons == ("not a file",)


def test_a_check_that_a_signal_stops_ends_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run("rows.jsonl", None)
    assert change_run(run, leave_unread).reasons == ("stopped",)
    monkeypatch.setattr(STOPPING, "raised", None)
    monkeypatch.setattr(STOPPING, "_received", signal.SIGTERM)
    assert change_run(run, lambda *_: None).status is ChangeStatus.WRITTEN
    with pytest.raises(Stopped):
        change_run(run, leave_unread)


def test_reasons_are_cut_to_four_thousand_characters() -> None:
    for length, shown in ((4_000, "x" * 4_000), (4_001, "x" * 3_999 + "…")):
        outcome = Outcome(None, None)
        outcome.refuse("x" * length)
        assert outcome.reasons == (shown,)


def test_an_outcome_has_twenty_reasons_and_no_more(tmp_path: Path) -> None:
    rows, aggregate = write_run(tmp_path, b"{}\n")
    found = next(iter(check(rows, aggregate=aggregate, options=Options(jobs=1))))
    reasons = Reasons(None)
    for number in range(30):
        reasons.add(found._replace(severity=Severity.ERROR, message=f"message {number}"))
    assert len(reasons.of({found.code: 30})) == 20


@pytest.mark.parametrize("more", [0, 1, 2])
def test_findings_that_were_not_held_are_counted(more: int, tmp_path: Path) -> None:
    rows, aggregate = write_run(tmp_path, b"{}\n")
    found = next(iter(check(rows, aggregate=aggregate, options=Options(jobs=1))))
    reasons = Reasons(None)
    reasons.add(found._replace(severity=Severity.ERROR))
    words = [f"{found.code}: … and {more} more finding{'s' * (more > 1)}"] * (more > 0)
    assert list(reasons.of({found.code: 1 + more})[1:]) == words
