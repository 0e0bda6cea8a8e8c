"""The first look at a file: which members the first value in it has, and what holds it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from evalstream.parsing.json import UTF8_MARK

PEEK_BYTES: Final = 1 << 18
"""How much of a file is looked at: members that tell a system stand near the beginning."""

OBJECT: Final = "object"
ARRAY: Final = "array"
LINES: Final = "lines"
OTHER: Final = "other"

_TOKEN: Final = re.compile(rb'"((?:[^"\\]|\\.)*+)"([ \t\r\n]*+:)?|[{}\[\]]', re.DOTALL)
_BLANK: Final = b" \t\r\n"


class Peek(NamedTuple):
    """What the beginning of a file shows.

    `kind` says what holds the first value: it is an `object` by itself, the first of an `array`
    or of several `lines`, or `other` where there is no JSON object. `keys` are the members that
    it is seen to have, and `inner` those of objects among them, as `eval/task`. `is_whole` says
    that the value was seen to its end.
    """

    kind: str
    keys: frozenset[str]
    inner: frozenset[str] = frozenset()
    is_whole: bool = False


NOTHING: Final = Peek(OTHER, frozenset())


def peek(head: bytes) -> Peek:
    """Look at the first bytes of a file."""
    head = head.removeprefix(UTF8_MARK).lstrip(_BLANK)
    if head[:1] not in (b"{", b"["):
        return NOTHING
    kind = OBJECT if head.startswith(b"{") else ARRAY
    depth, wanted = 0, 1 if kind == OBJECT else 2
    keys: set[str] = set()
    inner: set[str] = set()
    above, is_whole = "", False
    for token in _TOKEN.finditer(head):
        sign = token.group()
        if sign in (b"{", b"["):
            depth += 1
        elif sign in (b"}", b"]"):
            depth -= 1
            if depth < wanted:
                is_whole = True
                if kind == OBJECT and head[token.end() :].strip(_BLANK):
                    kind = LINES
                break
        elif depth in (wanted, wanted + 1) and token.group(2) is not None:
            name = token.group(1).decode(errors="replace")
            if depth == wanted:
                keys.add(name)
                above = name
            else:
                inner.add(f"{above}/{name}")
    return Peek(kind, frozenset(keys), frozenset(inner), is_whole)
