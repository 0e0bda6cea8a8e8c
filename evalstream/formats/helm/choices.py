"""Requests for the likelihood of each reference, and the scores of their instance.

Source: BasicReferenceMetric of crfm-helm 0.1.0 to 0.5.16 (`metrics/basic_metrics.py`).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import Final

from evalstream.formats.helm.requests import PlainRequest, read_output
from evalstream.formats.helm.windows import read_tokens

BY_LIKELIHOOD: Final = frozenset(
    {"multiple_choice_separate_original", "multiple_choice_separate_calibrated"}
)
"""The methods of adaptation that choose the most likely reference."""

_MOST: Final = 1 - 1e-6
"""Up to which probability equal ones show that they are of the same tokens."""


def measure_reference(request: PlainRequest) -> bytes | None:
    """Return facts about the reference of a request, as doubles, None where they are not known.

    They are its index, 1 for a request of calibration, the log probability of its tokens, their
    number, and 1 if it is correct. HELM counts the tokens of the reference behind a space with a
    tokenizer; those that spell it at the end of the answer are as many, if they are split alike.
    """
    index, references = request.reference_index, request.instance.references or ()
    tokens = read_tokens(request)
    if index is None or not 0 <= index < len(references) or not tokens:
        return None
    rest, likely = f" {read_output(references[index])}", list[float]()
    for text, logprob in reversed(tokens):
        if not rest:
            break
        if not text or not rest.endswith(text):
            return None
        rest = rest.removesuffix(text)
        likely.append(logprob)
    if rest:
        return None
    is_calibration = request.request_mode == "calibration"
    is_right = "correct" in (references[index].tags or ())
    found = (index, is_calibration, sum(reversed(likely)), len(likely), is_right)
    return array("d", map(float, found)).tobytes()


def score_choices(
    requests: Iterable[bytes | None], metrics: Sequence[str], entry: bytes | None
) -> bytes | None:
    """Return the scores that requests give, in the order of `score_again`, NaN for unknown ones.

    They are known only where the max_prob of the entry follows from the same tokens.
    """
    facts = [array("d", one) for one in requests if one is not None]
    known: dict[tuple[int, bool], array[float]] = {(int(one[0]), one[1] > 0): one for one in facts}
    number = sum(not is_calibration for _, is_calibration in known)
    is_calibrated = len(known) == 2 * number
    wanted = {(at, one) for at in range(number) for one in {False, is_calibrated}}
    own = array("d", entry or b"")
    if not number or known.keys() != wanted or len(own) < len(metrics):
        return None
    plain = [known[at, False] for at in range(number)]
    likely = [one[2] / one[3] for one in plain]
    if is_calibrated:
        likely = [one[2] - known[at, True][2] for at, one in enumerate(plain)]
    best = max(likely)
    max_prob = 1 / sum(math.exp(one - best) for one in likely)
    # Whatever is far more likely than all others has a probability near 1.
    is_same = math.isclose(own[metrics.index("max_prob")], max_prob, rel_tol=1e-9)
    is_same = is_same and max_prob < _MOST
    # Releases differ in what they make of several references that are the most likely.
    if "exact_match" not in metrics or not is_same or likely.count(best) > 1:
        return None
    found = [math.nan] * len(metrics)
    found[metrics.index("exact_match")] = plain[likely.index(best)][4]
    return array("d", 2 * found).tobytes()
