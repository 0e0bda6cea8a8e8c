"""The differences between the versions of the eee format that the generator writes."""

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
    is_current: bool
    """Texts come in lists, mappings hold strings only, and results have ids."""

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

    def sample_hash(self, raw: str, reference: str) -> str:
        """Digest the input under the recipe that the version prefers."""
        if not self.is_current:
            return hashlib.sha256(f"{raw}{reference}".encode()).hexdigest()
        content = {"raw": raw, "reference": [reference]}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


DIALECTS = {
    "0.2.0": Dialect("0.2.0", "interactions", is_current=False),
    "0.3.0": Dialect("0.3.0", "messages", is_current=True),
}
