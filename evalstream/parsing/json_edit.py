"""Editing: members of one object set in a JSON document's text, all other bytes as they stand."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from difflib import unified_diff
from itertools import pairwise, takewhile
from typing import Any, Final, NamedTuple

from evalstream.parsing.json import UTF8_MARK, shorten
from evalstream.parsing.strict_json import SURROGATE

LONGEST_LINE: Final = 400
"""The longest line, in characters, that a difference shows whole."""

CONTEXT: Final = 3
"""How many lines a difference shows on either side of a change."""

MOST_COMPARED: Final = 20_000
"""How many lines may lie between the first and the last change for a difference to show them."""

_SPACE: Final = (" ", "\t", "\n", "\r")
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
"""A line ends at a line feed only: a JSON string may hold other marks that break lines."""

_PIECE: Final = re.compile(r"[^\n,]*(?:,\n?|\n)|[^\n,]+")
_START: Final = re.compile(r"(?<= [-+])\d+")


def set_members(text: bytes, name: str, members: Mapping[str, Any]) -> bytes:
    """Return a JSON object's text with `members` set in the object that its member `name` holds.

    Members that are there keep their place, and their spelling where they are equal already;
    new ones follow behind the last, laid out as their neighbours are. What `name` holds is
    replaced whole if it is no object. Raises ValueError, and edits nothing, if the text is no
    JSON object in UTF-8, if a name that matters stands twice, if it is nested too deep, or if
    a value would not read the same once it is written, as NaN would not.
    """
    mark = UTF8_MARK if text.startswith(UTF8_MARK) else b""
    characters = _decoded(text)
    try:
        edited = _applied(characters, _edits(_document(characters), name, members))
    except json.JSONDecodeError as error:
        raise ValueError(f"no valid JSON: {error}") from error
    except RecursionError as error:
        raise ValueError("nested too deep to be edited") from error
    return mark + edited.encode()


def change_shown(before: bytes, after: bytes, name: str) -> str:
    """Return what changed in the file `name` as a unified diff, empty if nothing did.

    Where a changed line is too long to be read, the lines are broken behind their commas.
    """
    old, new = before.decode(errors="replace"), after.decode(errors="replace")
    lines = _diff(_LINE.findall(old), _LINE.findall(new), name)
    if any(line[0] in "-+" and len(line) > LONGEST_LINE for line in lines[2:]):
        lines = _diff(_pieces(old), _pieces(new), name, "broken at commas")
    return "".join((*lines[:2], *map(_shown, lines[2:])))


class _Number(NamedTuple):
    """A number as it is spelled, since not every one survives being read."""

    spelling: str

    def equals(self, wanted: Any) -> bool:
        if isinstance(wanted, bool) or not isinstance(wanted, (int, float)):
            return False
        if isinstance(wanted, float):
            return float(self.spelling) == wanted
        try:
            return Decimal(self.spelling) == wanted
        except ArithmeticError:
            # An exponent beyond all bounds: to write the number anew is never wrong.
            return False


class _Member(NamedTuple):
    """A member of an object and the places of its parts in the document's characters."""

    name: str
    value: Any
    start: int
    name_end: int
    value_start: int
    end: int


class _Object(NamedTuple):
    """An object in a document's characters, from its brace to behind the closing one."""

    characters: str
    start: int
    end: int
    members: Sequence[_Member]

    def sole(self, name: str) -> _Member | None:
        """Return the member of that name, if there is one. Raises ValueError if it repeats."""
        found = [member for member in self.members if member.name == name]
        if len(found) > 1:
            raise ValueError(f"the key {shorten(name)!r} stands {len(found)} times in one object")
        return found[0] if found else None

    def held(self, member: _Member | None) -> _Object | None:
        """Return the object that a member holds, if it holds one."""
        if member is None or not isinstance(member.value, dict | _Repeated):
            return None
        return _object_at(self.characters, member.value_start)


class _Repeated(NamedTuple):
    """An object in which a key stands more than once: it equals no value."""

    pairs: list[tuple[str, Any]]


