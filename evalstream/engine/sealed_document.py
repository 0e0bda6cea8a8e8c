"""Show and write a document that is sealed, and show how two texts differ."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from evalstream.io.output import Output, writing
from evalstream.model.changes import SealedText


def seal_diff(sealed: SealedText) -> str:
    """Return what the seal changes, as a unified diff."""
    return diff_text(sealed.before or b"", sealed.after, os.path.basename(sealed.path))


def write(sealed: SealedText) -> None:
    """Write the document, completely or not at all. Raises CannotWrite."""
    with writing(sealed.path), Output(sealed.path) as output:
        output.write(sealed.after)


LONGEST_LINE: Final = 400
"""Longest line, in characters, that a diff shows in full."""

CONTEXT: Final = 3
"""Number of unchanged lines that a diff shows on either side of a change."""

MOST_COMPARED: Final = 20_000
"""Most lines between the first and the last change for which a diff is computed."""

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
"""Only a line feed ends a line: a JSON string may contain other line separators."""

_PIECE: Final = re.compile(r"[^\n,]*(?:,\n?|\n)|[^\n,]+")

_START: Final = re.compile(r"(?<= [-+])\d+")


def diff_text(before: bytes, after: bytes, name: str) -> str:
    """Return the changes of the file `name` as a unified diff, empty if there are none.

    Where a changed line is too long to read, lines are split after commas.
    """
    old, new = before.decode(errors="replace"), after.decode(errors="replace")
    lines = _diff(_LINE.findall(old), _LINE.findall(new), name)
    if any(line[0] in "-+" and len(line) > LONGEST_LINE for line in lines[2:]):
        lines = _diff(_split_at_commas(old), _split_at_commas(new), name, "broken at commas")
    return "".join((*lines[:2], *map(_cut_long_line, lines[2:])))


def _diff(old: Sequence[str], new: Sequence[str], name: str, how: str = "") -> list[str]:
    """Diff texts in pieces, between the first and the last piece that differs.

    The running time is quadratic in the compared length.
    """
    # A seal that is written shows no difference.
    from difflib import unified_diff

    head = _common_prefix(old, new)
    tail = min(_common_prefix(old[::-1], new[::-1]), len(old) - head, len(new) - head)
    start, end = max(0, head - CONTEXT), max(0, tail - CONTEXT)
    inner, new_inner = old[start : len(old) - end], new[start : len(new) - end]
    size = max(len(inner), len(new_inner))
    if size > MOST_COMPARED:
        note = f"@@ {size:,} lines from line {start + 1:,} on: too many to compare @@\n"
        return [f"--- {name}\n", f"+++ {name}\n", note]
    lines = list(unified_diff(inner, new_inner, name, name, how, how, n=CONTEXT))
    return [
        _START.sub(lambda found: str(int(found.group()) + start), line)
        if line.startswith("@@")
        else line
        for line in lines
    ]


def _split_at_commas(text: str) -> list[str]:
    """Split the lines of a text after their commas as well."""
    return [piece if piece.endswith("\n") else f"{piece}\n" for piece in _PIECE.findall(text)]


def _common_prefix(old: Sequence[str], new: Sequence[str]) -> int:
    """Count the pieces at the beginning that are equal."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _cut_long_line(line: str) -> str:
    """Cut a line in the middle to a readable length."""
    end = "\n" if line.endswith("\n") else "\n\\ No newline at end of file\n"
    content, half = line.removesuffix("\n"), LONGEST_LINE // 2
    is_long = len(content) > LONGEST_LINE
    return f"{content[:half]}…{content[1 - half :]}{end}" if is_long else f"{content}{end}"
