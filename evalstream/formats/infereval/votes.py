"""The verdicts of models, and how responses are read as verdicts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

GOOD: Final = "good"
BAD: Final = "bad"
ABSTAIN: Final = "abstain"
VERDICTS: Final = (GOOD, BAD, ABSTAIN)
FIRST: Final = "first"

DEFAULT_SAMPLES: Final = 5
DEFAULT_TIE_BREAK: Final = ABSTAIN


class Vote(NamedTuple):
    """The outcome of a vote: the counts, the winner, and whether a tie was broken."""

    counts: Mapping[str, int]
    verdict: str
    tie_broken: bool


def voting(samples: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the verdicts that count, in order, without failed calls of the provider."""
    return [sample["parsed_verdict"] for sample in samples if sample.get("provider_error") is None]


def consensus(verdicts: Any) -> str | None:
    """Return the analysts' consensus on an item, or None if their verdicts are not known.

    It is the one of good and bad that has more votes, and abstain where they have equally many, as
    the package's consensus_verdict has it.
    """
    if not isinstance(verdicts, list) or not all(one in VERDICTS for one in verdicts):
        return None
    good, bad = verdicts.count(GOOD), verdicts.count(BAD)
    if good == bad:
        return ABSTAIN
    return GOOD if good > bad else BAD


def vote(verdicts: Sequence[str], tie_break: str) -> Vote:
    """Count verdicts as the package's majority_vote does.

    No votes give abstain, a unique maximum wins, and a tie with abstain gives abstain. A tie of
    good and bad is decided by `tie_break`: a verdict, or `first` for the verdict that came first.
    """
    counts = {verdict: verdicts.count(verdict) for verdict in VERDICTS}
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


DEFAULT_PROMPT: Final = "default-v1"
SUPPORT: Final = "support"
COHERENCE: Final = "coherence"

_WORD: Final = {
    SUPPORT: re.compile(r"\b(GOOD|BAD|ABSTAIN)\b", re.IGNORECASE),
    COHERENCE: re.compile(r"\b(INCOHERENT|COHERENT|UNCLEAR)\b", re.IGNORECASE),
}
_MEANT: Final = {
    "GOOD": "good",
    "BAD": "bad",
    "ABSTAIN": ABSTAIN,
    "INCOHERENT": "good",
    "COHERENT": "bad",
    "UNCLEAR": ABSTAIN,
}

Reading = Callable[[str], str]
"""Returns the verdict in a response: that of its first word that means one, else abstain."""


def choose_reading(config: Mapping[str, Any], template: Any = None) -> Reading | None:
    """Return how responses are read under some settings; None where the prompt is not known.

    `template` is the template_id of the benchmark: other templates may ask for other words.
    Releases before 0.17.3 recorded no question_form, so that either form may have been asked.
    """
    form = config.get("question_form")
    if form == COHERENCE:
        return None if template is not None else _by_words(COHERENCE)
    if config.get("verification_prompt_id", DEFAULT_PROMPT) != DEFAULT_PROMPT:
        return None
    if form == SUPPORT:
        return _by_words(SUPPORT)
    return _by_words(SUPPORT, COHERENCE) if form is None else None


def _by_words(*forms: str) -> Reading:
    patterns = [_WORD[form] for form in forms]

    def read(response: str) -> str:
        for pattern in patterns:
            found = pattern.search(response)
            if found is not None:
                return _MEANT.get(found.group(1).upper(), ABSTAIN)
        return ABSTAIN

    return read
