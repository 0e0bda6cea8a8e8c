"""The score of an instance is that of its most likely reference."""

import math
from array import array
from typing import Any

import msgspec
from each import each

from evalstream.formats.helm.choices import measure_reference, score_choices
from evalstream.formats.helm.requests import PlainRequest

METRICS = ("exact_match", "max_prob")


def ask(index: int, likely: float, mode: str = "original", texts: Any = None) -> PlainRequest:
    """Return a request for the likelihood of one of two references, of which the first is right."""
    texts = ["Pens?", " ", f"{index}"] if texts is None else texts
    tokens = [{"text": text, "logprob": likely} for text in texts]
    references = [
        {"output": {"text": "0"}, "tags": ["correct"]},
        {"output": {"text": "1"}, "tags": []},
    ]
    value = {
        "instance": {"id": "id0", "input": {"text": "Pens?"}, "references": references},
        "train_trial_index": 0,
        "reference_index": index,
        "request_mode": mode,
        "result": {"completions": [{"text": "", "logprob": 0.0, "tokens": tokens}]},
    }
    return msgspec.convert(value, PlainRequest)


def score(requests: list[PlainRequest], *own: float) -> Any:
    """Return the exact match that requests give, None where it is not known."""
    packed = array("d", own).tobytes()
    found = score_choices([measure_reference(one) for one in requests], METRICS, packed)
    return found and array("d", found)[0]


def most(*likely: float) -> float:
    """Return the largest probability by softmax."""
    return max(map(math.exp, likely)) / sum(map(math.exp, likely))


def test_the_most_likely_reference_is_the_answer() -> None:
    requests = [ask(0, -1.0), ask(1, -2.0)]
    assert score(requests, 0.0, most(-1.0, -2.0)) == 1.0
    assert score([ask(0, -2.0), ask(1, -1.0)], 1.0, most(-1.0, -2.0)) == 0.0


def test_calibration_is_subtracted() -> None:
    requests = [ask(at, -1.0 - at) for at in range(2)]
    requests += [ask(at, -5.0 * at, "calibration") for at in range(2)]
    assert score(requests, 1.0, most(-2.0, -4.0 + 10.0)) == 0.0
    assert score(requests[:3], 1.0, most(-2.0, -4.0 + 10.0)) is None


@each(
    ("requests", "max_prob"),
    [
        ([], 1.0),
        ([ask(0, -1.0), ask(1, -2.0)], most(-1.0, -2.5)),
        ([ask(0, -1.0), ask(1, -1.0)], 0.5),
        ([ask(0, -90.0), ask(1, -1.0)], 1.0),
        ([ask(0, -1.0)] * 2, 1.0),
        ([ask(1, -1.0)], 1.0),
        ([ask(2, -1.0)], 1.0),
        ([ask(0, -1.0, texts=[])], 1.0),
        ([ask(0, -1.0, texts=["\u2581", "0"])], 1.0),
        ([ask(0, -1.0, texts=["0"])], 1.0),
        ([ask(0, -1.0, texts=[" ", "", "0"])], 1.0),
    ],
)
def test_a_score_is_known_only_where_the_tokens_give_its_probability(
    requests: list[PlainRequest], max_prob: float
) -> None:
    """A tokenizer may split the reference otherwise; releases differ in equal likelihoods."""
    if len(requests) == 2 and requests[0] is requests[1]:
        requests = [*requests, ask(1, -1.0, "calibration")]
    assert score(requests, 1.0, max_prob) is None
