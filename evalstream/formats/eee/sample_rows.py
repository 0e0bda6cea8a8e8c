"""Read a row for a comparison of runs, as the scanner does, and its figures for a profile."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from evalstream.formats.eee import row_view
from evalstream.formats.eee.row_digests import to_double
from evalstream.model.options import SampleRequest
from evalstream.model.sample_record import UNKNOWN, SampleFlag, SampleRow
from evalstream.parsing.json import member
from evalstream.stats.sample_digests import (
    InputDigests,
    encode_text,
    id_digest,
    read_cluster,
    sample_text,
    text_digest,
    text_identity,
)
from evalstream.stats.sketch import RowFigures

_NO_IDENTITY: Final = (UNKNOWN, UNKNOWN)


def sample_row(
    row: Mapping[str, Any], request: SampleRequest, number: int, offset: int, *, is_scored: bool
) -> SampleRow:
    """Return a row in the terms of a comparison, without its group.

    `is_scored` tells whether its score can be relied on.
    """
    shown = _input_digests(row)
    sample = sample_text(row.get("sample_id"))
    evaluation = row.get("evaluation")
    judged = evaluation if isinstance(evaluation, dict) else {}
    holder = row.get("input")
    prompt = holder.get("formatted") if isinstance(holder, dict) else None
    return SampleRow(
        *_identity(row, request.by, shown, sample),
        id_digest(row.get("sample_id")),
        0,
        number,
        offset,
        to_double(judged.get("score")) if is_scored else math.nan,
        _flags(judged.get("is_correct"), failed=bool(row.get("error"))),
        UNKNOWN if shown is None else shown.question,
        UNKNOWN if shown is None else shown.input,
        text_digest(prompt),
        read_cluster(request, row, shown),
    )


def row_cluster(request: SampleRequest, row: Mapping[str, Any]) -> int:
    """Return the digest of the cluster of a row; see `read_cluster`."""
    return read_cluster(request, row, _input_digests(row))


def _input_digests(row: Mapping[str, Any]) -> InputDigests | None:
    covered = row_view.hash_input(row)
    if covered is None:
        return None
    raw, reference = covered
    choices = row["input"].get("choices")
    texts = choices if isinstance(choices, list) else []
    return InputDigests(
        raw,
        [reference] if isinstance(reference, str) else reference,
        [text if isinstance(text, str) else f"{text}" for text in texts],
    )


def _identity(
    row: Mapping[str, Any], by: str, shown: InputDigests | None, sample: bytes
) -> tuple[int, int]:
    if by == "input":
        return _NO_IDENTITY if shown is None else (shown.high, shown.low)
    if by == "sample_id":
        return text_identity(sample) if sample else _NO_IDENTITY
    declared = row.get("sample_hash")
    if not declared or not isinstance(declared, str):
        return _NO_IDENTITY
    return text_identity(encode_text(declared))


def _flags(correct: Any, *, failed: bool) -> int:
    flags = SampleFlag.FAILED if failed else SampleFlag(0)
    if isinstance(correct, bool):
        flags |= SampleFlag.RIGHT if correct else SampleFlag.WRONG
    return int(flags)


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
