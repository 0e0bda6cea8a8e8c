"""Link a run to a run of another model that has the same answers, by its first rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import islice
from typing import Any, Final

from evalstream.formats.eee.row_view import TRANSCRIPT_KEYS
from evalstream.parsing.json import UTF8_MARK, fast_known, member
from evalstream.parsing.json_values import list_or_empty
from evalstream.stats.log_links import LogLinks
from evalstream.stats.run_links import RunLinks

ROWS: Final = 4
"""How many rows at the head of a file are looked at."""

LEAST_TIME_MS: Final = 10
"""Shorter times are those of a cache, or of a model that computes nothing."""

LEAST_TEXT: Final = 1000
"""How many characters two models do not say alike."""

_TIMES: Final = ("latency_ms", "time_to_first_token_ms", "generation_time_ms")
_TASK: Final = "eee"


def link_answers(links: RunLinks, model: str, head: bytes) -> None:
    """Add the answers in the first rows that no other model would give.

    The name of a model is that without its organisation, which converters spell in several ways.
    An answer tells by itself if the model took some time for it, which is compared as well. Answers
    without times tell together, if they are long.
    """
    timed: list[tuple[Any, ...]] = []
    others: list[tuple[Any, ...]] = []
    characters = 0
    for row in _iterate_rows(head):
        output, turns = row.get("output"), [row.get(name) for name in TRANSCRIPT_KEYS]
        times = [member(row.get("performance"), name) for name in _TIMES]
        answer = row.get("sample_id"), member(row.get("metadata"), "epoch"), output, turns
        if any(time.__class__ in {int, float} and time >= LEAST_TIME_MS for time in times):
            if (*answer, times) not in timed:
                timed.append((*answer, times))
        elif answer not in others:
            others.append(answer)
            characters += _count_characters(output, turns)
    answers = LogLinks(None, _TASK, model.rpartition("/")[2].casefold(), links=links)
    if len(timed) > 1:
        answers.add_answers(timed)
    elif characters >= LEAST_TEXT:
        answers.add_answers([others])


def _iterate_rows(head: bytes) -> Iterator[Mapping[str, Any]]:
    """Iterate over the first objects of a file; a last line may be cut."""
    for line in islice(BytesIO(head), ROWS):
        try:
            row = fast_known(line.removeprefix(UTF8_MARK))
        except ValueError:
            continue
        if isinstance(row, dict) and line.endswith(b"\n"):
            yield row


def _count_characters(output: Any, turns: list[Any]) -> int:
    """Return the length of what the model says in an output, and in the turns of transcripts."""
    said = member(output, "raw")
    texts = [said] if isinstance(said, str) else [*list_or_empty(said)]
    taken = (turn for transcript in turns for turn in list_or_empty(transcript))
    texts += [member(turn, "content") for turn in taken if member(turn, "role") == "assistant"]
    return sum(len(text) for text in texts if isinstance(text, str))
