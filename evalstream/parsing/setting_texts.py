"""What documents say of the settings of a run, as texts."""

from __future__ import annotations

from typing import Any, Final

from evalstream.parsing import json

MOST_SETTING: Final = 200
"""Number of characters of a setting that is kept."""


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
