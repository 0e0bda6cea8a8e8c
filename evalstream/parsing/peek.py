"""Peek at the start of a file: the kind of its first JSON value, and the members seen in it."""

from __future__ import annotations

import re
from typing import Final

from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import UTF8_MARK
from evalstream.parsing.lazy_regex import LazyPattern

PEEK_BYTES: Final = 1 << 18
"""Bytes of a file to peek at: the members that identify a format are near the start."""

OBJECT: Final = "object"
ARRAY: Final = "array"
LINES: Final = "lines"
OTHER: Final = "other"

_TOKEN: Final = LazyPattern(rb'"((?:[^"\\]|\\.)*+)"([ \t\r\n]*+:)?|[{}\[\]]', re.DOTALL)
_BRACKET: Final = LazyPattern(rb'(?:[^{}\[\]"]++|"(?:[^"\\]|\\.)*+")*+[{}\[\]"]', re.DOTALL)
_BLANK: Final = b" \t\r\n"


class Peek(NamedTuple):
    """The first JSON value of a file, as far as its first bytes show it.

    `kind` says what contains the value: it is a single `object`, the first of an `array` or of
    several `lines`, or `other` where there is no JSON object. `keys` are the members seen in it,
    and `inner` those of objects among them, such as `eval/task`. `is_whole` means that the value
    was seen to its end.
    """

    kind: str
    keys: frozenset[str]
    inner: frozenset[str] = frozenset()
    is_whole: bool = False


NOTHING: Final = Peek(OTHER, frozenset())


def peek(head: bytes) -> Peek:
    """Return what the first bytes of a file contain."""
    head = head.removeprefix(UTF8_MARK).lstrip(_BLANK)
    if head[:1] not in (b"{", b"["):
        return NOTHING
    kind = OBJECT if head.startswith(b"{") else ARRAY
    depth, member_depth = 0, 1 if kind == OBJECT else 2
    keys: set[str] = set()
    inner: set[str] = set()
    above, is_whole, at = "", False, 0
    # Deep inside a value only brackets matter.
    while token := (_BRACKET.match if depth > member_depth + 1 else _TOKEN.search)(head, at):
        at = token.end()
        sign = head[at - 1 : at]
        if sign in (b"{", b"["):
            depth += 1
        elif sign in (b"}", b"]"):
            depth -= 1
            if depth < member_depth:
                is_whole = True
                if kind == OBJECT and _are_lines(head, at):
                    kind = LINES
                break
        elif depth in (member_depth, member_depth + 1) and token.group(2) is not None:
            name = token.group(1).decode(errors="replace")
            if depth == member_depth:
                keys.add(name)
                above = name
            else:
                inner.add(f"{above}/{name}")
    return Peek(kind, frozenset(keys), frozenset(inner), is_whole)


def _are_lines(head: bytes, end: int) -> bool:
    """Tell whether an object that ends there is the first of several lines.

    It is a document with a slip behind it where only closing signs follow, or where it has line
    breaks and no object follows.
    """
    rest = head[end:].lstrip(_BLANK)
    if not rest.strip(_BLANK + b"}],"):
        return False
    return rest.startswith(b"{") or b"\n" not in head[:end]
