"""Claims in words: each compared with its rows, and those joined that say the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from evalstream.model.claim import JudgedClaim, State
from evalstream.model.report import RunSummary
from evalstream.model.text import count_noun
from evalstream.parsing.json import dumps

WORST_FIRST: Final = (State.REFUTED, State.OPEN, State.ROUNDED, State.CONFIRMED)
"""The states in the order in which reports list claims."""

LINES_SHOWN: Final = 20
"""How many lines about claims a run has in reports for people."""

LABELS_SHOWN: Final = 3
"""How many claims are named in a line about several."""

VALUE: Final = 80
"""How many characters of a claimed value are shown."""


def sort_claims(claims: Iterable[JudgedClaim]) -> list[JudgedClaim]:
    """Return claims by state, refuted ones first, and of each state scores first."""
    return sorted(claims, key=lambda one: (WORST_FIRST.index(one.state), not one.is_score))


def claim_lines(run: RunSummary, *, refuted_only: bool = False) -> Iterator[str]:
    """Iterate over lines about a run's scores and its refuted and open claims, refuted ones first.

    Claims that say the same share a line.
    """
    groups: dict[object, list[JudgedClaim]] = {}
    for claim in sort_claims(run.claims):
        is_listed = claim.is_score or not claim.state.holds
        if claim.state is State.REFUTED or (is_listed and not refuted_only):
            is_open = claim.state is State.OPEN
            what = claim.reason if is_open else describe_claim(claim)
            groups.setdefault((claim.state, what), []).append(claim)
    lines = [_join(claims) for claims in groups.values()]
    yield from lines[:LINES_SHOWN]
    if more := sum(map(len, list(groups.values())[LINES_SHOWN:])):
        yield f"… and {count_noun(more, 'more claim')} (--format json lists all)"


def describe_claim(claim: JudgedClaim) -> str:
    """Return a claim's value, the recomputed one, and its state in words."""
    claimed, recomputed = format_value(claim.claimed), format_value(claim.recomputed)
    if claim.recomputed is None:
        return f"claims {claimed}: {describe_state(claim)}"
    if claimed == recomputed and claim.state is State.REFUTED:
        # All digits are needed to see a difference.
        claimed, recomputed = (f"{one!s:.{VALUE}}" for one in (claim.claimed, claim.recomputed))
    # What follows from other figures, such as that of a group, follows from no row.
    rows = f" from {count_noun(claim.rows, 'row')}" if claim.rows else ""
    return f"claims {claimed}, recomputed {recomputed}{rows}: {describe_state(claim)}"


def describe_state(claim: JudgedClaim) -> str:
    """Return the state of a claim, with its reason if it has one."""
    return f"{claim.state.value}{f' ({claim.reason})' if claim.reason else ''}"


def format_value(value: Any) -> str:
    """Return a claimed or recomputed value; numbers have six significant digits."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = "no number" if value is None else dumps(value).decode(errors="replace")
    return text if len(text) <= VALUE else f"{text[: VALUE - 1]}…"


def _join(claims: list[JudgedClaim]) -> str:
    """Return the line of claims that say the same."""
    first = claims[0]
    if len(claims) == 1:
        return f"{first.label}: {describe_claim(first)}"
    text = describe_state(first) if first.state is State.OPEN else describe_claim(first)
    labels = ", ".join(claim.label for claim in claims[:LABELS_SHOWN])
    more = len(claims) - LABELS_SHOWN
    return f"{len(claims):,} claims: {text}: {labels}{f' and {more:,} more' if more > 0 else ''}"
