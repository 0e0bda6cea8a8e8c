"""The JSON Schema of settings, made from the declared options."""

from __future__ import annotations

import json
from typing import Any, Final

from evalstream.model.finding import Severity
from evalstream.model.options import Option
from evalstream.settings.declared import PER_FILE, SETTINGS
from evalstream.settings.values import LONGEST_TEXT, MOST_TEXTS, allowed_values, least

NAMED_ONLY: Final = "Only a file that --config names sets it."

_TEXT: Final = {"type": "string", "minLength": 1, "maxLength": LONGEST_TEXT}
_LIST: Final = {"type": "array", "items": _TEXT, "maxItems": MOST_TEXTS}
_LISTS: Final = {
    "type": "object",
    "propertyNames": {"minLength": 1, "maxLength": LONGEST_TEXT},
    "additionalProperties": _LIST,
    "maxProperties": MOST_TEXTS,
}


def settings_schema() -> dict[str, Any]:
    """Return the schema of `evalstream.toml` and of `[tool.evalstream]` in `pyproject.toml`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of evalstream",
        "description": "evalstream.toml, and the table tool.evalstream in pyproject.toml.",
        "type": "object",
        "properties": {key: _property(one) for key, one in SETTINGS.items()},
        "additionalProperties": False,
    }


def settings_schema_text() -> str:
    """Return the text of the schema's file."""
    return json.dumps(settings_schema(), indent=2, ensure_ascii=False) + "\n"


def describe_option(option: Option) -> str:
    """Return what users read of a setting."""
    text = option.text.help.format(choices=", ".join(allowed_values(option))).replace(
        " (repeatable)", ""
    )
    return f"{text} {NAMED_ONLY}" if option.text.named_only else text


def default_in_toml(option: Option) -> Any:
    """Return the default of a setting as a file would have it, None if it has none."""
    if option.name == PER_FILE:
        return {}
    if isinstance(option.default, bool):
        return option.default is not option.text.negates
    if isinstance(option.default, Severity):
        return option.default.label
    return list(option.default) if isinstance(option.default, tuple) else option.default


def _property(option: Option) -> dict[str, Any]:
    default = default_in_toml(option)
    shown = {} if default is None else {"default": default}
    return {"description": describe_option(option), **_type(option), **shown}


def _type(option: Option) -> dict[str, Any]:
    if option.name == PER_FILE:
        return _LISTS
    if option.type == tuple[str, ...]:
        return _LIST
    if option.type is bool:
        return {"type": "boolean"}
    if option.type is int:
        return {"type": "integer", **({} if least(option) is None else {"minimum": least(option)})}
    choices = allowed_values(option)
    return {"enum": list(choices)} if choices else _TEXT
