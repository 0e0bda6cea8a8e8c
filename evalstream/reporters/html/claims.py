"""The table of the claims of a run by their state, each beside what its rows give."""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final

from evalstream.model.claim import JudgedClaim, State, count_states, describe_states
from evalstream.model.report import RunSummary
from evalstream.model.text import count_noun
from evalstream.reporters.claims import sort_claims
from evalstream.reporters.html.wording import number, value
from evalstream.reporters.markup import Markup, cut_visible, join_markup, tag

MOST_SHOWN: Final = 50
"""How many claims of a run are shown."""

LABEL: Final = 120
"""How many characters of a label, a pointer or a reason are shown."""

MOST: Final = 1e300
"""Numbers beyond it are shown as JSON, without a difference."""

HEADS: Final = ("claim", "kind", "claimed", "recomputed", "difference", "rows", "reason")

CLASSES: Final = {
    State.REFUTED: "failed",
    State.OPEN: "incomplete",
    State.ROUNDED: "passed",
    State.CONFIRMED: "passed",
}
"""The classes that give the colour of each state."""


def claims_section(run: RunSummary) -> Markup | None:
    """Return the claims by state, refuted ones first, and how many are not shown."""
    claims, counts = sort_claims(run.claims), count_states(run.claims)
    if not claims:
        return None
    head = tag("thead", tag("tr", (tag("th", text, scope="col") for text in HEADS)))
    bodies = [
        tag("tbody", _state_row(state, counts[state.value]), map(_row, some))
        for state, some in groupby(claims[:MOST_SHOWN], key=lambda claim: claim.state)
    ]
    more = len(claims) - MOST_SHOWN
    note = f"{count_noun(more, 'more claim')} not shown; --format json lists all."
    return tag(
        "section",
        tag("h3", "Claims ", tag("span", describe_states(counts), class_="note")),
        tag("div", tag("table", head, bodies, class_="claims"), class_="scroll"),
        tag("p", note, class_="note") if more > 0 else None,
    )


def _state_row(state: State, count: int) -> Markup:
    """Return the heading of the claims in one state."""
    text = tag("span", state.value.capitalize(), class_=CLASSES[state])
    return tag("tr", tag("th", text, f" {count:,}", scope="rowgroup", colspan=len(HEADS)))


def _row(claim: JudgedClaim) -> Markup:
    name = join_markup(
        tag("bdi", cut_visible(claim.label, LABEL)),
        tag("div", tag("code", cut_visible(claim.pointer, LABEL)), class_="note"),
    )
    return tag(
        "tr",
        tag("th", name, scope="row"),
        tag("td", cut_visible(claim.kind, LABEL)),
        tag("td", _figure(claim.claimed), class_="number"),
        tag("td", _figure(claim.recomputed), class_="number"),
        tag("td", _difference(claim), class_="number"),
        tag("td", claim.rows, class_="number"),
        tag("td", cut_visible(claim.reason or "", LABEL)),
    )


def _figure(found: Any) -> str | Markup:
    """Return a number as all numbers of the page; another value as JSON."""
    if found is None:
        return "—"
    return number(found) if _is_number(found) else value(found)


def _difference(claim: JudgedClaim) -> str | Markup:
    """Return how far the recomputed number is from the claimed one."""
    theirs, ours = claim.claimed, claim.recomputed
    if not (_is_number(theirs) and _is_number(ours)):
        return "—"
    text = f"{ours - theirs:+.3g}" if ours != theirs else "0"
    return tag("strong", text, class_="failed") if claim.state is State.REFUTED else text


def _is_number(found: Any) -> bool:
    """Tell whether a JSON value is a finite number that can be formatted."""
    is_number = isinstance(found, (int, float)) and not isinstance(found, bool)
    return is_number and abs(found) < MOST
