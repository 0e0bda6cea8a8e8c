"""JSON parsing and writing with jiter and orjson, JSON Pointers, and short forms for reports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from itertools import count
from math import isfinite
from typing import Any, Final

import jiter

from evalstream.model.data_class import NamedTuple
from evalstream.parsing.lazy_regex import LazyPattern

FAST_DEPTH: Final = 200
"""Maximum nesting that the fast parser accepts."""

VALUE_CHARACTERS: Final = 100
MOST_ITEMS: Final = 20
MOST_DEPTH: Final = 2
MOST_BITS: Final = 512
"""Limits of a value that a report shows."""

STRING: Final = r'"(?:[^"\\]++|\\.)*+"'
"""The pattern of a whole string with its quotes."""

UTF8_MARK: Final = b"\xef\xbb\xbf"

BLANK: Final = b" \t\r"
"""The bytes between values on one line."""
"""The byte order mark of UTF-8, which JSON does not allow."""

JSON_TYPE_NAMES: Final = {
    "NoneType": "null",
    "bool": "boolean",
    "int": "integer",
    "float": "number",
    "str": "string",
    "list": "array",
    "dict": "object",
}

fast: Callable[[bytes], Any] = partial(
    jiter.from_json, catch_duplicate_keys=True, allow_inf_nan=False
)
"""Parse a line quickly or raise ValueError.

