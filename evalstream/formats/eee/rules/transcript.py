"""ES3: rules about the turns of a row, and the limits of its generation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from evalstream.formats.eee import row_view, versions
from evalstream.formats.eee.aggregate import Result
from evalstream.formats.eee.facts import PROMPT, RowContext, RunFacts, by_version, find_exceptions
from evalstream.formats.eee.rules.answers import plain_text
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Severity, Violation, at_most
from evalstream.model.text import count_noun
from evalstream.parsing.json import member
from evalstream.parsing.json_values import to_float
from evalstream.rules.base import RowCheck, declare_rule

Row = Mapping[str, Any]

_NUMBERS: Final[frozenset[Any]] = frozenset({int, float})
"""The types of a count: the schema accepts 3.0 as an integer."""

ONE_EXCHANGE: Final = 3
"""The turns of a question and its answer: perhaps with the system's prompt before them."""

_OTHER_ROLES: Final = frozenset({"system", "developer", "user", "human", "tool", "function"})
"""The roles in a transcript other than the model."""

_TURNS: Final = ("/interactions", "/messages")
"""The members that hold the turns, as rules read them."""

_USERS: Final = frozenset({"user", "human"})
"""The roles of who asks."""


def _turn_order(row: Row, version: str) -> Iterable[Violation]:
    transcript = row_view.transcript(row, version)
    if transcript is None:
        return ()
    key, turns = transcript
    for place, turn in enumerate(turns):
        number = turn.get("turn_idx") if turn.__class__ is dict else None
        if number.__class__ not in _NUMBERS:
            return ()
        if number != place:
            pointer = f"/{key}/{place}/turn_idx"
            message = "turns are not numbered 0, 1, 2, … in order"
            return (ES304.violation(message, pointer, expected=place, found=number),)
    return ()


def _dangling_tool_call(row: Row, version: str) -> Iterable[Violation]:
    transcript = row_view.transcript(row, version)
    return () if transcript is None else list(_tool_violations(*transcript))


def _tool_violations(key: str, turns: list[Any]) -> Iterator[Violation]:
    called: set[str] = set()
    for place, turn in enumerate(turns):
        if turn.__class__ is not dict:
            continue
        yield from _answer_violations(f"/{key}/{place}/tool_call_id", turn, called)
        for number, identity in _call_ids(turn):
            if identity in called:
                pointer = f"/{key}/{place}/tool_calls/{number}/id"
                message = "an earlier tool call has the same id"
                yield ES305.violation(message, pointer, found=identity, severity=Severity.WARNING)
            called.add(identity)


def _answer_violations(
    pointer: str, turn: Mapping[str, Any], called: set[str]
) -> Iterator[Violation]:
    answered: Any = turn.get("tool_call_id")
    listed = answered.__class__ is list
    row_records = answered if listed else [] if answered is None else [answered]
    if not row_records and turn.get("role") == "tool":
        message = "tool_call_id is missing from a tool turn"
        place = pointer if "tool_call_id" in turn else pointer.rpartition("/")[0]
        yield ES305.violation(message, place, severity=Severity.WARNING)
    for number, identity in enumerate(row_records):
        if identity.__class__ is str and identity not in called:
            where = f"{pointer}/{number}" if listed else pointer
            message = "tool_call_id is not the id of an earlier tool call"
            yield ES305.violation(message, where, found=identity)


def _miscounted_turns(row: Row, version: str) -> Iterable[Violation]:
    transcript = row_view.transcript(row, version)
    evaluation = row.get("evaluation")
    if transcript is None or evaluation.__class__ is not dict:
        return ()
    if row.get("interaction_type") not in row_view.TRANSCRIPT_TYPES:
        return ()
    turns = transcript[1]
    return [*_check_counts(evaluation, len(turns), version), *_miscounted_calls(evaluation, turns)]


def _check_counts(evaluation: Row, turns: int, version: str) -> Iterator[Violation]:
    claimed, pointer = evaluation.get("num_turns"), "/evaluation/num_turns"
    if claimed.__class__ in _NUMBERS and claimed != turns:
        message = "num_turns is not the number of turns in the transcript"
        yield ES306.violation(message, pointer, expected=turns, found=claimed)
    # Where null is not allowed, the schema reports it.
    null = "num_turns" in evaluation and version in versions.OLDEST
    if claimed is None and turns and not null:
        message = "num_turns is missing, though the row has a transcript"
        yield ES306.violation(message, "/evaluation", expected=turns)


def _miscounted_calls(evaluation: Mapping[str, Any], turns: list[Any]) -> Iterator[Violation]:
    claimed, pointer = evaluation.get("tool_calls_count"), "/evaluation/tool_calls_count"
    calls = sum(len(tool_calls(turn)) for turn in turns)
    if claimed.__class__ in _NUMBERS and claimed != calls:
        message = "tool_calls_count is not the number of tool calls in the transcript"
        yield ES306.violation(message, pointer, expected=calls, found=claimed)


