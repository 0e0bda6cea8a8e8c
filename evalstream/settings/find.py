"""Find the settings file of the working directory, and read its table."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Any, Final

from evalstream.io.names import printable
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import UsageError
from evalstream.parsing.lazy_regex import LazyPattern

OWN_NAME: Final = "evalstream.toml"
PROJECT_NAME: Final = "pyproject.toml"
"""A file that many tools share; its settings are in the table `tool.evalstream`."""

TOOL: Final = "evalstream"

MOST_BYTES: Final = 1 << 20
"""The largest file that is read."""

MOST_KEY_PARTS: Final = 16
"""The most parts of a dotted key: parsing takes time by the square of their number."""

_DEEP_KEY: Final = LazyPattern(
    rb"""(?:\.[ \t]*+(?:[\w-]++|"(?:[^"\\\n]++|\\[^\n])*+"|'[^'\n]*+')[ \t]*+){%d}"""
    % MOST_KEY_PARTS
)


class TomlTable(NamedTuple):
    """The settings of a file as TOML has them, and the path of the file."""

    file: str
    values: Mapping[str, Any]


def find_table() -> TomlTable | None:
    """Return the settings of the nearest folder that has some: the working directory or above.

    In one folder `evalstream.toml` comes first; a `pyproject.toml` without the table is passed
    over. Paths are relative to the working directory. Raises UsageError for a file that cannot be
    read or is not valid.
    """
    try:
        depth = os.getcwd().rstrip("/").count("/")
    except FileNotFoundError:
        return None
    for level in range(depth + 1):
        folder = "../" * level
        found = _own_table(f"{folder}{OWN_NAME}") or _project_table(f"{folder}{PROJECT_NAME}")
        if found is not None:
            return found
    return None


def read_table(file: str) -> TomlTable:
    """Return the settings of a file. Raises UsageError if it has none."""
    is_project = os.path.basename(file) == PROJECT_NAME
    found = _project_table(file) if is_project else _own_table(file)
    if found is None:
        missing = f"has no table [tool.{TOOL}]" if os.path.lexists(file) else "file not found"
        raise UsageError(f"{printable(file)}: {missing}")
    return found


def _own_table(file: str) -> TomlTable | None:
    """Return the settings of a file that has nothing else, None if there is no such file."""
    text = _bytes(file)
    return None if text is None else TomlTable(file, _parse_toml(file, text))


def _project_table(file: str) -> TomlTable | None:
    """Return the settings of a file that tools share, None if it has none."""
    text = _bytes(file)
    if text is None or TOOL.encode() not in text:
        return None
    tools = _parse_toml(file, text).get("tool")
    if not isinstance(tools, Mapping) or TOOL not in tools:
        return None
    if not isinstance(tools[TOOL], Mapping):
        raise UsageError(f"{printable(file)}: tool.{TOOL} must be a table")
    return TomlTable(file, tools[TOOL])


def _bytes(file: str) -> bytes | None:
    """Return the content of a file, None if it does not exist. Raises UsageError."""
    try:
        # The first look opens no device; the second is at what was opened.
        is_regular = stat.S_ISREG(os.stat(file).st_mode)
        if is_regular:
            with open(file, "rb", opener=_open_at_once) as opened:
                is_regular = stat.S_ISREG(os.fstat(opened.fileno()).st_mode)
                text = opened.read(MOST_BYTES + 1) if is_regular else b""
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a valid file name"
        raise _unreadable(file, reason) from error
    if not is_regular:
        raise _unreadable(file, "not a regular file")
    if len(text) > MOST_BYTES:
        raise _unreadable(file, f"larger than {MOST_BYTES:,} bytes")
    return text


def _open_at_once(file: str, flags: int) -> int:
    """Open a file; a FIFO does not wait for its writer."""
    return os.open(file, flags | os.O_NONBLOCK)


def _unreadable(file: str, reason: str | None) -> UsageError:
    return UsageError(
        f"{printable(file)}: the settings cannot be read: {reason}; --config FILE takes those of "
        "another file, --isolated reads none"
    )


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
