"""Read from a row what a sketch shows: its score, its latency and its tokens."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from evalstream.parsing.json import member
from evalstream.stats.sketch import RowFigures


class _Evaluation(msgspec.Struct, gc=False):
    score: Any = None


class _Performance(msgspec.Struct, gc=False):
    latency_ms: Any = None


class _Usage(msgspec.Struct, gc=False):
    """The numbers of tokens, in the order of their kinds."""

    input_tokens: Any = None
    output_tokens: Any = None
    total_tokens: Any = None
    reasoning_tokens: Any = None
    input_tokens_cache_read: Any = None
    input_tokens_cache_write: Any = None


class _Row(msgspec.Struct, gc=False):
    """The members of a usual row that a sketch shows; the others are not decoded."""

    evaluation: _Evaluation | None = None
    performance: _Performance | None = None
    token_usage: _Usage | None = None


_decode: Final = msgspec.json.Decoder(_Row).decode


def row_figures(line: bytes) -> RowFigures | None:
    """Return the figures of a row, or None if its line cannot be parsed."""
    try:
        row = _decode(line)
    # Before msgspec 0.21 its own errors have another class.
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _unusual(line)
    evaluation, performance, usage = row.evaluation, row.performance, row.token_usage
    score = None if evaluation is None else evaluation.score
    latency = None if performance is None else performance.latency_ms
    if usage is None:
        return score, latency
    return score, latency, *msgspec.structs.astuple(usage)


def _unusual(line: bytes) -> RowFigures | None:
    """Return the figures of a row with a lone surrogate, or with another type for an object."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    usage = member(row, "token_usage")
    return (
        member(member(row, "evaluation"), "score"),
        member(member(row, "performance"), "latency_ms"),
        *(member(usage, name) for name in _Usage.__struct_fields__),
    )
