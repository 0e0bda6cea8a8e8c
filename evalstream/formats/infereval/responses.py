"""The verdict in a response, as infereval reads it under the prompts of its own.

Sources: `parse_verdict` in prompts.py and `coherence_decode` in templates.py of infereval 0.17.7.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from evalstream.formats.infereval.votes import ABSTAIN

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
