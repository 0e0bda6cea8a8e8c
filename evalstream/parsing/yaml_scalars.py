"""YAML 1.2 scalars: the core schema's value of plain text, and numbers that JSON cannot hold."""

from __future__ import annotations

import math
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import SyntaxIssue, dumps, pointer, shorten
from evalstream.parsing.strict_json import MAX_INTEGER_DIGITS

INVALID: Final = "invalid-yaml"
"""The name of issues that JSON text cannot have."""

_OLD_OCTAL: Final = re.compile(r"[-+]?0[0-7]+")
"""A scalar that YAML 1.1 reads as an octal integer, and 1.2 as a decimal one."""

CORE_TAGS: Final = "tag:yaml.org,2002:"
TEXT_TAGS: Final = ("!", f"{CORE_TAGS}str")

_PLAIN: Final = re.compile(
    r"(?P<null>null|Null|NULL|~|)"
    r"|(?P<true>true|True|TRUE)|(?P<false>false|False|FALSE)"
    r"|(?P<decimal>[-+]?[0-9]+)|(?P<octal>0o[0-7]+)|(?P<hexadecimal>0x[0-9a-fA-F]+)"
    r"|(?P<real>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
    r"|(?P<infinite>[-+]?\.(?:inf|Inf|INF))|(?P<nan>\.(?:nan|NaN|NAN))"
)
FIRST_LETTERS: Final = frozenset(("", "<", *"~nNtTfF+-.0123456789"))
"""What plain scalars begin with that are not strings, or that are refused as keys."""

_LONGEST_OTHER_INTEGER: Final = 3_500
"""Most characters of an octal or hexadecimal integer with fewer than 4,300 decimal digits."""


class Mark(NamedTuple):
    """The position of a node: its line and column, from 1, and the marks of its children.

    Both are 0 where they are not known.
    `spelling` is the text of a number that JSON would write differently or not at all.
    """

    line: int
    column: int
    inner: Mapping[str, Mark] | list[Mark] | None = None
    spelling: str | None = None


def resolve_plain(text: str) -> Any:
    """Return the value of a plain scalar in YAML 1.2's core schema (section 10.3.2).

    `no`, `yes`, `on` and dates are strings, `0777` is the integer 777, `1e3` a number. A number
    that is not finite, or an integer of too many digits, becomes infinite or NaN.
    """
    found = _PLAIN.fullmatch(text)
    return text if found is None else _MEANINGS[found.lastgroup or "null"](text)


def resolve_tagged(text: str, tag: str) -> Any:
    """Return the value of a scalar with a tag of the core schema. Raises ValueError for others."""
    if tag in TEXT_TAGS:
        return text
    kind, value = tag.removeprefix(CORE_TAGS), resolve_plain(text)
    if tag not in _TYPES:
        raise ValueError(unknown_tag(tag))
    if type(value) not in _TYPES[tag]:
        raise ValueError(f"the scalar is tagged as {kind} but has another type")
    if not is_finite_scalar(value):
        raise ValueError("the scalar is tagged as a number but is not finite")
    return value


def unknown_tag(tag: str) -> str:
    """Return the message for a tag outside of the core schema."""
    shown = shorten(tag.replace(CORE_TAGS, "!!", 1))
    return f"unknown tag {shown}: it is not part of YAML 1.2's core schema"


def number_spelling(text: str, value: Any) -> str | None:
    """Return the text of a number that JSON would write differently or not at all, else None."""
    if type(value) not in (int, float):
        return None
    return text if not is_finite_scalar(value) or dumps(value).decode() != text else None


def is_finite_scalar(value: Any) -> bool:
    """Tell whether a scalar is not an infinite number or NaN."""
    return not isinstance(value, float) or math.isfinite(value)