class _Layout(NamedTuple):
    """What an object's text has between its braces, names and values."""

    opening: str = ""
    separator: str = ", "
    colon: str = ": "
    closing: str = ""

    def within(self) -> _Layout:
        """Return the layout of an object that stands in one of this layout."""
        if not _breaks(self.opening):
            separator = _after_colon(self.colon) if _breaks(self.separator) else self.separator
            return self._replace(separator=separator, closing=self.opening)
        step = _indentation(self.opening).removeprefix(_indentation(self.closing))
        opening, separator, closing = (
            space + step if _breaks(space) else space
            for space in (self.opening, self.separator, self.closing)
        )
        return _Layout(opening, separator, self.colon, closing)

    def member(self, name: str, value: str) -> str:
        return f"{name}{self.colon}{value}"

    def whole(self, members: Sequence[str]) -> str:
        """Write an object of members that are written already."""
        if not members:
            return "{}"
        return f"{{{self.opening}{self.separator.join(members)}{self.closing}}}"


class _Edit(NamedTuple):
    """Characters that stand in place of those from start to end."""

    start: int
    end: int
    text: str


def _decoded(text: bytes) -> str:
    encoding = json.detect_encoding(text)
    if not encoding.startswith("utf-8"):
        raise ValueError(f"the text is {encoding.upper()}, not UTF-8")
    try:
        return text.removeprefix(UTF8_MARK).decode()
    except UnicodeDecodeError as error:
        place = error.start + len(text) - len(error.object)
        raise ValueError(f"byte {place} of the text is no UTF-8: {error.reason}") from error


def _members_read(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Repeated:
    members = dict(pairs)
    return members if len(members) == len(pairs) else _Repeated(pairs)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_members_read,
    parse_int=_Number,
    parse_float=_Number,
    parse_constant=_Number,
)


def _document(characters: str) -> _Object:
    """Find the members of a document. Raises ValueError if it is no object or goes on behind."""
    start = _past_space(characters, 0)
    if not characters.startswith("{", start):
        raise ValueError("the document is no JSON object")
    document = _object_at(characters, start)
    rest = _past_space(characters, document.end)
    if rest < len(characters):
        raise json.JSONDecodeError("Extra data", characters, rest)
    return document


def _object_at(characters: str, start: int) -> _Object:
    members: list[_Member] = []
    place = _past_space(characters, start + 1)
    while members or not characters.startswith("}", place):
        members.append(_member_at(characters, place))
        place = _past_space(characters, members[-1].end)
        if characters.startswith("}", place):
            break
        place = _past_space(characters, _past(",", characters, place))
    return _Object(characters, start, place + 1, members)


def _member_at(characters: str, start: int) -> _Member:
    _past('"', characters, start)
    name, name_end = _DECODER.raw_decode(characters, start)
    colon = _past_space(characters, name_end)
    value_start = _past_space(characters, _past(":", characters, colon))
    value, end = _DECODER.raw_decode(characters, value_start)
    return _Member(name, value, start, name_end, value_start, end)


def _past(expected: str, characters: str, place: int) -> int:
    if not characters.startswith(expected, place):
        raise json.JSONDecodeError(f"Expecting {expected!r}", characters, place)
    return place + 1


def _past_space(characters: str, place: int) -> int:
    while characters.startswith(_SPACE, place):
        place += 1
    return place


def _layout(found: _Object, outer: _Layout | None) -> _Layout:
    """Return how an object is laid out, or should be if it has too few members to show it."""
    characters, members = found.characters, found.members
    if not members:
        return _Layout() if outer is None else outer.within()
    first, last = members[0], members[-1]
    opening = characters[found.start + 1 : first.start]
    colon = characters[last.name_end : last.value_start]
    seen = Counter(characters[member.end : after.start] for member, after in pairwise(members))
    if seen:
        separator = seen.most_common(1)[0][0]
    elif _breaks(opening):
        separator = f",{opening}"
    elif outer is not None and not _breaks(outer.separator):
        separator = outer.separator
    else:
        separator = _after_colon(colon)
    return _Layout(opening, separator, colon, characters[last.end : found.end - 1])


