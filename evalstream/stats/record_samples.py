"""Describe records of formats without rows as a comparison needs them."""

from __future__ import annotations

from typing import Any

from evalstream.model.options import SampleRequest
from evalstream.model.sample_record import UNKNOWN, SampleRow
from evalstream.stats.sample_digests import InputDigests, bytes_digest, sample_text, text_identity


def record_sample(
    request: SampleRequest, sample: Any, shown: InputDigests | None, line: int, offset: int
) -> SampleRow:
    """Return the sample of a record, which has no score, flags or cluster yet.

    `sample` is its sample id, of any JSON type, and `shown` its input, None if it is not known.
    These records have no sample_hash, so that samples have no identity by it.
    """
    text = sample_text(sample)
    high = low = UNKNOWN
    if request.by == "input" and shown is not None:
        high, low = shown.high, shown.low
    elif request.by == "sample_id" and text:
        high, low = text_identity(text)
    return SampleRow(
        high,
        low,
        bytes_digest(text) if text else UNKNOWN,
        0,
        line,
        offset,
        float("nan"),
        0,
        UNKNOWN if shown is None else shown.question,
        UNKNOWN if shown is None else shown.input,
        UNKNOWN,
        UNKNOWN,
    )


def has_identity(row: SampleRow) -> bool:
    """Tell whether a sample can be paired with one of another run."""
    return (row.high, row.low) != (UNKNOWN, UNKNOWN)
