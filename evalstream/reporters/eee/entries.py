"""Errors and warnings of the report in the words of the validator."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from evalstream.model.finding import Excerpt, Finding
from evalstream.parsing.json import dumps, read_back

WHOLE_FILE: Final = "(file)"
ROOT: Final = "(root)"
HIDDEN: Final = "(truncated)"
"""How the validator writes places that are neither a member nor a line."""

TYPES: Final = {
    "additionalProperties": "extra_forbidden",
    "const": "literal_error",
    "enum": "enum",
    "maximum": "less_than_equal",
    "minimum": "greater_than_equal",
    "minItems": "too_short",
    "pattern": "string_pattern_mismatch",
}
"""The validator's words for violations of a schema, by the keyword."""

VALUE_TYPES: Final = {
    "array": "list_type",
    "boolean": "bool_type",
    "integer": "int_type",
    "number": "float_type",
    "object": "model_type",
    "string": "string_type",
}
"""Its words for values of the wrong type, by the type that is expected."""

READING_TYPES: Final = {
    "ES001": "io_error",
    **dict.fromkeys(
        ("ES103", "ES104", "ES105", "ES106", "ES107", "ES108", "ES113"), "json_parse_error"
    ),
    "ES109": "model_type",
}
"""Its words for files and lines that cannot be read, by our code."""

PAIR_CODES: Final = ("ES1", "ES5", "ES6", "ES902")
PAIR_PLACES: Final = frozenset({"evaluation_id", "model_id", "model_info", "model_info -> id"})
PAIR_MEMBER: Final = "detailed_evaluation_results"
"""What concerns both files of a pair, by code and place; the validator refuses both for it."""

_MISSING: Final = re.compile(r"(.+) is missing", re.DOTALL)
_UNKNOWN: Final = re.compile(r"unknown property (.+?)(?:; did you mean .+\?)?", re.DOTALL)
_COLUMN: Final = re.compile(r"at column (\d+)")


def make_entry(finding: Finding) -> dict[str, Any]:
    """Return an error or a warning in the words of the validator."""
    entry: dict[str, Any] = {
        "loc": location(finding),
        "msg": f"{finding.message} ({finding.code} {finding.name})",
        "type": _entry_type(finding),
    }
    is_value = finding.found is not None and not isinstance(finding.found, Excerpt)
    if finding.keyword is not None or is_value:
        entry["input"] = read_back(dumps(finding.found))
    return entry


def format_entry(entry: dict[str, Any]) -> str:
    """Return an entry as JSON in the layout of the validator, at its depth in the list."""
    members = ",\n        ".join(
        f'"{key}": {_value(value) if isinstance(value, (dict, list)) else json.dumps(value)}'
        for key, value in entry.items()
    )
    return f"{{\n        {members}\n      }}"


def _value(value: Any) -> str:
    return json.dumps(value, indent=2).replace("\n", "\n        ")


def _entry_type(finding: Finding) -> str:
    """Return the validator's word for a violation of the schema, else our code."""
    keyword, expected = finding.keyword, finding.expected
    if keyword == "required" and _MISSING.fullmatch(finding.message):
        return "missing"
    if keyword == "type" and isinstance(expected, dict):
        given = expected.get("type")
        wanted = [given] if isinstance(given, str) else list(given or ())
        return next((VALUE_TYPES[one] for one in wanted if one in VALUE_TYPES), finding.code)
    return TYPES.get(keyword or "") or READING_TYPES.get(finding.code, finding.code)


def location(finding: Finding) -> str:
    """Return the place of a finding as the validator writes it: `line 2 -> choices[0] -> text`.

    Members are separated by arrows, and indices are in brackets.
    """
    place = _members(finding)
    is_row = finding.offset is not None
    if finding.line is not None and (is_row or place is None):
        column = _COLUMN.search(finding.message) if place is None else None
        line = f"line {finding.line}{f', col {column[1]}' if column else ''}"
        return line if place is None else f"{line} -> {place}"
    return WHOLE_FILE if place is None else place


def is_about_pair(finding: Finding) -> bool:
    """Tell whether a finding concerns the other file of a pair, too."""
    place = _members(finding) or ""
    is_shared = place in PAIR_PLACES or place.startswith(PAIR_MEMBER)
    return is_shared or finding.code.startswith(PAIR_CODES)


def _members(finding: Finding) -> str | None:
    """Return the place in a document, None where the finding is about no part of it."""
    if finding.pointer is None or finding.code in READING_TYPES:
        return ROOT if finding.code == "ES109" else None
    tokens = finding.pointer.split("/")[1:]
    member = None
    if finding.keyword == "required":
        member = _MISSING.fullmatch(finding.message)
    elif finding.keyword == "additionalProperties":
        member = _UNKNOWN.fullmatch(finding.message)
    names = [one.replace("~1", "/").replace("~0", "~") for one in tokens]
    place = ""
    for name in [*names, *([member[1]] if member else [])]:
        if name.isdecimal() and name.isascii():
            place += f"[{name}]"
        else:
            place += f" -> {name}" if place else name
    return place or ROOT
