"""The tokens of requests, and the scores that follow from them.

They are those of windows of a text, and of requests for the likelihood of each reference. Source
of the latter: BasicReferenceMetric of crfm-helm 0.1.0 to 0.5.16 (`metrics/basic_metrics.py`).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import Final

from evalstream.formats.helm.requests import KEPT, TOLD, PlainRequest, is_encrypted, read_output
from evalstream.model.data_class import NamedTuple
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


BY_LIKELIHOOD: Final = frozenset(
    {"multiple_choice_separate_original", "multiple_choice_separate_calibrated"}
)
"""The methods of adaptation that choose the most likely reference."""

OF_CHOICES: Final = ("predicted_index",)
"""Statistics beside `exact_match` that follow from the most likely reference."""

_MOST: Final = 1 - 1e-6
"""Up to which probability equal ones show that they are of the same tokens."""


def measure_reference(request: PlainRequest) -> bytes | None:
    """Return facts about the reference of a request, as doubles, None without tokens.

    They are its index, 1 for a request of calibration, the log probability of its tokens, their
    number, and 1 if it is correct. HELM counts the tokens of the reference behind a space with a
    tokenizer; those that spell it at the end of the answer are as many, if they are split alike.
    There are no facts where they do not spell it.
    """
    index, references = request.reference_index, request.instance.references or ()
    tokens = read_tokens(request)
    if not tokens:
        return None
    if index is None or not 0 <= index < len(references):
        return b""
    rest, likely = f" {read_output(references[index])}", list[float]()
    for text, logprob in reversed(tokens):
        if not rest:
            break
        if not text or not rest.endswith(text):
            return b""
        rest = rest.removesuffix(text)
        likely.append(logprob)
    if rest:
        return b""
    is_calibration = request.request_mode == "calibration"
    is_right = "correct" in (references[index].tags or ())
    found = (index, is_calibration, sum(reversed(likely)), len(likely), is_right)
    return array("d", map(float, found)).tobytes()


class LikelyReference(NamedTuple):
    """The most likely reference of an instance: its probability, 1 if it is correct, its index."""

    max_prob: float
    exact_match: float
    predicted_index: float


def choose(requests: Iterable[bytes | None]) -> LikelyReference | None:
    """Return the most likely reference by facts about each, None where that is not known.

    Releases differ in what they make of several references that are the most likely.
    """
    facts = [array("d", one) for one in requests if one]
    known: dict[tuple[int, bool], array[float]] = {(int(one[0]), one[1] > 0): one for one in facts}
    number = sum(not is_calibration for _, is_calibration in known)
    is_calibrated = len(known) == 2 * number
    wanted = {(at, one) for at in range(number) for one in {False, is_calibrated}}
    if not number or known.keys() != wanted:
        return None
    plain = [known[at, False] for at in range(number)]
    likely = [one[2] / one[3] for one in plain]
    if is_calibrated:
        likely = [one[2] - known[at, True][2] for at, one in enumerate(plain)]
    best = max(likely)
    if likely.count(best) > 1:
        return None
    place = likely.index(best)
    return LikelyReference(
        1 / sum(math.exp(one - best) for one in likely), plain[place][4], float(place)
    )


def score_choices(
    requests: Iterable[bytes | None], metrics: Sequence[str], entry: bytes | None
) -> bytes | None:
    """Return the scores that requests give, in the order of `score_again`, NaN for unknown ones.

    They are known only where the max_prob of the entry follows from the same tokens.
    """
    found, own = choose(requests), _read_entry(metrics, entry)
    if found is None or "exact_match" not in own:
        return None
    # Whatever is far more likely than all others has a probability near 1.
    is_same = math.isclose(own.get("max_prob", math.nan), found.max_prob, rel_tol=1e-9)
    if not is_same or found.max_prob >= _MOST:
        return None
    return array("d", 2 * [getattr(found, one, math.nan) for one in metrics]).tobytes()


def differs(requests: Iterable[bytes | None], metrics: Sequence[str], entry: bytes | None) -> bool:
    """Tell whether an entry has another exact_match, whatever its max_prob follows from."""
    found, score = choose(requests), _read_entry(metrics, entry).get("exact_match", math.nan)
    return found is not None and abs(score - found.exact_match) > 0


def _read_entry(metrics: Sequence[str], entry: bytes | None) -> dict[str, float]:
    return dict(zip(metrics, array("d", entry or b""), strict=False))
