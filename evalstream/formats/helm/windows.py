"""The tokens of requests, and the statistics that follow from those for the windows of a text."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import Final

from evalstream.formats.helm.requests import KEPT, TOLD, PlainRequest, is_encrypted
from evalstream.parsing.json import text_or_none
from evalstream.parsing.json_values import holds_double, objects
from evalstream.parsing.native.items import KeptMembers

WINDOWED: Final = "language_modeling"
"""The method of adaptation that makes several requests and entries of one instance."""

OF_TOKENS: Final = ("logprob", "num_perplexity_tokens", "num_bytes")
"""Statistics that follow from the tokens of a window."""

_TOKENS: Final = {"text": None, "logprob": None}
KEPT_WITH_TOKENS: Final[KeptMembers] = {
    **KEPT,
    "result": {"completions": {"text": None, "logprob": None, "tokens": _TOKENS}, "success": None},
    "num_conditioning_tokens": None,
}
"""The members of a request whose tokens are read."""


def score_window(request: PlainRequest) -> bytes | None:
    """Return `OF_TOKENS` and `TOLD` of a window, twice, None where its tokens are not known.

    Source: `compute_language_modeling_metrics` and `get_num_bytes` of crfm-helm 0.1.0 to 0.5.16.
    """
    tokens, start = read_tokens(request), request.num_conditioning_tokens
    if not tokens or not holds_double(start):
        return None
    # A tokenizer may begin with an empty token.
    predicted = tokens[int(start) + (start > 0 and tokens[0][0] == "") :]
    size = sum(_count_bytes(text) for text, _ in predicted)
    told = [getattr(request, name) for name in TOLD]
    numbers = [math.nan if one is None else float(one) for one in told]
    likely = float(sum(logprob for _, logprob in predicted))
    found = [likely, float(len(predicted)), float(size), *numbers]
    return array("d", 2 * found).tobytes()


def read_tokens(request: PlainRequest) -> Sequence[tuple[str, float]]:
    """Return the tokens of the first answer with their log probabilities, none if one lacks it."""
    completions = request.result.completions
    tokens = [one for _, one in objects(completions[0].tokens)] if completions else []
    found = [
        (text, float(one["logprob"]))
        for one in tokens
        if (text := text_or_none(one.get("text"))) is not None and holds_double(one.get("logprob"))
    ]
    is_known = len(found) == len(tokens) and not any(is_encrypted(text) for text, _ in found[:1])
    return found if is_known else ()


def _count_bytes(token: str) -> int:
    if token.startswith("bytes:"):
        return token.count("\\x")
    return len(token.encode(errors="replace"))
