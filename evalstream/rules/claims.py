"""Rules about claims that all formats share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from evalstream.model.claim import JudgedClaim, State, confirms_score
from evalstream.model.finding import Severity, Violation
from evalstream.rules.base import Rule

ES805: Final = Rule(
    "ES805",
    "nothing-confirmed",
    Severity.WARNING,
    "not one score of the run was confirmed",
    """
    What it finds: a run in which nothing fails and no score was confirmed: rows without an
    aggregate, documents without rows, or scores that the rows do not answer. For an aggregate of
    published figures (source_type documentation), which has no rows, it is an info, unless warnings
    fail the check.

    Why it matters: that nothing is wrong does not say that anything is right. The verdict is
    unconfirmed, and `--strict` fails.

    How to fix: Check the rows together with the document that claims their scores. Where claims are
    open, the reasons are beside them.

    Bad:
        aggregate:
          {
            "evaluation_results": [{
              "metric_config": {"evaluation_description": "novelty"},
              "score_details": {"score": 0.5}
            }]
          }

    Good:
        aggregate:
          {
            "evaluation_results": [{
              "metric_config": {"evaluation_description": "accuracy"},
              "score_details": {"score": 0.75}
            }]
          }
    """,
    about_aggregate=True,
)

RULES: Final = (ES805,)


def find_nothing_confirmed(
    claims: Iterable[JudgedClaim], pointer: str | None = None, *, is_info: bool = False
) -> Iterator[Violation]:
    """Report a run without a confirmed score, unless a refuted claim says more."""
    found = list(claims)
    if confirms_score(found) or any(claim.state is State.REFUTED for claim in found):
        return
    scores = sum(claim.is_score for claim in found)
    message = (
        f"none of {scores:,} scores was confirmed" if scores else "there is no score to confirm"
    )
    severity = Severity.INFO if is_info else None
    yield ES805.violation(message, pointer=pointer, severity=severity)
