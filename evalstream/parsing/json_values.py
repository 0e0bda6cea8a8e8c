"""Whole JSON documents, and their values of any type: nothing where the type is another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from itertools import repeat
from typing import Any, Final, TypeGuard

from evalstream.model.data_class import NamedTuple
from evalstream.model.hashing import hash_function
from evalstream.parsing.json import FAST_DEPTH, UTF8_MARK, Parsed, canonical, fast, is_finite


def fast_or_none(text: bytes) -> Any:
    """Parse a text as `fast` does; None for one that it refuses."""
    try:
        return fast(text)
    except ValueError:
        return None


def parse_or_none(text: bytes) -> Any:
    """Parse a text that may begin with a byte order mark; None for a text that is not JSON."""
    return fast_or_none(text.removeprefix(UTF8_MARK))


def read_decimals(text: bytes) -> Any:
    """Read a text with numbers as Decimal, None where none has the exponent; None if no JSON."""
    import json

    try:
        return json.loads(text, parse_float=_read_decimal, parse_int=_read_decimal)
    except (ValueError, RecursionError):
        return None


def _read_decimal(digits: str) -> Decimal | None:
    try:
        return Decimal(digits)
    except ArithmeticError:
        return None


class Numbered(NamedTuple):
    """An object in a list, with its index."""

    place: int
    value: dict[str, Any]


def objects(value: Any) -> Iterator[Numbered]:
    """Iterate over the objects of a list with their indices; nothing for other values."""
    for index, one in enumerate(list_or_empty(value)):
        if isinstance(one, dict):
            yield Numbered(index, one)


def numbered_texts(value: Any) -> Iterator[tuple[int, str]]:
    """Iterate over the strings of a list with their indices; nothing for other values."""
    return ((index, one) for index, one in enumerate(list_or_empty(value)) if isinstance(one, str))


def object_or_empty(value: Any) -> dict[str, Any]:
    """Return an object; an empty one for other values."""
    return value if isinstance(value, dict) else {}


def object_items(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Iterate over the members of an object that are objects, with their names."""
    return ((name, one) for name, one in object_or_empty(value).items() if isinstance(one, dict))


def list_or_empty(value: Any) -> list[Any]:
    """Return a list; an empty one for other values."""
    return value if isinstance(value, list) else []


def is_texts(value: Any) -> TypeGuard[list[str]]:
    """Tell whether a value is a list of strings."""
    return isinstance(value, list) and all(map(isinstance, value, repeat(str)))


def is_text_map(value: Any) -> TypeGuard[dict[str, str]]:
    """Tell whether a value is an object whose values are strings."""
    return isinstance(value, dict) and is_texts([*value.values()])


def to_float(value: Any) -> float | None:
    """Return a JSON number as a float, or None for other values; 1e999 is infinite."""
    if value.__class__ is float:
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def to_number(value: Any) -> float | None:
    """Return a JSON number as `to_float` does, and true and false as 1 and 0."""
    return to_float(+value) if isinstance(value, (int, float)) else None


def holds_double(value: Any) -> TypeGuard[float]:
    """Tell whether a value is a JSON number that a finite double can be near to."""
    number = to_float(value)
    return number is not None and math.isfinite(number)


def read_number(value: Any) -> float | None:
    """Return a number, also one that is written as a text, as in maps of texts."""
    if not isinstance(value, str):
        return to_float(value)
    try:
        return float(value)
    except ValueError:
        return None


def is_number(value: Any) -> bool:
    """Tell whether a value is a JSON number, which true and false are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def parse_document(
    text: bytes, max_depth: int, accepts: Callable[[Any], bool] | None = None
) -> Parsed:
    """Parse a document like `parse_exactly`, many times faster if it has no issue.

    `accepts` is a check that never accepts a value with an infinite number.
    """
    # The fast parser has a depth limit of its own, so it cannot decide for a smaller one.
    value = fast_or_none(text) if max_depth >= FAST_DEPTH else None
    if value is not None:
        if accepts is not None and accepts(value):
            return Parsed(value, True, [], accepted=True)
        # Numbers such as 1e999 are the only issue that the fast parser does not refuse.
        if is_finite(value):
            return Parsed(value, True, [])
    from evalstream.parsing.strict_json import parse_exactly

    return parse_exactly(text, max_depth)


MOST_SETTING: Final = 200
"""Number of characters of a setting that is kept."""


def flatten_settings(name: str, value: Any) -> dict[str, str]:
    """Return the values in a value as texts, by `name` and the JSON Pointers to them."""
    found: dict[str, str] = {}
    _flatten(name, value, found)
    return found


def setting_text(value: Any) -> str:
    """Return a setting as a text of bounded length: a string as it is, other values as JSON.

    A longer text is cut, and followed by a digest of the whole, so that different ones differ.
    """
    text = value if isinstance(value, str) else canonical(value).decode(errors="replace")
    if len(text) <= MOST_SETTING:
        return text
    digest = hash_function("sha256")(text.encode(errors="surrogatepass")).hexdigest()
    return f"{text[:MOST_SETTING]}… (sha256 {digest[:8]}…)"


def setting_texts(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that are not null as texts by name."""
    return {name: setting_text(value) for name, value in settings.items() if value is not None}


def _flatten(name: str, value: Any, found: dict[str, str]) -> None:
    if isinstance(value, dict) and value:
        for key, one in value.items():
            _flatten(f"{name}/{key}", one, found)
    elif value is not None:
        found[name] = setting_text(value)


def read_seconds(value: Any) -> float | None:
    """Return a time as seconds since 1970: a number, or a date with a time as ISO 8601 has it."""
    return _parse_seconds(value) if isinstance(value, str) else None


@lru_cache(maxsize=64)
def _parse_seconds(value: str) -> float | None:
    """Return the time in a text; several rules and results read the same texts.

    A time since 1970 is in seconds, with or without a fraction, milliseconds or microseconds.
    """
    text = value.strip()
    whole, point, rest = text.partition(".")
    sizes = (9, 10) if point else (9, 10, 13, 16)
    if text.isascii() and (whole + rest).isdigit() and len(whole) in sizes:
        return float(text) / 1000.0 ** (max(len(whole) - 10, 0) // 3)
    return parse_date(text) if "T" in text or ":" in text else None


def parse_date(text: str) -> float | None:
    """Return the seconds since 1970 of a date as ISO 8601 has it, in UTC if it names no zone."""
    from datetime import UTC, datetime

    try:
        known = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (known if known.tzinfo else known.replace(tzinfo=UTC)).timestamp()