It refuses what the exact parser refuses or reports: invalid UTF-8, duplicate keys, NaN, lone
surrogates, more than 200 levels, integers of over 4,300 digits. One exception: a number such as
1e999 becomes infinite, so the schema check that follows must refuse infinities.
"""

fast_with_nan: Callable[[bytes], Any] = partial(
    jiter.from_json, catch_duplicate_keys=True, allow_inf_nan=True
)
"""Parse a text as `fast` does; NaN and infinities, which Python writes, are not errors."""

fast_known: Callable[[bytes], Any] = partial(jiter.from_json, allow_inf_nan=False)
"""Parse a line that is known to have no duplicate key: this takes half the time."""


class SyntaxIssue(NamedTuple):
    """One violation in the text of a JSON document.

    `name` is the name of the rule that it breaks; `offset` is in bytes from the start of the text;
    `line` and `column` count from 1; `excerpt` is the text around the error and `caret` its index
    in it; `replaced` means that the value at `pointer` is a substitute.
    """

    name: str
    message: str
    offset: int | None = None
    line: int | None = None
    pointer: str | None = None
    excerpt: str | None = None
    caret: int = 0
    at_end: bool = False
    found: str | None = None
    replaced: bool = False
    column: int | None = None


class Parsed(NamedTuple):
    """The result of the exact parser: a value, if there is one, and all violations.

    In the value, infinities are replaced by the largest float, NaN by 0 and lone surrogates by
    U+FFFD, so that other rules can check it. `accepted` says that the value passed the check that
    `parse_document` was given.
    """

    value: Any
    readable: bool
    issues: list[SyntaxIssue]
    accepted: bool = False


def is_finite(value: Any) -> bool:
    """Tell whether a value that was parsed contains no infinite number and no NaN."""
    parts = [value]
    # The list grows while it is iterated: without a call for each part, as every aggregate is
    # looked through.
    for part in parts:
        kind = part.__class__
        if kind is dict:
            parts += part.values()
        elif kind is list:
            parts += part
        elif kind is float and not isfinite(part):
            return False
    return True


def pointer(path: Any) -> str:
    """Return a path of keys and indices as a JSON Pointer (RFC 6901)."""
    return "".join(f"/{_escape(key)}" for key in path)


def resolve(value: Any, path: Any) -> Any:
    """Return the part of `value` at a path of keys and indices, or None if it does not exist."""
    try:
        for key in path:
            value = value[key]
    except (KeyError, IndexError, TypeError):
        return None
    return value


def resolve_pointer(value: Any, pointer: str) -> Any:
    """Return the part of `value` at a JSON Pointer (RFC 6901), or None if it does not exist."""
    for name in split_pointer(pointer):
        if value.__class__ is list:
            if not name.isdecimal() or int(name) >= len(value):
                return None
            value = value[int(name)]
        else:
            value = member(value, name)
    return value


def split_pointer(pointer: str, most: int = -1) -> list[str]:
    """Return the names in a JSON Pointer (RFC 6901), at most so many, the last with the rest."""
    return [one.replace("~1", "/").replace("~0", "~") for one in pointer.split("/", most)[1:]]


def replace_value(document: Any, pointer: str, value: Any) -> bool:
    """Replace the value at a JSON Pointer below the root, and tell whether there is one."""
    start, _, token = pointer.rpartition("/")
    holder, (name,) = resolve_pointer(document, start), split_pointer(f"/{token}")
    if isinstance(holder, dict) and name in holder:
        holder[name] = value
        return True
    if isinstance(holder, list) and name.isdecimal() and int(name) < len(holder):
        holder[int(name)] = value
        return True
    return False


def blank_values(document: Any, pointers: Iterable[str | None]) -> None:
    """Put null in place of the values at JSON Pointers below the root that still exist."""
    for place in filter(None, pointers):
        replace_value(document, place, None)


def member(holder: Any, name: str) -> Any:
    """Return a member of an object, or None where it is missing or `holder` is not an object."""
    return holder.get(name) if isinstance(holder, dict) else None


def text_or_none(value: Any) -> str | None:
    """Return a string, or None for a value of another type."""
    return value if isinstance(value, str) else None


def type_name(value: Any) -> str:
    """Return the JSON type of a value, as JSON Schema names it."""
    return JSON_TYPE_NAMES.get(type(value).__name__, type(value).__name__)


def dumps(value: Any) -> bytes:
    """Encode `value` as compact JSON in UTF-8.

    Lone surrogates are escaped, and infinite numbers, which JSON does not have, become null.
    """
    try:
        return _encode(value, is_sorted=False)
    except (TypeError, UnicodeEncodeError):
        # The JSON of the standard library takes as long to load as five modules of evalstream.
        import json

        return json.dumps(_finite(value), separators=(",", ":")).encode()


FEW_CALLS: Final = 64
"""How many values the standard library encodes in the time in which orjson is loaded."""

MOST_ALIKE: Final = 1 << 16
"""How many characters of JSON it encodes at most."""

_calls: Final = count()


def _encode(value: Any, *, is_sorted: bool) -> bytes:
    """Encode as orjson does, and raise TypeError for what it refuses, or UnicodeEncodeError.

    It loads dataclasses, inspect, uuid and platform: 10 ms that few values can do without.
    """
    if "orjson" not in sys.modules and next(_calls) < FEW_CALLS:
        written = encode_alike(value, is_sorted=is_sorted)
        if written is not None:
            return written
    import orjson

    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS if is_sorted else None)


def encode_alike(value: Any, *, is_sorted: bool) -> bytes | None:
    """Encode a value with the standard library, None where orjson may write or refuse it otherwise.

    These are large and deep values, exponents, numbers that are infinite or above 64 bits. Raises
    UnicodeEncodeError for lone surrogates.
    """
    try:
        text = _small_encoder(is_sorted)(value)
    except (TypeError, ValueError):
        return None
    is_small = len(text) < MOST_ALIKE and text.count("[") + text.count("{") < FAST_DEPTH
    return text.encode() if is_small and not _UNLIKE.search(f",{text}") else None


_UNLIKE: Final = LazyPattern(r"[:,\[]-?(?:[0-9]{19}|[0-9.]+e)")


@lru_cache(maxsize=2)
def _small_encoder(is_sorted: bool) -> Callable[[Any], str]:
    import json

    return json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=is_sorted
    ).encode


def dumps_visible(value: Any) -> bytes:
    """Encode `value` as JSON that hides nothing: for reports, which people and CI logs read.

    Control and format characters, such as those that turn text around, are escaped, and so is the
    beginning of a command that logs of CI read anywhere in a line. Parsers read the same value.
    """
    data = dumps(value)
    # Single bytes are found many times as fast as texts.
    if data.isascii() and 0x7F not in data and (ord("#") not in data or b"##[" not in data):
        return data
    text = _HIDDEN.sub(lambda found: _text_encoders()[0](found[0])[1:-1], data.decode())
    return text.replace("##[", "#\\u0023[").replace("\x7f", "\\u007f").encode()


_HIDDEN: Final = LazyPattern(
    "[\x80-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""The characters of the categories Cc, Cf, Zl and Zp that are not ASCII (Unicode 15)."""


