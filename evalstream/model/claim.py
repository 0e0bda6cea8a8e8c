"""Claims of documents about results, and the state in which a check found each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Final

from evalstream.model.data_class import NamedTuple


class State(str, Enum):
    """The state of a claim, by the rows.

    A claim is `confirmed` if it is the recomputed value or rounds to it at three significant
    digits or more, `rounded` if it has fewer digits, `refuted` if no formula of its kind gives it
    or no such figure can have its value, and `open` otherwise.
    """

    CONFIRMED = "confirmed"
    ROUNDED = "rounded"
    REFUTED = "refuted"
    OPEN = "open"

    @property
    def holds(self) -> bool:
        """Whether the claim is true as far as its digits show."""
        return self in {State.CONFIRMED, State.ROUNDED}


class Reason(str, Enum):
    """Why a claim is open."""

    NO_ROWS = "there are no rows to compute from"
    UNJOINED = "no row belongs to the result"
    AMBIGUOUS = "several results could have the rows"
    MISSING = "more samples are claimed than there are rows"
    UNREAD = "rows could not be read"
    UNASSIGNED = "rows name no known sample or metric"
    COARSE = "rows are written with too few digits"
    UNSCORED = "rows have no score that counts"
    FORMULA = "no known formula gives the figure"
    NO_NUMBER = "the figure is not a number"
    EMPTY = "there is no score"
    METHOD = "the method is not known"
    CLUSTERS = "the rows do not hold the clusters"
    RESAMPLED = "the method draws random samples"
    FEW_DRAWS = "fewer than 100 draws"
    NARROW = "narrower than half of what resampling of these rows gives"
    UNEVEN = "samples have different numbers of repeats"
    SCORE = "the score beside is open"
    UNIT = "in percent it is another figure"
    TOO_MANY = "too many different values to keep"
    PACKAGE = "a package for the formula is not installed"
    EVIDENCE = "the rows do not hold what the formula needs"
    UNSURE = "the documents do not say which formula was used"


_UNCERTAINTIES: Final = frozenset(
    {
        *("confidence interval", "spread", "spread of a single trial", "standard deviation"),
        *("standard error", "variance"),
    }
)
"""Kinds of claims that say nothing of how good a model is."""


class JudgedClaim(NamedTuple):
    """A claim, and what was found about it.

    Attributes:
        pointer: The JSON Pointer of the claim in its document.
        label: The name of the result that it is about.
        kind: The name of its formula.
        claimed: The figure that the document states, a JSON value.
        recomputed: The figure that the rows give, a JSON value.
        state: Whether it is confirmed, rounded, refuted or open.
        reason: Why it is open, or what confirmed it if that is not the usual figure over its rows.
        rows: The number of rows that it was compared with.
        is_score: Whether it is a score, and not a count or an uncertainty.

    """

    pointer: str
    label: str
    kind: str
    claimed: Any
    recomputed: Any
    state: State
    reason: str | None = None
    rows: int = 0
    is_score: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the claim as the output contract writes it."""
        shown = {**self._asdict(), "state": self.state.value, "score": self.is_score}
        del shown["is_score"]
        if self.reason is None:
            del shown["reason"]
        return shown

    @classmethod
    def from_dict(cls, encoded: Mapping[str, Any]) -> JudgedClaim:
        """Return a claim from its JSON. Raises KeyError or ValueError if it is not valid."""
        named = ("pointer", "label", "kind", "claimed", "recomputed", "rows")
        return cls(
            **{name: encoded[name] for name in named},
            state=State(encoded["state"]),
            reason=encoded.get("reason"),
            is_score=encoded["score"],
        )


STATES: Final = tuple(State)
_STATE_NAMES: Final = tuple(state.value for state in STATES)


def count_states(claims: Iterable[JudgedClaim]) -> dict[str, int]:
    """Return the number of claims in each state, also where it is 0."""
    counts = dict.fromkeys(_STATE_NAMES, 0)
    for claim in claims:
        counts[claim.state.value] += 1
    return counts


def describe_states(counts: Mapping[str, int]) -> str:
    """Return the numbers of claims in words, such as `2 confirmed, 1 open`; "" for none."""
    return ", ".join(f"{count:,} {state}" for state, count in counts.items() if count)


def confirms_score(claims: Iterable[JudgedClaim]) -> bool:
    """Return whether at least one score holds."""
    return any(claim.state.holds for claim in list_scores(claims))


def list_scores(claims: Iterable[JudgedClaim]) -> list[JudgedClaim]:
    """Return the scores; uncertainties that a document lists as such count without any other."""
    scores = [claim for claim in claims if claim.is_score]
    return [claim for claim in scores if claim.kind not in _UNCERTAINTIES] or scores


def reasons_left_open(claims: Iterable[JudgedClaim]) -> Iterator[tuple[str, list[JudgedClaim]]]:
    """Iterate over the reasons of open claims, each with its claims, in their order."""
    by_reason: dict[str, list[JudgedClaim]] = {}
    for claim in claims:
        if claim.state is State.OPEN:
            by_reason.setdefault(claim.reason or Reason.FORMULA.value, []).append(claim)
    return iter(by_reason.items())
