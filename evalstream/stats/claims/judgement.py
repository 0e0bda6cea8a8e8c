"""A claim of a document, and its judgement: confirmed, rounded, refuted or open."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any, Final

from evalstream.model.claim import JudgedClaim, Reason, State
from evalstream.model.data_class import NamedTuple
from evalstream.stats.claims.evidence import Evidence
from evalstream.stats.claims.kinds import ClaimKind, words
from evalstream.stats.claims.rounding import Agreement

PERCENT: Final = 100

FEWEST_DRAWS: Final = 100
"""Fewer draws of a bootstrap say too little about an error."""

_CLOSED_FORMS: Final = words(
    "analytic analytical approximation asymptotic central closed clt distribution error form "
    "formula gaussian interval limit normal standard student student's students t theorem wald "
    "wilson z"
)
"""Words of methods that compute an uncertainty from the scores."""

_OF_SHARES: Final = _CLOSED_FORMS | words(
    "agresti binomial clopper continuity corrected correction coull exact jeffreys pearson with"
)
"""Words of methods that do so where all scores are 0 or 1."""

_RESAMPLING: Final = words(
    "accelerated basic bca bias bootstrap bootstrapped corrected nonparametric percentile "
    "resampled resampling"
)
"""Words of resampling methods, whose figures are close to the closed forms."""


class Method(Enum):
    """How an uncertainty is computed.

    It is a closed form over samples, over scores of 0 and 1, or over clusters of samples, or
    resampling, or not known.
    """

    CLOSED = "closed"
    OF_SHARES = "of shares"
    CLUSTERED = "clustered"
    RESAMPLED = "resampled"
    UNKNOWN = "unknown"


@lru_cache(maxsize=256)
def method_named(name: str | None) -> Method:
    """Return the method that a document names; without a name it is the closed form."""
    words = (name or "").casefold().replace("_", " ").replace("-", " ").split()
    if _OF_SHARES.issuperset(words):
        return Method.CLOSED if _CLOSED_FORMS.issuperset(words) else Method.OF_SHARES
    if any(word.startswith("cluster") for word in words):
        return Method.CLUSTERED
    return Method.RESAMPLED if _RESAMPLING.issuperset(words) else Method.UNKNOWN


class Claim(NamedTuple):
    """A figure that a document states.

    `pointer` is its JSON Pointer, `value` the number with its digits as written, or the two ends of
    an interval; None if it is not a number. `shown` is the JSON value at the pointer. `method`,
    `draws` and `level` describe an uncertainty, and are None where it does not state them. With
    `has_all_digits` its writer never rounds: one or two digits are all that the figure has.
    """

    pointer: str
    label: str
    kind: ClaimKind
    value: Decimal | tuple[Decimal, Decimal] | None
    shown: Any
    is_score: bool = False
    method: str | None = None
    draws: int | None = None
    level: float | None = None
    has_all_digits: bool = False


def find_method(claim: Claim, evidence: Evidence) -> Method:
    """Return the method of an uncertainty; one of shares is not known for other scores."""
    method = method_named(claim.method)
    if method is not Method.OF_SHARES:
        return method
    return Method.CLOSED if evidence.is_binary else Method.UNKNOWN


class Judgement(NamedTuple):
    """A judged claim, and for a refuted one the message of its violation."""

    claim: JudgedClaim
    message: str = ""


def leave_open(
    claim: Claim, reason: Reason | str, rows: int = 0, recomputed: Any = None
) -> Judgement:
    """Return a claim that the rows neither confirm nor refute."""
    text = reason.value if isinstance(reason, Reason) else reason
    return Judgement(_make_judged(claim, State.OPEN, recomputed, rows, text))


def refute(claim: Claim, expected: Any, message: str, rows: int) -> Judgement:
    """Return a claim that cannot be true."""
    return Judgement(_make_judged(claim, State.REFUTED, expected, rows), message)


def confirm(
    claim: Claim,
    recomputed: Any,
    rows: int,
    found: Agreement = Agreement.FULL,
    reason: str | None = None,
) -> Judgement:
    """Return a claim that is true, at least after rounding."""
    state = State.CONFIRMED if found is Agreement.FULL else State.ROUNDED
    return Judgement(_make_judged(claim, state, recomputed, rows, reason))


def judge_count(claim: Claim, right: Collection[int], message: str, rows: int) -> Judgement:
    """Judge a count that may have some values; the greatest of them is expected of a wrong one."""
    for one in right:
        if one == claim.shown:
            return confirm(claim, one, rows)
    return refute(claim, max(right, default=0), message, rows)


def _make_judged(
    claim: Claim, state: State, recomputed: Any, rows: int, reason: str | None = None
) -> JudgedClaim:
    return JudgedClaim(
        claim.pointer,
        claim.label,
        claim.kind.name,
        claim.shown,
        recomputed,
        state,
        reason,
        rows,
        claim.is_score,
    )
