"""JSON that no Python value stands for: placeholders in rows, replaced in the written line."""

import json
import re
from typing import Any

_PLACEHOLDER = re.compile(rb'"@~(\d+)~@"')
_TEXTS: list[bytes] = []
_MEANINGS: list[Any] = []
_KNOWN: dict[bytes, str] = {}


def literal(text: bytes) -> str:
    """Return a placeholder, a key or a value of a row, for JSON that is written as it is."""
    known = _KNOWN.get(text)
    if known is None:
        known = _KNOWN[text] = f"@~{len(_TEXTS)}~@"
        _TEXTS.append(text)
        _MEANINGS.append(_meaning(text))
    return known


def meaning(value: Any) -> Any:
    """Return what a value means: for a placeholder what its JSON says, None if it says nothing."""
    if value.__class__ is str and value.startswith("@~") and value.endswith("~@"):
        return _MEANINGS[int(value[2:-2])]
    return value


def filled(line: bytes) -> bytes:
    """Replace the placeholders of a line."""
    if b'"@~' not in line:
        return line
    return _PLACEHOLDER.sub(lambda match: _TEXTS[int(match[1])], line)


def escaped_key(name: str, place: int = 0) -> str:
    """Return a placeholder for a key that is written with an escape of one of its characters."""
    place %= len(name)
    text = f'"{name[:place]}\\u{ord(name[place]):04x}{name[place + 1 :]}"'
    return literal(text.encode())


def again(name: str) -> str:
    """Return a placeholder for a key that another member of the object may have, too."""
    return literal(json.dumps(name).encode())


def _meaning(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