def _mislabelled_interaction(row: Row, version: str) -> Iterable[Violation]:
    kind = row.get("interaction_type")
    if kind == row_view.SINGLE_TURN:
        return _more_than_one_answer(row)
    transcript = row_view.transcript(row, version)
    if transcript is None or not transcript[1] or kind not in row_view.TRANSCRIPT_TYPES:
        return ()
    turns = transcript[1]
    place: dict[str, Any] = {"pointer": "/interaction_type", "found": kind}
    if kind == row_view.AGENTIC and not any(tool_calls(turn) for turn in turns):
        return (ES315.violation("interaction_type is agentic, but no turn calls a tool", **place),)
    spoken = sum(map(_may_be_the_model, turns))
    if kind == row_view.MULTI_TURN and spoken <= 1:
        message = (
            f"interaction_type is multi_turn, but the assistant has {count_noun(spoken, 'turn')}"
        )
        return (ES315.violation(message, **place),)
    return ()


def _more_than_one_answer(row: Row) -> Iterable[Violation]:
    """Find a single_turn row that counts more turns than one exchange has, or calls of tools."""
    evaluation = row.get("evaluation")
    for name, most in (("num_turns", ONE_EXCHANGE), ("tool_calls_count", 0)):
        claimed: Any = member(evaluation, name)
        if claimed.__class__ in _NUMBERS and claimed > most:
            message = f"interaction_type is single_turn, but {name} is above {most}"
            pointer, expected = f"/evaluation/{name}", at_most(most)
            yield ES315.violation(message, pointer, expected=expected, found=claimed)


def _two_transcripts(row: Row, version: str) -> Iterable[Violation]:
    if any(row.get(key) is None for key in row_view.TRANSCRIPT_KEYS):
        return ()
    own = row_view.transcript_key(version)
    other = next(key for key in row_view.TRANSCRIPT_KEYS if key != own)
    message = f"the row has both {own} and {other}; only {own} is checked in this version"
    return (ES319.violation(message, f"/{other}"),)


def _question_not_asked(row: Row, version: str) -> Iterable[Violation]:
    transcript = row_view.transcript(row, version)
    question = member(row.get("input"), "raw")
    if transcript is None or question.__class__ is not str or not question.strip():
        return ()
    turns = [(member(turn, "role"), member(turn, "content")) for turn in transcript[1]]
    asked = [one for role, one in turns if role.__class__ is str and role.casefold() in _USERS]
    if not asked or not all(text.__class__ is str and text.strip() for text in asked):
        return ()
    question = _join_words(question)
    # A question of several messages is joined in input.raw, and a template may wrap it.
    if any(one in question for text in asked for one in _spellings(text)) or any(
        content.__class__ is str and question in _join_words(content) for _, content in turns
    ):
        return ()
    return (NOT_ASKED,)


def _prompts_without_question(facts: RunFacts) -> Iterator[Violation]:
    """Report rows whose input.formatted lacks the question that most prompts of the file hold."""
    lack = "input.formatted does not hold input.raw, as it does"
    return find_exceptions(ES320, facts, PROMPT, lack)


def _spellings(text: str) -> Iterator[str]:
    """Iterate over a text as it is, and as a list of messages in JSON or Python quotes it."""
    yield _join_words(text)
    from json import dumps

    for quoted in (dumps(text), dumps(text, ensure_ascii=False), repr(text)):
        yield _join_words(quoted[1:-1])


def _join_words(text: str) -> str:
    """Return a text with single spaces for its white space, and one form of each letter."""
    if not text.isascii():
        from unicodedata import normalize

        text = normalize("NFKC", text)
    return " ".join(text.split())


def _may_be_the_model(turn: Any) -> bool:
    """Return whether a turn may be the model's; a role is any string, such as `model`."""
    role = turn.get("role") if turn.__class__ is dict else None
    return role.__class__ is not str or role.casefold() not in _OTHER_ROLES


def tool_calls(turn: Any) -> list[Any]:
    """Return the tool calls of a turn; an empty list if there is no list of them."""
    calls = turn.get("tool_calls") if turn.__class__ is dict else None
    return calls if calls.__class__ is list else []


def _call_ids(turn: Any) -> Iterator[tuple[int, str]]:
    for number, call in enumerate(tool_calls(turn)):
        identity = call.get("id") if call.__class__ is dict else None
        if identity.__class__ is str:
            yield number, identity


class Limits(NamedTuple):
    """The most tokens of one output, and the most turns of a transcript; infinite for no limit."""

    most_tokens: float = math.inf
    most_turns: float = math.inf