def _finite(value: Any) -> Any:
    """Return a value with null for infinite numbers, as orjson writes them."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def read_back(text: bytes) -> Any:
    """Decode the output of `dumps`, lone surrogates included. Raises ValueError."""
    try:
        return fast(text)
    except ValueError:
        import json

        return json.loads(text)


def dumps_exactly(value: Any) -> str:
    """Encode JSON in ASCII for `loads_exactly`: lone surrogates, infinities, any integer stay."""
    return _exact_encoder()(value)


@lru_cache(maxsize=1)
def _exact_encoder() -> Callable[[Any], str]:
    import json

    return json.JSONEncoder(separators=(",", ":")).encode


def loads_exactly(text: bytes | str) -> Any:
    """Decode the output of `dumps_exactly`. Raises ValueError or RecursionError."""
    import json

    import msgspec

    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError):
        # It has a lone surrogate or an infinity, which only this parser reads.
        return json.loads(text)


def canonical(value: Any) -> bytes:
    """Encode `value` as JSON that does not depend on the order of keys."""
    try:
        return _encode(value, is_sorted=True)
    except (TypeError, UnicodeEncodeError):
        import json

        return json.dumps(value, sort_keys=True).encode()


def reduce_value(value: Any) -> Any:
    """Return one value for JSON values that say the same: 1 for 1.0, and nothing for null.

    Members that are null, empty objects and empty lists say as much as absent ones.
    """
    if isinstance(value, dict):
        reduced = ((name, reduce_value(one)) for name, one in value.items())
        return {name: one for name, one in reduced if one is not None} or None
    if isinstance(value, (list, tuple)):
        return [reduce_value(one) for one in value] or None
    return int(value) if isinstance(value, float) and value.is_integer() else value


def ascii_text(text: str) -> bytes:
    """Encode a string as Python's json does: everything but printable ASCII is escaped."""
    return _text_encoders()[0](text).encode()


def unescaped_text(text: str) -> bytes:
    """Encode a string without `ensure_ascii`. Raises UnicodeEncodeError for half a letter."""
    return _text_encoders()[1](text).encode()


@lru_cache(maxsize=1)
def _text_encoders() -> tuple[Callable[[str], str], Callable[[str], str]]:
    from json.encoder import encode_basestring, encode_basestring_ascii

    return encode_basestring_ascii, encode_basestring


def shorten(value: Any, depth: int = 0) -> Any:
    """Shorten a value for a report; it keeps its JSON type.

    Long strings and containers are cut, with their full length; numbers stay. Values nested deeper
    than MOST_DEPTH become strings.
    """
    if isinstance(value, (bool, float)) or value is None:
        return value
    if isinstance(value, int):
        return (
            value if value.bit_length() <= MOST_BITS else f"an integer of {value.bit_length()} bits"
        )
    if isinstance(value, str):
        return _short_text(value)
    if depth == MOST_DEPTH:
        return _short_text(dumps(value).decode())
    if isinstance(value, dict):
        kept = list(value.items())[:MOST_ITEMS]
        short = {_short_text(str(key)): shorten(item, depth + 1) for key, item in kept}
        return (
            short if len(kept) == len(value) else {**short, "…": f"{len(value):,} members in all"}
        )
    kept = [shorten(item, depth + 1) for item in value[:MOST_ITEMS]]
    return kept if len(kept) == len(value) else [*kept, f"… {len(value):,} items in all"]


def short_text(value: Any) -> str:
    """Return a value as a short text for a message: a string as it is, other values as JSON."""
    return _short_text(value if isinstance(value, str) else dumps(value).decode())


def _short_text(text: str) -> str:
    if len(text) <= VALUE_CHARACTERS:
        return text
    end = f"… ({len(text):,} characters)"
    return text[: VALUE_CHARACTERS - len(end)] + end


def _escape(key: Any) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def is_accepted(validate: Callable[[Any], object], value: Any) -> bool:
    """Tell whether generated code finds a value valid; any error means that it does not."""
    try:
        validate(value)
    except Exception:  # noqa: BLE001 - a value that raises any error is not accepted
        return False
    return True
