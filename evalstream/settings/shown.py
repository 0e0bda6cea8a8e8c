"""Show the settings that hold, as TOML with the source of each value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalstream.batch.per_file_ignores import parse_per_file_ignore
from evalstream.io.names import printable
from evalstream.model.finding import Severity
from evalstream.model.options import Option
from evalstream.settings.declared import PER_FILE, is_setting, settings_key
from evalstream.settings.load import Chosen


def settings_lines(
    options: Iterable[Option], chosen: Mapping[str, Chosen], file: str | None
) -> Iterator[str]:
    """Yield the lines: the file, then each setting of a command with its value and its source.

    An option without a value is a comment, as TOML has no value for it.
    """
    yield f"# settings file: {'none' if file is None else _comment(file)}"
    own = [one for one in options if is_setting(one)]
    for one in own:
        value, source = chosen[one.name]
        if one.name == PER_FILE:
            continue
        if value is None:
            yield f"# {settings_key(one)} is not set  # {_comment(source)}"
        else:
            yield f"{settings_key(one)} = {_toml(one, value)}  # {_comment(source)}"
    if any(one.name == PER_FILE for one in own):
        value, source = chosen[PER_FILE]
        yield f"[per-file-ignores]  # {_comment(source)}"
        for pattern, codes in map(parse_per_file_ignore, value):
            yield f"{_text(pattern)} = {_array(codes)}"


def _toml(option: Option, value: Any) -> str:
    if isinstance(value, bool):
        return str(value is not option.text.negates).lower()
    if isinstance(value, Severity):
        return _text(value.label)
    if isinstance(value, tuple):
        return _array(value)
    return str(value) if isinstance(value, int) else _text(value)


def _comment(text: str) -> str:
    return _text(text)[1:-1]


def _array(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _text(text: str) -> str:
    """Return a text as a TOML string, in which all characters print."""
    encoded = json.dumps(printable(text), ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in encoded)
