"""The statistics of a window of a text are those of its tokens."""

from array import array
from typing import Any

import msgspec
from each import each

from evalstream.formats.helm.requests import PlainRequest
from evalstream.formats.helm.tokens import OF_TOKENS, score_window

FIRST, WORD, BYTES = ("", 0.0), (" stone", -0.5), ("bytes:\\xe2\\x80", -1.5)


def window(tokens: Any, start: Any) -> PlainRequest:
    """Return a request for a window whose answer has some tokens."""
    if isinstance(tokens, list):
        tokens = [{"text": text, "logprob": logprob} for text, logprob in tokens]
    value = {
        "instance": {"id": "id0", "input": {"text": "?"}, "references": []},
        "train_trial_index": 0,
        "num_conditioning_tokens": start,
        "result": {"completions": [{"text": "", "logprob": 0.0, "tokens": tokens}]},
    }
    return msgspec.convert(value, PlainRequest)


@each(
    ("tokens", "start", "expected"),
    [
        ([WORD, WORD, BYTES], 0, [-2.5, 3, 14]),
        ([WORD, WORD, BYTES], 1, [-2.0, 2, 8]),
        ([FIRST, WORD, WORD, BYTES], 1, [-2.0, 2, 8]),
        ([FIRST, WORD], 0, [-0.5, 2, 6]),
        ([WORD], 3, [0, 0, 0]),
    ],
)
def test_tokens_that_condition_others_are_not_counted(
    tokens: Any, start: int, expected: list[float]
) -> None:
    found = array("d", score_window(window(tokens, start)) or b"")
    assert list(found[: len(OF_TOKENS)]) == expected


@each(
    ("tokens", "start"),
    [
        ([], 0),
        (None, 0),
        (7, 0),
        ([("x", None)], 0),
        ([(7, -1.0)], 0),
        ([("x", True)], 0),
        ([WORD], None),
        ([WORD], "1"),
        ([("[encrypted_text_1]", -1.0)], 0),
    ],
)
def test_a_window_without_readable_tokens_has_no_scores(tokens: Any, start: Any) -> None:
    assert score_window(window(tokens, start)) is None
