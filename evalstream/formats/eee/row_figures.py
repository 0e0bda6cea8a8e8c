"""Read from a row what a sketch shows: its score, its tokens and its latency."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from evalstream.parsing.json import member
from evalstream.stats.sketch import RowFigures

TOKENS: Final = (
    ("input", "input_tokens"),
    ("output", "output_tokens"),
    ("total", "total_tokens"),
    ("reasoning", "reasoning_tokens"),
    ("cache_read", "input_tokens_cache_read"),
    ("cache_write", "input_tokens_cache_write"),
)
"""The kinds of tokens, and the members of `token_usage` that count them."""


class _Row(msgspec.Struct):
    """The members of a row that a sketch shows; the others are not decoded."""

    evaluation: Any = None
    token_usage: Any = None
    performance: Any = None


_decode: Final = msgspec.json.Decoder(_Row).decode


def row_figures(line: bytes) -> RowFigures | None:
    """Return the figures of a row, or None if its line cannot be parsed."""
    row = _row(line)
    if row is None:
        return None
    score, latency = member(row.evaluation, "score"), member(row.performance, "latency_ms")
    usage = row.token_usage
    if usage.__class__ is not dict:
        return RowFigures(score, latency)
    return RowFigures(score, latency, [(kind, usage.get(name)) for kind, name in TOKENS])


def _row(line: bytes) -> _Row | None:
    """Return the members of a row, or None if its line cannot be parsed."""
    try:
        return _decode(line)
    # Before msgspec 0.21 its own errors have another class.
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _with_surrogates(line)


def _with_surrogates(line: bytes) -> _Row | None:
    """Return the row of a line with lone surrogates, which only the slowest parser reads."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return _Row(*map(row.get, _Row.__struct_fields__)) if row.__class__ is dict else None
