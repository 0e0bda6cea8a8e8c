"""The accepting pass over what a row says about itself: one look at each field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from evalstream.formats import eee
from evalstream.model import Fault, Severity
from evalstream.rule import Context
from evalstream.rules.row import (
    FOREIGN_SOURCE,
    NO_ANSWER,
    OUTPUT_SOURCE,
    common_bounds,
    is_choice,
    source_doubt,
    sums_up,
    timed_members,
)

Row = Mapping[str, Any]

QUIET: Final = frozenset(
    {
        "ES301",
        "ES302",
        "ES303",
        "ES304",
        "ES305",
        "ES306",
        "ES307",
        "ES308",
        "ES309",
        "ES310",
        "ES311",
        "ES313",
        "ES314",
        "ES315",
    }
)
"""The rules that say nothing, or remark what is returned, of a row that is accepted here."""

_NOTHING: Final[tuple[Fault, ...]] = ()
_UNANSWERED: Final[tuple[Fault, ...]] = (NO_ANSWER,)
_FROM_ELSEWHERE: Final[tuple[Fault, ...]] = (FOREIGN_SOURCE,)
_OUT_OF_SHAPE: Final = (KeyError, TypeError, ValueError, AttributeError, OverflowError)
"""What looking at a row raises that is not of the usual shape; the rules judge such a row."""


def quiet_check(context: Context) -> Callable[[Row], tuple[Fault, ...] | None]:
    """Return a function that accepts rows of which the rules above say nothing.

    It returns what is remarked of an accepted row, and None for a row that it does not
    accept, of which the rules themselves then say whatever there is to say. That the row's
    ids are not blank (see `named`) is for the caller to know: rows share them.
    """
    lowest, highest = common_bounds(context)
    timed = timed_members(context)

    def quiet(row: Row) -> tuple[Fault, ...] | None:
        try:
            evaluation, sample = row["evaluation"], row["input"]
            score, correct = evaluation["score"], evaluation["is_correct"]
            raw, identity, choices = sample["raw"], row["sample_id"], sample.get("choices")
            usage, performance = row.get("token_usage"), row.get("performance")
            sound = (
                lowest <= score <= highest
                and ((score == 1) is correct or score not in (0, 1))
                and not (correct and row.get("error"))
                and raw
                and not raw.isspace()
                and (identity.__class__ is not str or (identity and not identity.isspace()))
                and (not choices or _chosen(sample["reference"], choices))
                and (
                    not usage
                    or usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
                    or sums_up(usage)
                )
                and (not performance or _in_time(performance, timed))
            )
            if not sound:
                return None
            if row["interaction_type"] == eee.SINGLE_TURN:
                return _quiet_answer(row, row["answer_attribution"])
            return _quiet_transcript(row, evaluation, row["answer_attribution"])
        except _OUT_OF_SHAPE:
            return None

    return quiet


def named(row: Row) -> bool:
    """Tell whether the ids that rows share are no blank texts."""
    ids = (row.get("evaluation_name"), row.get("evaluation_id"), row.get("model_id"))
    return not any(text.__class__ is str and (not text or text.isspace()) for text in ids)


def _chosen(reference: Any, choices: list[Any]) -> bool:
    """Tell whether every reference is one of the choices, its letter or its number."""
    if reference.__class__ is str:
        return reference in choices or is_choice(reference, choices)
    for text in reference:  # noqa: SIM110 - a generator would cost more than the look itself
        if text not in choices and not is_choice(text, choices):
            return False
    return True


def _in_time(performance: Mapping[str, Any], timed: tuple[str, ...]) -> bool:
    latency = performance.get("latency_ms")
    if latency is not None:
        for member in timed:
            if member in performance:
                taken = performance[member]
                if taken is not None and not taken <= latency:
                    return False
    return True


def _quiet_answer(row: Row, answers: Any) -> tuple[Fault, ...] | None:
    """Accept a single_turn row without a transcript whose one answer is its output."""
    if row.get("messages") or row.get("interactions"):
        return None
    if not answers:
        return _UNANSWERED if answers.__class__ is list else None
    (answer,) = answers
    source = answer["source"]
    if answer["turn_idx"] != 0 or answer["is_terminal"] is not True:
        return None
    if source == OUTPUT_SOURCE:
        return _NOTHING
    foreign = source.__class__ is str and source_doubt(source, None, single=True) == Severity.INFO
    return _FROM_ELSEWHERE if foreign else None


def _quiet_transcript(
    row: Row, evaluation: Mapping[str, Any], answers: Any
) -> tuple[Fault, ...] | None:
    """Accept a row with a transcript whose turns, calls, counts and answers agree."""
    transcript = eee.transcript(row)
    counted = None if transcript is None else _counted(transcript[1])
    if transcript is None or counted is None:
        return None
    (key, turns), (calls, spoken), kind = transcript, counted, row["interaction_type"]
    sound = (
        (calls > 0 if kind == eee.AGENTIC else kind == eee.MULTI_TURN and spoken > 1)
        and evaluation["num_turns"] == len(turns)
        and evaluation["tool_calls_count"] == calls
    )
    if not sound or not answers:
        return _UNANSWERED if sound and answers.__class__ is list else None
    (answer,) = answers
    place = answer["turn_idx"]
    sound = (
        place.__class__ is int
        and 0 <= place < len(turns)
        and answer["is_terminal"] is True
        and answer["source"] == f"{key}[{place}].content"
    )
    return _NOTHING if sound else None


def _counted(turns: list[Any]) -> tuple[int, int] | None:
    """Count tool calls and assistant turns, None unless turns and calls are in order."""
    called: set[str] = set()
    calls = spoken = 0
    for place, turn in enumerate(turns):
        if turn["turn_idx"].__class__ is not int or turn["turn_idx"] != place:
            return None
        answered, role = turn.get("tool_call_id"), turn["role"]
        if answered:
            if answered.__class__ is not list:
                answered = (answered,)
            if not called.issuperset(answered):
                return None
        elif role == "tool" or answered is not None:
            return None
        spoken += role == "assistant"
        for call in turn.get("tool_calls") or ():
            calls += 1
            called.add(call["id"])
    return (calls, spoken) if len(called) == calls else None