def settle_scalars(value: Any, mark: Mark) -> tuple[Any, list[SyntaxIssue]]:
    """Replace numbers that JSON cannot hold, and return them and ambiguous numbers as issues.

    These are numbers that are not finite or too long (`.inf`, 1e999, integers of many digits); they
    are replaced as in the exact JSON parser. Ambiguous ones keep the value of YAML 1.2.
    """
    issues: list[SyntaxIssue] = []

    def resolve_values(value: Any, mark: Mark, path: tuple[Any, ...]) -> Any:
        if value.__class__ is str:
            return value
        if isinstance(value, dict) and isinstance(mark.inner, dict):
            return {
                key: resolve_values(inner, mark.inner[key], (*path, key))
                for key, inner in value.items()
            }
        if isinstance(value, list) and isinstance(mark.inner, list):
            return [
                resolve_values(inner, place, (*path, index))
                for index, (inner, place) in enumerate(zip(value, mark.inner, strict=True))
            ]
        if is_finite_scalar(value):
            spelling = mark.spelling or ""
            if _OLD_OCTAL.fullmatch(spelling) and value != int(spelling, base=8):
                issues.append(_ambiguous(spelling, value, path))
            return value
        issues.append(_not_finite(mark.spelling or "", path))
        return 0.0 if math.isnan(value) else math.copysign(sys.float_info.max, value)

    return resolve_values(value, mark, ()), issues


def _ambiguous(spelling: str, value: int, path: tuple[Any, ...]) -> SyntaxIssue:
    other = f"{shorten(str(value))} in YAML 1.2, and in YAML 1.1 another number, an octal one"
    message = f"{shorten(spelling)} is {other}; write it without the zero, or quote it"
    return SyntaxIssue(INVALID, message, pointer=pointer(path), found=spelling)


def _not_finite(spelling: str, path: tuple[Any, ...]) -> SyntaxIssue:
    name, message = "non-finite-number", "a number that is not finite"
    found = _PLAIN.fullmatch(spelling)
    if found and found.lastgroup in ("decimal", "octal", "hexadecimal"):
        name = "too-deep-or-too-big"
        message = f"an integer of more than {MAX_INTEGER_DIGITS:,} digits"
    return SyntaxIssue(name, message, pointer=pointer(path), found=spelling, replaced=True)


def _integer(text: str, base: int, longest: int) -> int | float:
    if len(text.lstrip("-+")) > longest:
        return -math.inf if text.startswith("-") else math.inf
    return int(text, base)


_MEANINGS: Final[Mapping[str, Callable[[str], Any]]] = {
    "null": lambda _: None,
    "true": lambda _: True,
    "false": lambda _: False,
    "decimal": partial(_integer, base=10, longest=MAX_INTEGER_DIGITS),
    "octal": partial(_integer, base=8, longest=_LONGEST_OTHER_INTEGER),
    "hexadecimal": partial(_integer, base=16, longest=_LONGEST_OTHER_INTEGER),
    "real": float,
    "infinite": lambda text: float(text.replace(".", "")),
    "nan": lambda _: math.nan,
}
"""The conversion of each group of `_PLAIN`."""

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    f"{CORE_TAGS}null": (type(None),),
    f"{CORE_TAGS}bool": (bool,),
    f"{CORE_TAGS}int": (int,),
    f"{CORE_TAGS}float": (float, int),
}
"""The allowed Python types of a scalar with a core schema tag."""


OLD_BREAKS: Final = "\x85\u2028\u2029"
"""Line breaks in YAML 1.1 and in the library, but plain characters in YAML 1.2."""


def line_breaks(characters: str) -> list[int]:
    """Return the positions of all line feeds."""
    return [found.start() for found in re.finditer("\n", characters)]


def event_position(breaks: list[int], event: Any) -> tuple[int, int]:
    """Return the line and column where an event begins; the library's own line may be one more."""
    index = event.start_mark.index
    before = bisect_right(breaks, index - 1)
    return before + 1, index - (breaks[before - 1] if before else -1)
