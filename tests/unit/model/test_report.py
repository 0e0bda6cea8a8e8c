"""The verdict of a run from its findings and claims, and totals of many runs."""

import pickle

import pytest
from each import each
from report_fixture import claim, every_verdict, sound_run

from evalstream.model.claim import JudgedClaim, Reason, State, describe_states
from evalstream.model.data_class import replace
from evalstream.model.finding import Severity
from evalstream.model.report import Report, Totals
from evalstream.model.run_summary import RunSummary

HELD = claim("f1", 0.5, 0.5)
ROUNDED = claim("f1", 0.5, 0.46, State.ROUNDED)
REFUTED = claim("f1", 0.5, 0.9, State.REFUTED)
OPEN = claim("f1", 0.5, None, State.OPEN, Reason.UNJOINED.value)
COUNTED = claim("samples", 8, 8, is_score=False)


def judged(*claims: JudgedClaim, reason: str | None = None, failing: int = 0) -> RunSummary:
    """Return a run that was judged."""
    run = RunSummary("a", "b", "eee", claims=list(claims), incomplete_reason=reason)
    run.judge({"ES801": failing} if failing else {})
    return run


@each("run", [RunSummary(None, None, ""), sound_run(), *every_verdict()])
def test_plain_values_hold_all_of_a_summary(run: RunSummary) -> None:
    copy = RunSummary.from_plain(pickle.loads(pickle.dumps(run.plain_values())))
    assert copy == run
    assert [*map(type, copy.claims)] == [*map(type, run.claims)]
    copy.counts["ES000"] = 1
    assert RunSummary(None, None, "").counts == {}


@each(
    ("run", "verdict"),
    [
        (judged(HELD), "passed"),
        (judged(ROUNDED, OPEN), "passed"),
        (judged(OPEN, COUNTED), "unconfirmed"),
        (judged(COUNTED), "unconfirmed"),
        (judged(), "unconfirmed"),
        (judged(HELD, REFUTED), "unconfirmed"),
        (judged(HELD, reason="cut off"), "incomplete"),
        (judged(HELD, REFUTED, failing=1), "failed"),
        (judged(HELD, reason="cut off", failing=1), "failed"),
    ],
)
def test_a_run_passes_only_with_a_confirmed_score(run: RunSummary, verdict: str) -> None:
    assert run.verdict == verdict


def test_documents_without_scores_pass_without_a_confirmed_one() -> None:
    run = RunSummary("guard", None, "evalguard")
    run.judge({}, has_scores=False)
    assert run.verdict == "passed"


def test_a_run_whose_findings_are_all_known_has_the_verdict_without_them() -> None:
    for run, verdict in ((judged(HELD, failing=1), "passed"), (judged(failing=1), "unconfirmed")):
        run.count("ES801", Severity.ERROR, 1)
        run.set_aside({("ES801", Severity.ERROR): 1}, Severity.ERROR)
        assert run.verdict == verdict
    known = replace(judged(REFUTED, failing=1), verdict="unconfirmed")
    assert not known.is_refuted


def test_totals_count_claims_by_state_and_failed_runs_with_refuted_ones() -> None:
    totals = Totals()
    for run in (*every_verdict(), sound_run("x", "y"), replace(judged(REFUTED), verdict="passed")):
        totals.add(run)
    assert totals.refuted_runs == 1
    assert totals.claims == {"confirmed": 5, "rounded": 2, "refuted": 3, "open": 17}
    encoded = totals.as_dict()
    assert encoded["refuted_runs"] == 1
    assert encoded["claims"] == totals.claims
    assert [encoded[one] for one in ("passed", "unconfirmed", "failed", "incomplete")] == [
        3,
        1,
        2,
        1,
    ]


def test_a_report_with_an_unconfirmed_run_is_not_passed() -> None:
    for runs, passed in (([judged(HELD)], True), ([judged(HELD), judged()], False)):
        totals = Totals()
        for run in runs:
            totals.add(run)
        assert Report(runs, [], 0, 0, totals).passed is passed


def test_states_are_described_in_their_order() -> None:
    counts = {"confirmed": 1_200, "rounded": 0, "refuted": 1, "open": 2}
    assert describe_states(counts) == "1,200 confirmed, 1 refuted, 2 open"
    assert describe_states({}) == ""


@each("one", [HELD, OPEN, REFUTED, COUNTED])
def test_a_claim_survives_json(one: JudgedClaim) -> None:
    assert JudgedClaim.from_dict(one.as_dict()) == one
    assert ("reason" in one.as_dict()) == (one.reason is not None)
    with pytest.raises(ValueError, match="recomputed"):
        JudgedClaim.from_dict(one.as_dict() | {"state": "recomputed"})
