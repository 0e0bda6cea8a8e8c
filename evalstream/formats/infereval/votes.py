"""The verdicts of models: how responses are read, and how verdicts are counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from evalstream.formats.releases import read_release
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json_values import object_or_empty

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
    return [sample["parsed_verdict"] for sample in samples if not has_failed(sample)]


def has_failed(sample: Mapping[str, Any]) -> bool:
    """Tell whether the provider failed to answer, so that the model gave no verdict."""
    return sample.get("provider_error") is not None


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

Reading = Callable[[str], str | None]
"""Returns the verdict of the first word in a response that means one, None without such a word."""


def choose_reading(
    config: Mapping[str, Any], version: Any = None, template: Any = None, prompt: Any = None
) -> Reading | None:
    """Return how responses are read under some settings; None where the prompt is not known.

    `version` is the framework_version. `template` is the template_id of the benchmark: other
    templates may ask for other words. `prompt` is the benchmark's verification_prompt, which may
    have an expression of its own.
    """
    form = find_form(config, version)
    if form == COHERENCE:
        return None if template is not None else _by_words(COHERENCE)
    named = config.get("verification_prompt_id", DEFAULT_PROMPT)
    if named != DEFAULT_PROMPT and named != _name_prompt(prompt):
        return None
    return _by_words(SUPPORT) if form == SUPPORT else None


def choose_usual_reading(
    config: Mapping[str, Any], version: Any = None, prompt: Any = None
) -> Reading | None:
    """Return how most prompts are read, for one that the benchmark does not have; else None."""
    form, named = find_form(config, version), config.get("verification_prompt_id", DEFAULT_PROMPT)
    is_unknown = named != DEFAULT_PROMPT and named != object_or_empty(prompt).get("id")
    return _by_words(SUPPORT) if form is None or (is_unknown and form != COHERENCE) else None


def find_form(config: Mapping[str, Any], version: Any) -> Any:
    """Return the question_form of an evaluation, None where it is not known.

    It is support before 0.17.2, which had the other form and recorded neither (`evaluate`).
    """
    form = config.get("question_form")
    return SUPPORT if form is None and read_release(version) != (0, 17, 2) else form


def can_mean(response: str, verdict: str) -> bool:
    """Return whether some prompt may read a verdict from a response.

    The package's prompts take a verdict's word out of it; those of others may have other words.
    """
    meant = {_MEANT[word] for word in _MEANT if word in response.upper()} - {ABSTAIN}
    return verdict == ABSTAIN or not meant or verdict in meant


def _name_prompt(prompt: Any) -> str | None:
    """Return the id of a benchmark's prompt whose answers are read as those of the default one."""
    if not isinstance(prompt, dict) or prompt.get("parse_regex") not in (None, _PARSE_REGEX):
        return None
    named = prompt.get("id")
    return named if isinstance(named, str) else OVERRIDE


def _by_words(form: str) -> Reading:
    pattern = _WORD[form]

    def read(response: str) -> str | None:
        found = pattern.search(response)
        return None if found is None else _MEANT.get(found.group(1).upper(), ABSTAIN)

    return read