def find_limits(results: Iterable[Result]) -> Limits:
    """Return the limits that every row must keep, whatever result it scores."""
    limits = [(result.most_tokens, result.most_turns) for result in results]
    return Limits(*map(_find_widest, zip(*limits, strict=True)))


def _find_widest(limits: Sequence[float | None]) -> float:
    known = [limit for limit in limits if limit is not None and limit > 0]
    return max(known) if known and len(known) == len(limits) else math.inf


def _beyond_limit(context: RowContext) -> RowCheck | None:
    limits = find_limits(context.results)
    if limits == Limits():
        return None

    def check(row: Row) -> Iterable[Violation]:
        if row.get("interaction_type") == row_view.SINGLE_TURN:
            return _too_many_tokens(row, limits.most_tokens)
        transcript = row_view.transcript(row, context.choose_version(row))
        return () if transcript is None else _too_many_turns(*transcript, limits.most_turns)

    return check


def _too_many_tokens(row: Row, most: float) -> Iterator[Violation]:
    """Find an output that is longer than it could be; reasoning may not count for the limit."""
    usage, output = row.get("token_usage"), row.get("output")
    used = to_float(member(usage, "output_tokens"))
    reasoned = to_float(member(usage, "reasoning_tokens")) or member(output, "reasoning_trace")
    if used is None or used <= most or reasoned:
        return
    texts = member(output, "raw")
    outputs = len(texts) if isinstance(texts, list) and texts else 1
    calls = max(outputs, row_view.count_calls(row))
    limit = most * calls
    if used <= limit:
        return
    message = "output_tokens is above max_tokens of generation_args"
    many = "outputs" if calls == outputs else "calls"
    message += f" for each of {calls:,} {many}" if calls > 1 else ""
    expected = at_most(int(limit) if limit.is_integer() else limit)
    pointer, found = "/token_usage/output_tokens", member(usage, "output_tokens")
    yield ES321.violation(message, pointer, expected=expected, found=found)


def _too_many_turns(key: str, turns: list[Any], most: float) -> Iterator[Violation]:
    """Find a transcript that goes on behind the limit, but for what tools answered at its end."""
    last = len(turns)
    while last and member(turns[last - 1], "role") == "tool":
        last -= 1
    if last > most:
        number = count_noun(len(turns), "turn")
        message = f"the transcript has {number}, more than message_limit of eval_limits"
        yield ES321.violation(message, f"/{key}", expected={"maxItems": int(most)})


LONGEST_QUESTION: Final = 1000
"""Prompts of longer ones may be cut to a context."""

_MARKUP: Final = frozenset("_$`[]{}")
"""Signs that a template may escape or leave out."""


def asks_question(row: Mapping[str, Any]) -> bool | None:
    """Tell whether input.formatted holds input.raw, apart from its first letter and last mark.

    None without both, with escapes, and where a template may change a question: a long one, and one
    with several blanks or markup.
    """
    sample = row.get("input")
    question, prompt = plain_text(member(sample, "raw")), member(sample, "formatted")
    if question is None or prompt.__class__ is not str:
        return None
    asked = question[
        question[0].isalpha() : len(question) - question.endswith((".", "?", "!", ":"))
    ]
    if not asked or asked in prompt:
        return True if asked else None
    may_change = len(question) > LONGEST_QUESTION or "  " in question
    return None if may_change or not _MARKUP.isdisjoint(question) else False


ES304: Final = declare_rule("ES304", row=by_version(_turn_order), reads=_TURNS, in_scanner=True)

ES305: Final = declare_rule(
    "ES305", row=by_version(_dangling_tool_call), reads=_TURNS, in_scanner=True
)

ES306: Final = declare_rule(
    "ES306", row=by_version(_miscounted_turns), reads=_TURNS, in_scanner=True
)

ES315: Final = declare_rule(
    "ES315",
    row=by_version(_mislabelled_interaction),
    reads=("/interactions", "/messages", "/evaluation/num_turns", "/evaluation/tool_calls_count"),
    in_scanner=True,
)

ES319: Final = declare_rule(
    "ES319", row=by_version(_two_transcripts), reads=_TURNS, in_scanner=True
)

ES320: Final = declare_rule(
    "ES320",
    row=by_version(_question_not_asked),
    run=_prompts_without_question,
    reads=_TURNS,
    in_scanner=True,
)

ES321: Final = declare_rule(
    "ES321",
    row=_beyond_limit,
    reads=("/token_usage/output_tokens", "/interactions", "/messages"),
    in_scanner=True,
)

NOT_ASKED: Final = ES320.violation("no turn of the transcript holds input.raw", "/input/raw")

RULES: Final = (ES304, ES305, ES306, ES315, ES319, ES320, ES321)
