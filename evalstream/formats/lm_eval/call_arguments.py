"""The arguments of the model in a call of the harness."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from evalstream.parsing.json_values import object_or_empty

MODEL_ARGUMENTS: Final = ("peft", "delta", "pretrained", "model", "path", "engine")
"""The arguments that name a model, the one that counts first."""


def read_argument(given: Any, name: str) -> str | None:
    """Return the text of an argument as the harness reads it for a name, None without it."""
    if isinstance(given, dict):
        return str(given[name]) if name in given else None
    if isinstance(given, str) and f"{name}=" in given:
        return given.split(f"{name}=")[1].partition(",")[0]
    return None


def list_arguments(given: Any) -> Mapping[str, Any]:
    """Return all arguments; of one that stands twice the last."""
    if not isinstance(given, str):
        return object_or_empty(given)
    parts = (part.partition("=") for part in given.split(","))
    return {name.strip(): value.strip() for name, _, value in parts}


def parse_argument(text: Any) -> Any:
    """Return an argument as the harness reads its text (`handle_arg_string` in its utils)."""
    if not isinstance(text, str):
        return text
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    with suppress(ValueError):
        return float(text)
    return text
