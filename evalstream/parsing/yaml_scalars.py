"""The scalars of YAML 1.2: what a plain text stands for in the core schema, and when it is text."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from evalstream.parsing.json import dumps, pointer, resolve
from evalstream.parsing.strict_json import MAX_INTEGER_DIGITS, SyntaxIssue

CORE_TAGS: Final = "tag:yaml.org,2002:"
TEXT_TAGS: Final = ("!", f"{CORE_TAGS}str")

_NULL: Final = re.compile(r"null|Null|NULL|~|")
_BOOLEAN: Final = re.compile(r"true|True|TRUE|false|False|FALSE")
_INTEGER: Final = re.compile(
    r"(?P<ten>[-+]?[0-9]+)|0o(?P<eight>[0-7]+)|0x(?P<sixteen>[0-9a-fA-F]+)"
)
_REAL: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)")
_NOT_A_NUMBER: Final = re.compile(r"\.(nan|NaN|NAN)")
_BEGINS_OTHERWISE: Final = re.compile(r"[-+.0-9nNtTfF~]")
"""How plain scalars begin that may stand for something else than text."""

_LARGEST_FLOAT: Final = sys.float_info.max
_LONGEST_HEXADECIMAL: Final = 3_500
"""Digits of base 16 that surely make an integer of fewer than 4,300 decimal ones."""


class Mark(NamedTuple):
    """Where a node stands: the line it begins on, from 1, and the marks of what it holds.

    `spelling` is how a number is written, where JSON would write it otherwise or not at all.
    """

    line: int
    inner: Mapping[str, Mark] | list[Mark] | None = None
    spelling: str | None = None


class NotOfTag(ValueError):
    """A scalar is tagged as what it is not."""


def resolved(text: str) -> Any:
    """Return what a plain scalar stands for in YAML 1.2's core schema (section 10.3.2).

    `no`, `yes`, `on` and dates are texts, `0777` is the integer 777, `1e3` a number. What is no
    finite number, or an integer too long to be one, comes out infinite or as NaN.
    """
    if not text:
        return None
    if not _BEGINS_OTHERWISE.match(text):
        return text
    if _NULL.fullmatch(text):
        return None
    if _BOOLEAN.fullmatch(text):
        return text[0] in "tT"
    number = _number(text)
    return text if number is None else number


def tagged(text: str, tag: str) -> Any:
    """Return what a scalar with one of the core schema's own tags stands for.

    Raises NotOfTag where its text is no value of that kind, and KeyError for any other tag.
    """
    if tag in TEXT_TAGS:
        return text
    kinds = _KINDS[tag]
    value = resolved(text)
    if type(value) not in kinds:
        raise NotOfTag
    return value


def spelling_of(text: str, value: Any) -> str | None:
    """Return the text of a number that JSON would write otherwise, or not at all; else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not is_finite(value):
        return text
    return None if dumps(value).decode() == text else text


def is_finite(value: Any) -> bool:
    """Tell whether a scalar is anything but an infinite number or NaN."""
    return not isinstance(value, float) or math.isfinite(value)


class Settled(NamedTuple):
    """A document's value once it is known where texts are wanted, and what is wrong in it."""

    value: Any
    troubles: list[tuple[SyntaxIssue, int]]


def settle(value: Any, mark: Mark, schema: Any) -> Settled:
    """Let plain scalars be text where a schema wants text and a number would lose how they look.

    A task `1e3`, `0777` or `1.10` keeps its name. What JSON would write just like that (`5`,
    `true`) stays what it is, and so fails where text is wanted. Numbers that are none (`.inf`,
    1e999, endless integers) are replaced, as the exact parser of JSON does, and told with their
    lines.
    """
    settling = _Settling(schema)
    return Settled(settling.settled(value, mark, schema, ()), settling.troubles)


class _Settling:
    """One pass over a document; `troubles` gathers what it finds."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self.troubles: list[tuple[SyntaxIssue, int]] = []

    def settled(self, value: Any, mark: Mark, node: Any, path: tuple[Any, ...]) -> Any:
        """Return a value with its scalars settled; `node` is the schema of this place."""
        node = self._dereferenced(node)
        if isinstance(value, dict) and isinstance(mark.inner, dict):
            return {
                key: self.settled(inner, mark.inner[key], _member(node, key), (*path, key))
                for key, inner in value.items()
            }
        if isinstance(value, list) and isinstance(mark.inner, list):
            items = resolve(node, ("items",))
            return [
                self.settled(inner, place, items, (*path, index))
                for index, (inner, place) in enumerate(zip(value, mark.inner, strict=True))
            ]
        if mark.spelling is None:
            return value
        return mark.spelling if _wants_text(node) else self._finite(value, mark, path)

    def _finite(self, value: Any, mark: Mark, path: tuple[Any, ...]) -> Any:
        if is_finite(value):
            return value
        name, message = "non-finite-number", "a number that is not finite"
        if _INTEGER.fullmatch(mark.spelling or ""):
            name = "too-deep-or-too-big"
            message = f"an integer of more than {MAX_INTEGER_DIGITS:,} digits"
        place, found = pointer(path), mark.spelling
        trouble = SyntaxIssue(name, message, pointer=place, found=found, replaced=True)
        self.troubles.append((trouble, mark.line))
        return 0.0 if math.isnan(value) else math.copysign(_LARGEST_FLOAT, value)

    def _dereferenced(self, node: Any) -> Any:
        target = resolve(node, ("$ref",))
        if not isinstance(target, str):
            return node
        return resolve(self._schema, target.removeprefix("#/").split("/"))


def _member(node: Any, key: str) -> Any:
    """Return the schema of a member; a named one comes before one by its pattern."""
    named = resolve(node, ("properties", key))
    if named is not None:
        return named
    for pattern, inner in (resolve(node, ("patternProperties",)) or {}).items():
        if re.search(pattern, key):
            return inner
    return resolve(node, ("additionalProperties",))


def _wants_text(node: Any) -> bool:
    wanted: Any = resolve(node, ("type",))
    return bool(wanted == "string")


def _number(text: str) -> int | float | None:
    found = _INTEGER.fullmatch(text)
    if found:
        return _integer(found)
    if _REAL.fullmatch(text):
        return float(text)
    if _INFINITE.fullmatch(text):
        return -math.inf if text.startswith("-") else math.inf
    return math.nan if _NOT_A_NUMBER.fullmatch(text) else None


def _integer(found: re.Match[str]) -> int | float:
    digits = found.group(found.lastgroup or "ten")
    base = {"ten": 10, "eight": 8, "sixteen": 16}[found.lastgroup or "ten"]
    longest = MAX_INTEGER_DIGITS if base == 10 else _LONGEST_HEXADECIMAL
    if len(digits.lstrip("-+")) > longest:
        return -math.inf if digits.startswith("-") else math.inf
    return int(digits, base)


_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    f"{CORE_TAGS}null": (type(None),),
    f"{CORE_TAGS}bool": (bool,),
    f"{CORE_TAGS}int": (int,),
    f"{CORE_TAGS}float": (float, int),
}
"""What a scalar with one of the core schema's tags may turn out to be."""
