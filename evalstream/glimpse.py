"""The first look at a file: which members the first value in it has, and what holds it."""

from __future__ import annotations

import os
import re
from typing import Final, NamedTuple

from evalstream.parsing import UTF8_MARK

GLIMPSED_BYTES: Final = 1 << 18
"""How much of a file is looked at: members that tell a system stand near the beginning."""

OBJECT: Final = "object"
ARRAY: Final = "array"
LINES: Final = "lines"
OTHER: Final = "other"

_LINES_ENDINGS: Final = (".jsonl", ".ndjson")
_TOKEN: Final = re.compile(rb'"((?:[^"\\]|\\.)*+)"([ \t\r\n]*+:)?|[{}\[\]]', re.DOTALL)
_BLANK: Final = b" \t\r\n"


class Glimpse(NamedTuple):
    """What the beginning of a file shows.

    `kind` says what holds the first value: it is an `object` by itself, the first of an `array`
    or of several `lines`, or `other` where there is no JSON object. `keys` are the members that
    it is seen to have.
    """

    kind: str
    keys: frozenset[str]


NOTHING: Final = Glimpse(OTHER, frozenset())


def glimpse(path: str) -> Glimpse:
    """Look at the beginning of a local file; a file that cannot be read shows nothing."""
    try:
        if not os.path.isfile(path):
            return NOTHING
        with open(path, "rb") as file:
            head = file.read(GLIMPSED_BYTES)
    except OSError:
        return NOTHING
    seen = glimpsed(head)
    return seen._replace(kind=LINES) if path.endswith(_LINES_ENDINGS) else seen


def glimpsed(head: bytes) -> Glimpse:
    """Look at the first bytes of a file."""
    head = head.removeprefix(UTF8_MARK).lstrip(_BLANK)
    if head[:1] not in (b"{", b"["):
        return NOTHING
    kind = OBJECT if head.startswith(b"{") else ARRAY
    depth, wanted = 0, 1 if kind == OBJECT else 2
    keys: set[str] = set()
    for token in _TOKEN.finditer(head):
        sign = token.group()
        if sign in (b"{", b"["):
            depth += 1
        elif sign in (b"}", b"]"):
            depth -= 1
            if depth < wanted:
                if kind == OBJECT and head[token.end() :].strip(_BLANK):
                    kind = LINES
                break
        elif depth == wanted and token.group(2) is not None:
            keys.add(token.group(1).decode(errors="replace"))
    return Glimpse(kind, frozenset(keys))
