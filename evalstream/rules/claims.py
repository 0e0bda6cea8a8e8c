"""Rules about claims that all formats share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from evalstream.model.claim import (
    JudgedClaim,
    Reason,
    State,
    confirms_score,
    list_scores,
    reasons_left_open,
)
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.rules.base import Rule, declare_rule
from evalstream.stats.claims.judgement import Judgement

LABELS: Final = 3
"""How many claims a message names."""

ES805: Final = declare_rule("ES805")

RULES: Final = (ES805,)


def find_nothing_confirmed(
    claims: Iterable[JudgedClaim], pointer: str | None = None, *, is_info: bool = False
) -> Iterator[Violation]:
    """Report a run without a confirmed score, unless a refuted claim says more."""
    found = list(claims)
    if confirms_score(found) or any(claim.state is State.REFUTED for claim in found):
        return
    scores = len(list_scores(found))
    message = "the only score was not confirmed" if scores else "there is no score to confirm"
    if scores > 1:
        message = f"none of {scores:,} scores was confirmed"
    yield ES805.violation(message, pointer, severity=Severity.INFO if is_info else None)


def find_refuted(
    rule: Rule,
    judgements: Iterable[Judgement],
    is_wanted: Callable[[JudgedClaim], bool] = lambda _claim: True,
) -> Iterator[Violation]:
    """Report refuted claims."""
    for claim, message in judgements:
        if claim.state is State.REFUTED and is_wanted(claim):
            yield claim_violation(rule, claim, message)


def find_rounded(rule: Rule, claims: Iterable[JudgedClaim]) -> Iterator[Violation]:
    """Report claims that agree at few digits only."""
    for claim in claims:
        if claim.state is State.ROUNDED:
            message = "the claim has too few digits to tell it from other figures"
            if claim.reason == Reason.COARSE.value:
                message = "the claim is as near to the figure as the digits of the rows show"
            yield claim_violation(rule, claim, message, Severity.INFO)


def find_open(rule: Rule, claims: Iterable[JudgedClaim]) -> Iterator[Violation]:
    """Report open claims, one violation for each reason."""
    for reason, some in reasons_left_open(claims):
        labels = ", ".join(dict.fromkeys(claim.label for claim in some[:LABELS]))
        more = f" and {len(some) - LABELS:,} more" if len(some) > LABELS else ""
        message = f"{count_noun(len(some), 'open claim')} ({labels}{more}): {reason}"
        count = len(some) if len(some) > 1 else None
        violation = claim_violation(rule, some[0], message, Severity.WARNING)
        yield violation._replace(expected=None, count=count)


def claim_violation(
    rule: Rule, claim: JudgedClaim, message: str, severity: Severity | None = None
) -> Violation:
    """Return the violation of a rule by a claim."""
    figures = {"expected": claim.recomputed, "found": claim.claimed}
    return rule.violation(message, claim.pointer, severity=severity, **figures)
