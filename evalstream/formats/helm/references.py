"""Requests that were made for each reference: which reference their tokens make most likely.

The formulas are those of crfm-helm 0.2.4 to 0.5.16 (`metrics/basic_metrics.py`,
evaluate_references). The harness counts the tokens of a reference with the model's tokenizer. Here
they are the last ones of a request that spell the reference, with a token of white space before
them or without it.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from evalstream.formats.helm.requests import PlainRequest, read_output
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import member, text_or_none
from evalstream.parsing.json_values import holds_double, list_or_empty
from evalstream.parsing.lazy_regex import LazyPattern

_ORIGINAL: Final = "multiple_choice_separate_original"
_CALIBRATED: Final = "multiple_choice_separate_calibrated"

MOST_BLANKS: Final = 8
"""How many characters of white space before a reference are looked at."""


_BLANKS: Final = LazyPattern("[\u0120\u2581]")
"""How vocabularies of tokenizers write a blank before a word, which some clients leave."""


class Choice(NamedTuple):
    """The share of correct references among the most likely ones, and the probability of these."""

    exact_match: float
    max_prob: float


def asks_for_each(adapter: Mapping[str, Any]) -> bool:
    """Tell whether an adapter makes requests for each reference, which show it in their tokens."""
    return text_or_none(adapter.get("method")) in (_ORIGINAL, _CALIBRATED)


def is_calibrated(adapter: Mapping[str, Any]) -> bool:
    """Tell whether an adapter asks for each reference without its question, too."""
    return adapter.get("method") == _CALIBRATED


def sum_tokens(request: PlainRequest) -> bytes | None:
    """Return the log probabilities of the reference of a request; None without tokens.

    They are doubles: the index of the reference, whether the request is one of calibration, whether
    the reference is correct, and for both ways to count its tokens their sum and number. They are
    empty where the tokens do not show the reference.
    """
    index, references = request.reference_index, request.instance.references or ()
    tokens = [list_or_empty(one.tokens) for one in request.result.completions]
    if not any(tokens):
        return None
    if index is None or not 0 <= index < len(references) or len(tokens) != 1:
        return b""
    reference = references[index]
    found = [*_iterate_sums(tokens[0], read_output(reference).lstrip())]
    if not found:
        return b""
    is_correct = "correct" in (reference.tags or ())
    kind = index, request.request_mode == "calibration", is_correct
    return array("d", (*kind, *found[0], *found[-1])).tobytes()


def _iterate_sums(tokens: Sequence[Any], reference: str) -> Iterator[tuple[float, int]]:
    """Iterate over the sums and numbers of the last tokens that spell a reference."""
    text, number = "", 0
    for token in reversed(tokens) if reference else ():
        part, number = member(token, "text"), number + 1
        if not isinstance(part, str) or not holds_double(member(token, "logprob")):
            return
        text = _BLANKS.sub(" ", part) + text
        if len(text) > len(reference) + MOST_BLANKS:
            return
        if text.lstrip() == reference:
            yield sum(one["logprob"] for one in tokens[-number:]), number


def find_choices(sums: Sequence[bytes], number: int, *, calibrated: bool) -> list[Choice]:
    """Return the choices that requests for some references show, by both ways to count tokens.

    None of them is known where a reference has no request.
    """
    known = {one[:2]: one[2:] for one in (tuple(array("d", packed)) for packed in sums)}
    wanted = [(float(at), mode) for at in range(number) for mode in (0.0, 1.0)[: 1 + calibrated]]
    if not wanted or any(len(known.get(key, ())) != 5 for key in wanted):
        return []
    found = []
    for way in (1, 3):
        if calibrated:
            scores = [known[at, 0.0][way] - known[at, 1.0][way] for at in map(float, range(number))]
        else:
            scores = [known[at, 0.0][way] / known[at, 0.0][way + 1] for at, _ in wanted]
        best = max(scores)
        likely = [at for at, score in enumerate(scores) if score >= best]
        right = sum(known[float(at), 0.0][0] for at in likely)
        probability = 1 / sum(math.exp(score - best) for score in scores)
        found.append(Choice(right / len(likely), probability))
    return found
