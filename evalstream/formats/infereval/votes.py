"""The verdicts of models: how responses are read and counted, and the claims about them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalstream.formats.infereval.format import ITEMS
from evalstream.model.claim import JudgedClaim, Reason, State
from evalstream.model.text import count_noun
from evalstream.parsing.json_values import is_number, object_or_empty

if TYPE_CHECKING:
    from evalstream.formats.infereval.views import Item

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
OVERRIDE: Final = "benchmark-override-v1"
"""The id that the package gives to a benchmark's prompt without one."""
SUPPORT: Final = "support"
COHERENCE: Final = "coherence"

_PARSE_REGEX: Final = r"\b(GOOD|BAD|ABSTAIN)\b"
_WORD: Final = {
    SUPPORT: re.compile(_PARSE_REGEX, re.IGNORECASE),
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


def choose_reading(
    config: Mapping[str, Any], template: Any = None, prompt: Any = None
) -> Reading | None:
    """Return how responses are read under some settings; None where the prompt is not known.

    `template` is the template_id of the benchmark: other templates may ask for other words.
    `prompt` is the benchmark's verification_prompt, which may have an expression of its own.
    Releases before 0.17.3 recorded no question_form, so that either form may have been asked.
    """
    form = config.get("question_form")
    if form == COHERENCE:
        return None if template is not None else _by_words(COHERENCE)
    named = config.get("verification_prompt_id", DEFAULT_PROMPT)
    if named != DEFAULT_PROMPT and named != _name_prompt(prompt):
        return None
    if form == SUPPORT:
        return _by_words(SUPPORT)
    return _by_words(SUPPORT, COHERENCE) if form is None else None


def choose_usual_reading(config: Mapping[str, Any], prompt: Any = None) -> Reading | None:
    """Return how most prompts are read, for one that the benchmark does not have; else None."""
    named = config.get("verification_prompt_id", DEFAULT_PROMPT)
    is_unknown = named != DEFAULT_PROMPT and named != object_or_empty(prompt).get("id")
    return _by_words(SUPPORT) if is_unknown and config.get("question_form") != COHERENCE else None


def _name_prompt(prompt: Any) -> str | None:
    """Return the id of a benchmark's prompt whose answers are read as those of the default one."""
    if not isinstance(prompt, dict) or prompt.get("parse_regex") not in (None, _PARSE_REGEX):
        return None
    named = prompt.get("id")
    return named if isinstance(named, str) else OVERRIDE


def _by_words(*forms: str) -> Reading:
    patterns = [_WORD[form] for form in forms]

    def read(response: str) -> str:
        for pattern in patterns:
            found = pattern.search(response)
            if found is not None:
                return _MEANT.get(found.group(1).upper(), ABSTAIN)
        return ABSTAIN

    return read


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
        self._groups: dict[tuple[str, State, Reason | None], _Group] = {}
        self._confirmed: Counter[tuple[str, int, tuple[int, ...]]] = Counter()

    def add_confirmed(self, value: Mapping[str, Any]) -> None:
        """Add an item whose vote and verdict are those of its samples."""
        votes = value[VOTE]
        counts = tuple([votes.get(name, 0) for name in VERDICTS])
        self._confirmed[value[VERDICT], len(value["samples"]), counts] += 1

    def _add_all_confirmed(self) -> None:
        """Add the confirmed items, those that are alike together."""
        for (verdict, samples, votes), items in self._confirmed.items():
            counts = {name: items * number for name, number in zip(VERDICTS, votes, strict=True)}
            for member, found in ((VERDICT, {verdict: items}), (VOTE, counts)):
                self._add(member, State.CONFIRMED, None, found, found, samples, items)
        self._confirmed.clear()

    def add(self, item: Item, refuted: Collection[str]) -> None:
        """Add the claims of an item, of which some members are `refuted`."""
        samples, tie_break = item.samples, item.evaluation.tie_break
        outcome = vote(voting(samples or []), tie_break or ABSTAIN)
        reason = None
        if not samples:
            reason = Reason.UNREAD if samples is None else Reason.NO_ROWS
        elif tie_break is None and outcome.tie_broken:
            reason = Reason.UNSURE
        verdict, votes = item.value.get(VERDICT), object_or_empty(item.value.get(VOTE))
        claims: list[tuple[str, Verdicts, Verdicts]] = []
        if verdict in VERDICTS:
            claims.append((VERDICT, {verdict: 1}, {outcome.verdict: 1}))
        if votes:
            counts = {name: votes.get(name, 0) for name in VERDICTS}
            claims.append((VOTE, {k: n for k, n in counts.items() if is_number(n)}, outcome.counts))
        for member, claimed, recomputed in claims:
            state = State.OPEN if reason else State.CONFIRMED
            if member in refuted:
                state = State.REFUTED
            why = reason if state is State.OPEN else None
            self._add(
                member, state, why, claimed, recomputed if samples else {}, len(samples or ())
            )

    def _add(
        self,
        member: str,
        state: State,
        reason: Reason | None,
        claimed: Verdicts,
        recomputed: Verdicts,
        samples: int,
        items: int = 1,
    ) -> None:
        group = self._groups.setdefault((member, state, reason), _Group())
        group.items += items
        group.samples += items * samples
        group.claimed.update(claimed)
        group.recomputed.update(recomputed)

    def claims(self) -> Iterator[JudgedClaim]:
        """Yield a claim for each member, state and reason, which covers all of its items."""
        self._add_all_confirmed()
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
