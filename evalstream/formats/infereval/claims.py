"""The claims of an evaluation's items about their votes and verdicts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from evalstream.formats.infereval.format import ITEMS
from evalstream.formats.infereval.views import Item
from evalstream.formats.infereval.votes import VERDICTS
from evalstream.model.claim import JudgedClaim, Reason, State
from evalstream.model.text import count_noun
from evalstream.parsing.json_values import is_number, object_or_empty

VERDICT: Final = "model_verdict"
VOTE: Final = "majority_vote"
KIND: Final = "majority vote"

Verdicts = Mapping[str, int]
"""The number of items, or of samples, by verdict."""


@dataclass(slots=True)
class _Group:
    """The claims of one member that are in one state: how many, and over how many samples."""

    items: int = 0
    samples: int = 0
    claimed: Counter[str] = field(default_factory=Counter)
    recomputed: Counter[str] = field(default_factory=Counter)


class VerdictTally:
    """Counts the claims of items by member, state and reason; claims of one kind become one."""

    def __init__(self) -> None:
        self._groups: defaultdict[tuple[str, State, Reason | None], _Group] = defaultdict(_Group)

    def add(self, item: Item) -> None:
        """Add the claims of an item: the verdict of its model, and the counts of its vote."""
        samples, outcome, reason = item.samples, item.outcome, None
        if not samples:
            reason = Reason.UNREAD if samples is None else Reason.NO_ROWS
        elif outcome.tie_broken and item.evaluation.tie_break is None:
            reason = Reason.UNSURE
        verdict, votes = item.value.get(VERDICT), object_or_empty(item.value.get(VOTE))
        claims: list[tuple[str, Verdicts, Verdicts]] = []
        if verdict in VERDICTS:
            claims.append((VERDICT, {verdict: 1}, {outcome.verdict: 1}))
        counts = [votes.get(name, 0) for name in VERDICTS]
        if votes and all(map(is_number, counts)):
            claims.append((VOTE, dict(zip(VERDICTS, counts, strict=True)), outcome.counts))
        for member, claimed, recomputed in claims:
            # No rule for ties changes what is counted.
            why = None if member == VOTE and samples else reason
            state = State.CONFIRMED if claimed == recomputed else State.REFUTED
            group = self._groups[member, State.OPEN if why else state, why]
            group.items += 1
            group.samples += len(samples or ())
            for name, number in claimed.items():
                group.claimed[name] += number
            for name, number in recomputed.items() if samples else ():
                group.recomputed[name] += number

    def claims(self) -> Iterator[JudgedClaim]:
        """Yield a claim for each member, state and reason, which covers all of its items."""
        for (member, state, reason), group in sorted(self._groups.items(), key=_order):
            yield JudgedClaim(
                f"/{ITEMS}",
                f"{member} of {count_noun(group.items, 'item')}",
                KIND,
                _counts(group.claimed),
                _counts(group.recomputed) if group.samples else None,
                state,
                None if reason is None else reason.value,
                group.samples,
                # The counts of a vote are no score.
                is_score=member == VERDICT,
            )


def _order(entry: tuple[tuple[str, State, Reason | None], _Group]) -> tuple[int, int, str]:
    (member, state, reason), _ = entry
    return member != VERDICT, list(State).index(state), "" if reason is None else reason.value


def _counts(verdicts: Counter[str]) -> dict[str, int]:
    return {verdict: verdicts[verdict] for verdict in VERDICTS}
