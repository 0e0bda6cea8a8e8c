"""Load the nearest settings file: its values, their JSON Schema, and mistakes in them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from evalstream.batch.per_file_ignores import STDIN_NAMES
from evalstream.formats.registry import CATALOGUE
from evalstream.io.names import is_remote, printable
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import UsageError
from evalstream.model.finding import Severity
from evalstream.model.option_fields import Option
from evalstream.model.options import OPTIONS, ROUTING_OPTIONS, Options
from evalstream.model.text import describe_unknown
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.reporters import REPORT_OPTIONS
from evalstream.settings import resolve
from evalstream.settings.options import options_from, read_schema_text
from evalstream.settings.resolve import TOOL, read_project, read_regular_file

MOST_KEY_PARTS: Final = 16
"""The most parts of a dotted key: parsing takes time by the square of their number."""

_DEEP_KEY: Final = LazyPattern(
    rb"""(?:\.[ \t]*+(?:[\w-]++|"(?:[^"\\\n]++|\\[^\n])*+"|'[^'\n]*+')[ \t]*+){%d}"""
    % MOST_KEY_PARTS
)


KEYS_OF_ONE_CALL: Final = frozenset(
    resolve.settings_key(one)
    for one in (*OPTIONS.values(), *REPORT_OPTIONS.values())
    if one.name in resolve.OF_ONE_CALL or one.name in ROUTING_OPTIONS
)
"""The keys of the options that no file sets."""


class TomlTable(NamedTuple):
    """The settings of a file as TOML has them, and the path of the file."""

    file: str
    values: Mapping[str, Any]


def find_table() -> TomlTable | None:
    """Return the settings of the nearest folder that has some: the working directory or above.

    A `pyproject.toml` without the table is passed over. Raises UsageError for a file that cannot
    be read or is not valid.
    """
    return next(filter(None, map(_table, resolve.settings_files())), None)


def read_table(file: str) -> TomlTable:
    """Return the settings of a file. Raises UsageError if it has none."""
    found = _table(file)
    if found is None:
        missing = f"has no table [tool.{TOOL}]" if os.path.lexists(file) else "file not found"
        raise UsageError(f"{printable(file)}: {missing}")
    return found


def _table(file: str) -> TomlTable | None:
    if os.path.basename(file) == resolve.PROJECT_NAME:
        return _project_table(file)
    text = read_regular_file(file)
    return None if text is None else TomlTable(file, _parse_toml(file, text))


def _project_table(file: str) -> TomlTable | None:
    """Return the settings of a file that tools share, None if it has none."""
    text = read_project(file)
    if text is None or (TOOL.encode() not in text and b"\\" not in text):
        return None
    tools = _parse_toml(file, text).get("tool")
    if not isinstance(tools, Mapping) or TOOL not in tools:
        return None
    if not isinstance(tools[TOOL], Mapping):
        raise UsageError(f"{printable(file)}: tool.{TOOL} must be a table")
    return TomlTable(file, tools[TOOL])


