"""The differences between the versions of the eee format that the generator writes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]

Recipe = Callable[[str, str], str]
"""Computes the sample_hash of an input text and its one reference."""


def concat(raw: str, reference: str) -> str:
    """Digest the input text and the reference, with nothing between them."""
    return digest(f"{raw}{reference}")


def json_str(raw: str, reference: str) -> str:
    """Digest both in a JSON object, as lm-eval's converter does."""
    return digest(json.dumps({"raw": raw, "reference": reference}))


def json_list(raw: str, reference: str) -> str:
    """Digest both in a compact JSON object, the reference in a list."""
    return digest(json.dumps({"raw": raw, "reference": [reference]}, separators=(",", ":")))


def digest(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Dialect:
    """One version of the format, seen by a writer; `preferred` is its recipe of sample_hash."""

    version: str
    transcript: str
    preferred: Recipe
    is_current: bool
    """Texts come in lists, and mappings hold strings only."""

    has_result_ids: bool
    """Results have ids, and metrics have names."""

    def texts(self, text: str) -> str | list[str]:
        """Spell a reference, an output or a reasoning trace."""
        return [text] if self.is_current else text

    def mapping(self, values: Document) -> Document:
        """Spell an open mapping, with values as strings where the version wants strings."""
        if not self.is_current:
            return values
        return {key: str(value) for key, value in values.items()}

    def answered(self, call_ids: list[str]) -> str | list[str]:
        """Spell the tool_call_id of a turn that answers these calls."""
        return call_ids if self.is_current or len(call_ids) > 1 else call_ids[0]


_ALL = (
    Dialect("0.2.0", "interactions", concat, is_current=False, has_result_ids=False),
    Dialect("0.2.1", "messages", concat, is_current=True, has_result_ids=False),
    Dialect("0.2.2", "messages", concat, is_current=True, has_result_ids=True),
    Dialect("0.3.0", "messages", json_list, is_current=True, has_result_ids=True),
)
DIALECTS = {dialect.version: dialect for dialect in _ALL}
