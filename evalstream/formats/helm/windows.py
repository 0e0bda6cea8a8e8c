"""Requests for the windows of a text: their tokens, and the statistics that follow from them."""

from __future__ import annotations

import math
from array import array
from typing import Final

from evalstream.formats.helm.requests import KEPT, TOLD, PlainRequest, is_encrypted
from evalstream.parsing.json import text_or_none
from evalstream.parsing.json_values import is_number, objects
from evalstream.parsing.native.items import KeptMembers

WINDOWED: Final = "language_modeling"
"""The method of adaptation that makes several requests and entries of one instance."""

OF_TOKENS: Final = ("logprob", "num_perplexity_tokens", "num_bytes")
"""Statistics that follow from the tokens of a window."""

_TOKENS: Final = {"text": None, "logprob": None}
KEPT_OF_WINDOWS: Final[KeptMembers] = {
    **KEPT,
    "result": {"completions": {"text": None, "logprob": None, "tokens": _TOKENS}, "success": None},
    "num_conditioning_tokens": None,
}
"""The members of a request for a window of a text."""


def score_window(request: PlainRequest) -> bytes | None:
    """Return `OF_TOKENS` and `TOLD` of a window, twice, None where its tokens are not known.

    Source: `compute_language_modeling_metrics` and `get_num_bytes` of crfm-helm 0.1.0 to 0.5.16.
    """
    completions, start = request.result.completions, request.num_conditioning_tokens
    tokens = [one for _, one in objects(completions[0].tokens)] if completions else []
    texts = [text for one in tokens if (text := text_or_none(one.get("text"))) is not None]
    likely = [float(one["logprob"]) for one in tokens if is_number(one.get("logprob"))]
    is_known = len(tokens) == len(texts) == len(likely) > 0 and is_number(start)
    if not is_known or is_encrypted(texts[0]):
        return None
    # A tokenizer may begin with an empty token.
    first = int(start) + (start > 0 and texts[0] == "")
    size = sum(map(_count_bytes, texts[first:]))
    told = [getattr(request, name) for name in TOLD]
    numbers = [math.nan if one is None else float(one) for one in told]
    found = [sum(likely[first:]), float(len(texts[first:])), float(size), *numbers]
    return array("d", 2 * found).tobytes()


def _count_bytes(token: str) -> int:
    if token.startswith("bytes:"):
        return token.count("\\x")
    return len(token.encode(errors="replace"))