def _breaks(space: str) -> bool:
    return "\n" in space or "\r" in space


def _indentation(space: str) -> str:
    return space[max(space.rfind("\n"), space.rfind("\r")) + 1 :]


def _after_colon(colon: str) -> str:
    """Return a separator on one line with the space that the colon has behind it."""
    return f",{colon.partition(':')[2]}"


def _edits(document: _Object, name: str, members: Mapping[str, Any]) -> list[_Edit]:
    ascii_only = document.characters.isascii()
    written = {key: _written(value, ascii_only) for key, value in members.items()}
    layout = _layout(document, None)
    holder = document.sole(name)
    held = document.held(holder)
    inner = layout.within() if held is None else _layout(held, layout)
    added = [
        inner.member(_written(key, ascii_only), value)
        for key, value in written.items()
        if held is None or held.sole(key) is None
    ]
    if holder is None:
        whole = layout.member(_written(name, ascii_only), inner.whole(added))
        return [_addition(document, layout, [whole])]
    if held is None:
        return [_Edit(holder.value_start, holder.end, inner.whole(added))]
    replaced = [
        _Edit(member.value_start, member.end, written[member.name])
        for member in held.members
        if member.name in members and not _is_equal(member.value, members[member.name])
    ]
    return [*replaced, _addition(held, inner, added)] if added else replaced


def _addition(found: _Object, layout: _Layout, added: Sequence[str]) -> _Edit:
    """Put members behind the last one, or in place of the nothing between the braces."""
    if not found.members:
        return _Edit(found.start, found.end, layout.whole(added))
    end = found.members[-1].end
    return _Edit(end, end, "".join(f"{layout.separator}{member}" for member in added))


def _written(value: Any, ascii_only: bool) -> str:
    """Write a value as JSON on one line; what UTF-8 cannot hold is escaped in any case.

    Raises ValueError for a value that does not read the same.
    """
    written = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False)
    if not ascii_only and SURROGATE.search(written):
        written = json.dumps(value, allow_nan=False)
    if not _is_equal(_DECODER.decode(written), value):
        raise ValueError("a member cannot be set: what would be written reads otherwise")
    return written


def _applied(characters: str, edits: Sequence[_Edit]) -> str:
    """Make edits that stand in the order of their places."""
    parts, done = [], 0
    for edit in edits:
        parts += [characters[done : edit.start], edit.text]
        done = edit.end
    return "".join((*parts, characters[done:]))


def _is_equal(found: Any, wanted: Any) -> bool:
    """Tell whether a value that was read says the same as one of Python's."""
    if isinstance(found, _Number):
        return found.equals(wanted)
    if isinstance(found, dict):
        return (
            isinstance(wanted, Mapping)
            and found.keys() == wanted.keys()
            and all(_is_equal(value, wanted[key]) for key, value in found.items())
        )
    if isinstance(found, list):
        return (
            isinstance(wanted, list | tuple)
            and len(found) == len(wanted)
            and all(map(_is_equal, found, wanted))
        )
    return isinstance(found, bool) == isinstance(wanted, bool) and bool(found == wanted)


def _diff(old: Sequence[str], new: Sequence[str], name: str, how: str = "") -> list[str]:
    """Compare texts in pieces, and only from the first to the last piece that differs.

    The time of the comparison grows with the square of what is compared.
    """
    head = _shared(old, new)
    tail = min(_shared(old[::-1], new[::-1]), len(old) - head, len(new) - head)
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


def _pieces(text: str) -> list[str]:
    """Break the lines of a text behind their commas as well."""
    return [piece if piece.endswith("\n") else f"{piece}\n" for piece in _PIECE.findall(text)]


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the pieces with which both texts begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _shown(line: str) -> str:
    """Cut a line in the middle to a length that can be read."""
    end = "\n" if line.endswith("\n") else "\n\\ No newline at end of file\n"
    bare, half = line.removesuffix("\n"), LONGEST_LINE // 2
    return f"{bare}{end}" if len(bare) <= LONGEST_LINE else f"{bare[:half]}…{bare[1 - half :]}{end}"
