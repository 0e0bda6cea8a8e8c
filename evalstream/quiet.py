"""The accepting pass over what a typed row says about itself: one look at each field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from evalstream.formats import eee
from evalstream.model import Fault, Severity
from evalstream.rule import Context, Rule
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
from evalstream.typed import ABSENT, Typed, plain

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


def is_loud(rule: Rule) -> bool:
    """Tell whether a rule for single rows may say something of a row that is accepted here."""
    return rule.code not in QUIET and not rule.by_ids


def quiet_check(context: Context) -> Callable[[Typed], tuple[Fault, ...] | None]:
    """Return a function that accepts typed rows of which the rules above say nothing.

    It returns what is remarked of an accepted row, and None for a row that it does not
    accept, of which the rules themselves then say whatever there is to say. That the row's
    ids are not blank is for the caller to know: rows share them.
    """
    lowest, highest = common_bounds(context)
    timed = timed_members(context)

    def quiet(row: Typed) -> tuple[Fault, ...] | None:
        evaluation, sample, identity = row.evaluation, row.input, row.sample_id
        score, correct = evaluation.score, evaluation.is_correct
        raw, choices, usage, performance = (
            sample.raw,
            sample.choices,
            row.token_usage,
            row.performance,
        )
        sound = (
            lowest <= score <= highest
            and ((score == 1) is correct or score not in (0, 1))
            and not (correct and row.error)
            and raw
            and not raw.isspace()
            and (identity.__class__ is not str or (identity and not identity.isspace()))
            and (not choices or _chosen(sample.reference, choices))
            and (
                not usage
                or usage.total_tokens == usage.input_tokens + usage.output_tokens
                or sums_up(plain(usage))
            )
            and (not performance or _in_time(performance, timed))
        )
        if not sound:
            return None
        if row.interaction_type == eee.SINGLE_TURN:
            return _quiet_answer(row)
        return _quiet_transcript(row)

    return quiet


def _chosen(reference: Any, choices: list[Any]) -> bool:
    """Tell whether every reference is one of the choices, its letter or its number."""
    if reference.__class__ is str:
        return reference in choices or is_choice(reference, choices)
    for text in reference:  # noqa: SIM110 - a generator would cost more than the look itself
        if text not in choices and not is_choice(text, choices):
            return False
    return True


def _in_time(performance: Typed, timed: tuple[str, ...]) -> bool:
    latency = performance.latency_ms
    if latency is not None and latency is not ABSENT:
        for member in timed:
            taken = getattr(performance, member)
            if taken is not None and taken is not ABSENT and not taken <= latency:
                return False
    return True


def _quiet_answer(row: Typed) -> tuple[Fault, ...] | None:
    """Accept a single_turn row without a transcript whose one answer is its output."""
    answers = row.answer_attribution
    if row.messages or row.interactions:
        return None
    if not answers:
        return _UNANSWERED
    if len(answers) > 1:
        return None
    (answer,) = answers
    source = answer.source
    if answer.turn_idx != 0 or answer.is_terminal is not True:
        return None
    if source == OUTPUT_SOURCE:
        return _NOTHING
    foreign = source_doubt(source, None, single=True) == Severity.INFO
    return _FROM_ELSEWHERE if foreign else None


def _quiet_transcript(row: Typed) -> tuple[Fault, ...] | None:
    """Accept a row with a transcript whose turns, calls, counts and answers agree."""
    key = "messages" if row.messages else "interactions"
    turns, evaluation, answers = getattr(row, key), row.evaluation, row.answer_attribution
    counted = _counted(turns) if turns else None
    if counted is None:
        return None
    (calls, spoken), kind = counted, row.interaction_type
    sound = (
        (calls > 0 if kind == eee.AGENTIC else spoken > 1)
        and evaluation.num_turns == len(turns)
        and evaluation.tool_calls_count == calls
    )
    if not sound or len(answers) > 1:
        return None
    if not answers:
        return _UNANSWERED
    (answer,) = answers
    place = answer.turn_idx
    sound = place < len(turns) and answer.is_terminal and answer.source == f"{key}[{place}].content"
    return _NOTHING if sound else None


def _counted(turns: list[Typed]) -> tuple[int, int] | None:
    """Count tool calls and assistant turns, None unless turns and calls are in order."""
    called: set[str] = set()
    calls = spoken = 0
    for place, turn in enumerate(turns):
        if turn.turn_idx != place:
            return None
        answered, role = turn.tool_call_id, turn.role
        if answered:
            if answered.__class__ is not list:
                answered = (answered,)
            if not called.issuperset(answered):
                return None
        elif role == "tool" or not (answered is None or answered is ABSENT):
            return None
        spoken += role == "assistant"
        for call in turn.tool_calls or ():
            calls += 1
            called.add(call.id)
    return (calls, spoken) if len(called) == calls else None
