"""How infereval counts votes: the samples' verdicts, and which of them wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

GOOD: Final = "good"
BAD: Final = "bad"
ABSTAIN: Final = "abstain"
VERDICTS: Final = (GOOD, BAD, ABSTAIN)
FIRST: Final = "first"

DEFAULT_SAMPLES: Final = 5
DEFAULT_TIE_BREAK: Final = ABSTAIN


class Vote(NamedTuple):
    """The outcome of a vote: how many for each verdict, which wins, and whether by tie-break."""

    counts: Mapping[str, int]
    verdict: str
    tie_broken: bool


def voting(samples: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the verdicts that count, in order: not those of calls that the provider failed."""
    return [sample["parsed_verdict"] for sample in samples if sample.get("provider_error") is None]


def vote(verdicts: Sequence[str], tie_break: str) -> Vote:
    """Count verdicts as the package's majority_vote does.

    No votes give abstain, a unique maximum wins, a tie with abstain in it gives abstain; of good
    and bad alone `tie_break` decides: a verdict, or `first` for the one that came first.
    """
    counted = Counter(verdicts)
    counts = {verdict: counted[verdict] for verdict in VERDICTS}
    most = max(counts.values())
    if not most:
        return Vote(counts, ABSTAIN, tie_broken=False)
    top = [verdict for verdict in VERDICTS if counts[verdict] == most]
    if len(top) == 1:
        return Vote(counts, top[0], tie_broken=False)
    if ABSTAIN in top:
        return Vote(counts, ABSTAIN, tie_broken=True)
    winner = next(one for one in verdicts if one in top) if tie_break == FIRST else tie_break
    return Vote(counts, winner, tie_broken=True)