def _parse_toml(file: str, text: bytes) -> dict[str, Any]:
    """Parse TOML. Raises UsageError with the line and the column of a mistake."""
    # Most calls have no settings file.
    import tomllib

    deep = _DEEP_KEY.search(text)
    if deep is not None:
        line = text.count(b"\n", 0, deep.start()) + 1
        reason = f"a key has more than {MOST_KEY_PARTS} parts (at line {line})"
        raise UsageError(f"{printable(file)}: {reason}")
    try:
        return tomllib.loads(text.decode())
    except UnicodeDecodeError as error:
        before = text[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        reason = f"not valid UTF-8 (at line {line}, byte {column})"
    except tomllib.TOMLDecodeError as error:
        reason = f"not valid TOML: {_sentence(str(error), text)}"
    except RecursionError:
        reason = "not valid TOML: nested too deeply"
    raise UsageError(f"{printable(file)}: {reason}")


def _sentence(message: str, text: bytes) -> str:
    """Return the message of a TOML error, with line and column in any case."""
    lines = text.decode().split("\n")
    end = f"(at line {len(lines)}, column {len(lines[-1]) + 1})"
    return f"{message[:1].lower()}{message[1:]}".replace("(at end of document)", end)


INTEGERS: Final = (int, int | None)
"""The types of settings that are integers; a setting without a value is left out of its file."""

NAMES_OF_TYPES: Final = {
    bool: "a boolean",
    int: "an integer",
    float: "a float",
    str: "a string",
    list: "an array",
    dict: "a table",
}
"""How TOML calls types; what has another type is a date or a time."""

LONGEST: Final = 60
"""How many characters of a wrong value a message shows."""

LONGEST_TEXT: Final = 4_096
"""How many characters a value may have."""

MOST_TEXTS: Final = 1_000
"""How many values an array, or patterns a table may have: each is compared with each file."""

TEXT: Final = f"a string of 1 to {LONGEST_TEXT:,} characters"
LISTS: Final = f"an array of at most {MOST_TEXTS:,} strings of 1 to {LONGEST_TEXT:,} characters"
TABLES: Final = f"a table of at most {MOST_TEXTS:,} patterns with {LISTS} each"


def read_values(table: TomlTable) -> dict[str, Any]:
    """Return the values of options by the names of their fields.

    Raises UsageError that names the file, the key and what was expected.
    """
    try:
        values = typed_values(table.values)
        for name in sorted(resolve.CODES & values.keys()):
            _check_codes(name, values[name])
        for pattern, codes in values.get(resolve.PER_FILE, {}).items():
            _check_codes(f"per-file-ignores.{pattern!r}", codes)
    except UsageError as error:
        raise UsageError(f"{printable(table.file)}: {error.on_command_line}") from error
    folder = os.path.dirname(table.file)
    for name in resolve.PATHS & values.keys():
        values[name] = _below(folder, values[name])
    if resolve.PER_FILE in values:
        values[resolve.PER_FILE] = tuple(
            f"{_pattern_below(folder, pattern)}:{','.join(codes)}"
            for pattern, codes in values[resolve.PER_FILE].items()
            if codes
        )
    return values


def typed_values(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of the right types by the names of their fields. Raises UsageError.

    What JSON Schema can say about settings is checked here, and nothing else.
    """
    values = {}
    for key, value in table.items():
        if key in KEYS_OF_ONE_CALL:
            raise UsageError(f"{key}: only the command line can set it, as --{key}")
        if key not in resolve.SETTINGS:
            raise UsageError(describe_unknown("setting", key, resolve.SETTINGS))
        option = resolve.SETTINGS[key]
        try:
            values[option.name] = _convert_value(option, value)
        except ValueError as error:
            raise UsageError(f"{key}: {error}") from None
    return values


def _convert_value(option: Option, value: Any) -> Any:
    """Return the value of a field. Raises ValueError that says what was expected."""
    if option.name == resolve.PER_FILE:
        return _require(_is_table, value, TABLES)
    if option.type == tuple[str, ...]:
        return tuple(_require(_is_list, value, LISTS))
    if option.type is bool:
        on = _require(lambda given: isinstance(given, bool), value, "true or false")
        return not on if option.text.negates else on
    if option.type in INTEGERS:
        return _number(value, option.text.least)
    choices = resolve.allowed_values(option)
    if choices and value not in choices:
        if isinstance(value, str):
            raise ValueError(describe_unknown("value", value, choices))
        raise ValueError(_describe_expected(f"one of {', '.join(choices)}", value))
    text = _require(_is_text, value, TEXT)
    return Severity[text.upper()] if option.type in (Severity, Severity | None) else text


def _number(value: int, at_least: int | None) -> int:
    _require(lambda given: type(given) is int, value, "an integer")
    if at_least is not None and value < at_least:
        raise ValueError(f"expected at least {at_least}, found {value}")
    return value


def _require(fits: Callable[[Any], bool], value: Any, wanted: str) -> Any:
    if not fits(value):
        raise ValueError(_describe_expected(wanted, value))
    return value


def _describe_expected(wanted: str, value: Any) -> str:
    found = NAMES_OF_TYPES.get(type(value), "a date or time")
    if isinstance(value, (bool, int, float, str)):
        import json

        found = f"{found} {json.dumps(value, ensure_ascii=False)[:LONGEST]}"
    return f"expected {wanted}, found {found}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_TEXT


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_TEXTS and all(map(_is_text, value))


def _is_table(value: Any) -> bool:
    is_table = isinstance(value, dict) and len(value) <= MOST_TEXTS and all(map(_is_text, value))
    return is_table and all(map(_is_list, value.values()))


def _check_codes(key: str, codes: list[str]) -> None:
    for code in codes:
        try:
            CATALOGUE.find_rules(code)
        except UsageError as error:
            raise UsageError(f"{key}: {error}") from error


def _below(folder: str, path: str) -> str:
    return path if is_remote(path) else os.path.join(folder, path)


def _pattern_below(folder: str, pattern: str) -> str:
    """Return a pattern from the working directory; one of names stays as it is."""
    if "/" not in pattern or pattern in STDIN_NAMES:
        return pattern
    from glob import escape

    return _below(escape(folder), pattern)


def find_settings(file: str | None = None, *, isolated: bool = False) -> resolve.Settings:
    """Return the settings of a file, else of the folder unless `isolated`. Raises UsageError."""
    if not resolve.may_have_settings(file, isolated=isolated):
        return resolve.NO_SETTINGS
    table = find_table() if file is None else read_table(file)
    if table is None:
        return resolve.NO_SETTINGS
    return resolve.Settings(read_values(table), table.file, is_named=file is not None)


def load_settings(path: str | os.PathLike[str] | None = None) -> Options:
    """Return the options that a settings file sets, for the keyword `options` of `check`.

    Without `path` it is the file that the command line would use: the `evalstream.toml`, or the
    `pyproject.toml` with a table `tool.evalstream`, of the working directory or the nearest folder
    above it. Without such a file all options have their defaults. Settings of reports and of the
    ledger are not options of a check; they are checked and left out. Raises UsageError for
    settings that are not valid, and for those that only a file with a path here may set, such as
    `baseline`.
    """
    settings = find_settings(None if path is None else os.fspath(path))
    values = dict(settings.values)
    for option in resolve.SETTINGS.values():
        if option.name in values:
            resolve.refuse_found(option, settings)
    if values.get("schema") is not None:
        values["schema"] = read_schema_text(values["schema"])
    return options_from(values)


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
        "properties": {key: _property(one) for key, one in resolve.SETTINGS.items()},
        "additionalProperties": False,
    }


def settings_schema_text() -> str:
    """Return the text of the schema's file."""
    import json

    return json.dumps(settings_schema(), indent=2, ensure_ascii=False) + "\n"


def describe_option(option: Option) -> str:
    """Return what users read of a setting."""
    text = option.text.help.format(choices=", ".join(resolve.allowed_values(option))).replace(
        " (repeatable)", ""
    )
    return f"{text} {NAMED_ONLY}" if option.text.named_only else text


def _property(option: Option) -> dict[str, Any]:
    default = resolve.default_in_toml(option)
    shown = {} if default is None else {"default": default}
    return {"description": describe_option(option), **_type(option), **shown}


def _type(option: Option) -> dict[str, Any]:
    if option.name == resolve.PER_FILE:
        return _LISTS
    if option.type == tuple[str, ...]:
        return _LIST
    if option.type is bool:
        return {"type": "boolean"}
    if option.type in INTEGERS:
        least = option.text.least
        return {"type": "integer", **({} if least is None else {"minimum": least})}
    choices = resolve.allowed_values(option)
    return {"enum": list(choices)} if choices else _TEXT
