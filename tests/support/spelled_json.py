"""JSON whose numbers keep their spelling: parsing, writing, leaf values, and equality of data."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

SPACE = re.compile(r'("(?:[^"\\]|\\.)*")|[ \t\r\n]+')


@dataclass(frozen=True)
class Number:
    """A number as it is written."""

    spelling: str


def parse(text: str | bytes) -> Any:
    """Parse strict JSON. Raises ValueError, also for a repeated key and for NaN."""
    return json.loads(
        text, parse_int=Number, parse_float=_real, parse_constant=_refuse, object_pairs_hook=_object
    )


def write(value: Any) -> str:
    """Write a value without white space between tokens."""
    if isinstance(value, Number):
        return value.spelling
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{write(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(write, value)) + "]"
    return json.dumps(value)


def text_of(value: Any) -> str:
    """Return the text that stands for a value where only texts are allowed."""
    return value if isinstance(value, str) else write(value)


def compact(text: str) -> str:
    """Remove the white space between the tokens of a JSON text."""
    return SPACE.sub(lambda match: match[1] or "", text)


def parsed_text(value: Any) -> Any:
    """Return the value that a text was made of, or the text if it is not JSON in another type."""
    if not isinstance(value, str):
        return value
    try:
        inner = parse(value)
    except (ValueError, RecursionError):
        return value
    return value if isinstance(inner, str) else inner


def leaves(value: Any) -> Counter[str]:
    """Count the scalars in a value by their texts; a text that holds a container is opened."""
    return Counter(_leaves(value))


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal; a text with a container equals its other spellings."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, str) and isinstance(other, str) and one != other:
        opened = parsed_text(one), parsed_text(other)
        return opened != (one, other) and same(*opened)
    return type(one) is type(other) and bool(one == other)


def differences(one: Any, other: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Iterate over the places where two values differ, with what each has there."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            step = key.replace("~", "~0").replace("/", "~1")
            yield from differences(one.get(key, ...), other.get(key, ...), f"{place}/{step}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (first, second) in enumerate(zip(one, other, strict=True)):
            yield from differences(first, second, f"{place}/{index}")
    elif not same(one, other):
        yield place, one, other


def _leaves(value: Any) -> Iterator[str]:
    opened = parsed_text(value)
    if isinstance(opened, dict):
        for member in opened.values():
            yield from _leaves(member)
    elif isinstance(opened, list):
        for item in opened:
            yield from _leaves(item)
    else:
        yield text_of(value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is repeated")
    return found


def _real(spelling: str) -> Number:
    if math.isinf(float(spelling)):
        raise ValueError(f"{spelling} is not finite")
    return Number(spelling)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
