"""What documents say of the settings of a run, as texts."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from evalstream.parsing import json

MOST_SETTING: Final = 200
"""Number of characters of a setting that is kept."""


def flatten_settings(name: str, value: Any) -> dict[str, str]:
    """Return the values in a value as texts, by `name` and the JSON Pointers to them."""
    found: dict[str, str] = {}
    _flatten(name, value, found)
    return found


def setting_text(value: Any) -> str:
    """Return a setting as a text of bounded length: a string as it is, other values as JSON.

    A longer text is cut, and followed by a digest of the whole, so that different ones differ.
    """
    text = value if isinstance(value, str) else json.canonical(value).decode(errors="replace")
    if len(text) <= MOST_SETTING:
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return f"{text[:MOST_SETTING]}… (sha256 {digest[:8]}…)"


def _flatten(name: str, value: Any, found: dict[str, str]) -> None:
    if isinstance(value, dict) and value:
        for key, one in value.items():
            _flatten(f"{name}/{key}", one, found)
    elif value is not None:
        found[name] = setting_text(value)
