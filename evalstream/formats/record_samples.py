"""Describe records of formats without rows, and their runs, as a comparison needs them."""

from __future__ import annotations

from typing import Any, Final

from evalstream.model.sample_record import UNKNOWN, SampleRequest, SampleRow
from evalstream.parsing import json
from evalstream.stats.sample_digests import InputDigests, digest_of, identity_of, sample_text

MOST_SETTING: Final = 200
"""Number of characters of a setting that is kept."""


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
        high, low = identity_of(text)
    return SampleRow(
        high,
        low,
        digest_of(text) if text else UNKNOWN,
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


def settings_in(name: str, value: Any) -> dict[str, str]:
    """Return the values in a value as texts, by `name` and the JSON Pointers to them."""
    found: dict[str, str] = {}
    _flatten(name, value, found)
    return found


def setting_text(value: Any) -> str:
    """Return a setting as a text of bounded length: a string as it is, other values as JSON."""
    text = value if isinstance(value, str) else json.canonical(value).decode(errors="replace")
    return text if len(text) <= MOST_SETTING else f"{text[:MOST_SETTING]}…"


def _flatten(name: str, value: Any, found: dict[str, str]) -> None:
    if isinstance(value, dict) and value:
        for key, one in value.items():
            _flatten(f"{name}/{key}", one, found)
    elif value is not None:
        found[name] = setting_text(value)
