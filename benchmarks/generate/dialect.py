"""What differs between the versions of the Every Eval Ever format that the generator writes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]


@dataclass(frozen=True)
class Dialect:
    """One version of the format, seen by a writer."""

    version: str
    transcript: str
    has_lists: bool
    has_result_ids: bool
    has_string_maps: bool

    def texts(self, text: str) -> str | list[str]:
        """Spell a reference, an output or a reasoning trace."""
        return [text] if self.has_lists else text

    def mapping(self, values: Document) -> Document:
        """Spell an open mapping, with values as strings where the version wants strings."""
        if not self.has_string_maps:
            return values
        return {key: str(value) for key, value in values.items()}

    def answered(self, call_ids: list[str]) -> str | list[str]:
        """Spell the tool_call_id of a turn that answers these calls."""
        return call_ids if self.has_lists or len(call_ids) > 1 else call_ids[0]

    def sample_hash(self, raw: str, reference: str) -> str:
        """Digest the input under the recipe that the version prefers."""
        if not self.has_lists:
            return hashlib.sha256(f"{raw}{reference}".encode()).hexdigest()
        content = {"raw": raw, "reference": [reference]}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


DIALECTS = {
    "0.2.0": Dialect(
        "0.2.0", "interactions", has_lists=False, has_result_ids=False, has_string_maps=False
    ),
    "0.3.0": Dialect(
        "0.3.0", "messages", has_lists=True, has_result_ids=True, has_string_maps=True
    ),
}
