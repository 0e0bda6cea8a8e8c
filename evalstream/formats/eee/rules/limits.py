"""ES321: rows against the limits of generation that their aggregate declares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from evalstream.formats.eee import row_view
from evalstream.formats.eee.aggregate import to_float
from evalstream.formats.eee.context import RowContext
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Violation, at_most
from evalstream.parsing.json import member
from evalstream.rules.base import RowCheck, declare_rule

Row = Mapping[str, Any]


class Limits(NamedTuple):
    """The most tokens of one output, and the most turns of a transcript; infinite for no limit."""

    most_tokens: float = math.inf
    most_turns: float = math.inf


def find_limits(context: RowContext) -> Limits:
    """Return the limits that every row must keep, whatever result it scores."""
    tokens = [result.most_tokens for result in context.results]
    turns = [result.most_turns for result in context.results]
    return Limits(*map(_find_widest, (tokens, turns)))


def _find_widest(limits: list[float | None]) -> float:
    known = [limit for limit in limits if limit is not None and limit > 0]
    return max(known) if known and len(known) == len(limits) else math.inf


def _beyond_limit(context: RowContext) -> RowCheck | None:
    limits = find_limits(context)
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
    texts, reasoned = member(output, "raw"), to_float(member(usage, "reasoning_tokens"))
    outputs = len(texts) if isinstance(texts, list) and texts else 1
    calls = max(outputs, row_view.count_calls(row))
    limit = most * calls
    if used is None or used <= limit or reasoned or member(output, "reasoning_trace"):
        return
    message = "output_tokens is above max_tokens of generation_args"
    many = "outputs" if calls == outputs else "calls"
    message += f" for each of {calls:,} {many}" if calls > 1 else ""
    expected = at_most(int(limit) if limit.is_integer() else limit)
    pointer, found = "/token_usage/output_tokens", member(usage, "output_tokens")
    yield ES321.violation(message, pointer=pointer, expected=expected, found=found)


def _too_many_turns(key: str, turns: list[Any], most: float) -> Iterator[Violation]:
    """Find a transcript that goes on behind the limit, but for what tools answered at its end."""
    last = len(turns)
    while last and member(turns[last - 1], "role") == "tool":
        last -= 1
    if last > most:
        message = f"the transcript has {len(turns):,} turns, more than message_limit of eval_limits"
        yield ES321.violation(message, pointer=f"/{key}", expected={"maxItems": int(most)})


ES321: Final = declare_rule(
    "ES321",
    row=_beyond_limit,
    reads=("/token_usage/output_tokens", "/interactions", "/messages"),
    in_scanner=True,
)

RULES: Final = (ES321,)
