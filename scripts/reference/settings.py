"""The page about settings: every key of a settings file, with its type, default and meaning."""

import json
from collections.abc import Iterator
from typing import Any

from evalstream.model.option_fields import Group, Option
from evalstream.settings.load import describe_option, settings_schema
from evalstream.settings.resolve import SETTINGS
from reference.markdown import code, fence, table

INTRODUCTION = """# Settings

The keys of `evalstream.toml`, and of the table `tool.evalstream` in `pyproject.toml`.
[Keep settings in a file](../how-to/settings.md) says which file holds and what comes first.
"""

SCHEMA = """## JSON Schema

`evalstream schema show settings` prints the JSON Schema of a settings file.
"""


def page() -> str:
    """Return the page."""
    schema = settings_schema()
    parts = [INTRODUCTION]
    for group in Group:
        rows = list(_rows(group, schema["properties"]))
        if rows:
            parts += [f"## {group.value}\n", table(["key", "value", "default", "meaning"], rows)]
    return "\n".join([*parts, SCHEMA, fence(json.dumps(schema, indent=2), "json")])


def _rows(group: Group, properties: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for key, one in SETTINGS.items():
        if one.text.group is group:
            form = properties[key]
            default = code(json.dumps(form["default"])) if "default" in form else ""
            yield code(key), _type(form, one), default, describe_option(one)


def _type(form: dict[str, Any], option: Option) -> str:
    """Return the values that a setting takes."""
    if "enum" in form and option.text.choices:
        return " or ".join(code(json.dumps(one)) for one in form["enum"])
    if "enum" in form:
        return "string"
    if form["type"] == "object":
        return "table of arrays of strings"
    return "array of strings" if form["type"] == "array" else str(form["type"])
