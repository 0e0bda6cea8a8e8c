"""In-place edits of JSON text: set members of one object, and keep all other bytes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final, NamedTuple, Protocol

from evalstream.parsing.json import UTF8_MARK, shorten
from evalstream.parsing.strict_json import SURROGATE


class PlacedText(Protocol):
    """A member of an object with the positions of its parts in the document."""

    @property
    def start(self) -> int:
        """Where its name starts."""

    @property
    def name_end(self) -> int:
        """Where its name ends."""

    @property
    def value_start(self) -> int:
        """Where its value starts."""

    @property
    def end(self) -> int:
        """Where its value ends."""


class JsonLayout(NamedTuple):
    """The white space and punctuation of an object between braces, names and values."""

    opening: str = ""
    separator: str = ", "
    colon: str = ": "
    closing: str = ""

    def nest(self) -> JsonLayout:
        """Return the layout of an object nested in one of this layout."""
        if not _breaks(self.opening):
            separator = _after_colon(self.colon) if _breaks(self.separator) else self.separator
            return self._replace(separator=separator, closing=self.opening)
        step = _indentation(self.opening).removeprefix(_indentation(self.closing))
        opening, separator, closing = (
            space + step if _breaks(space) else space
            for space in (self.opening, self.separator, self.closing)
        )
        return JsonLayout(opening, separator, self.colon, closing)

    def member(self, name: str, value: str) -> str:
        """Return the text of a member from the JSON texts of its name and value."""
        return f"{name}{self.colon}{value}"

    def whole(self, members: Sequence[str]) -> str:
        """Return the text of an object from the texts of its members."""
        if not members:
            return "{}"
        return f"{{{self.opening}{self.separator.join(members)}{self.closing}}}"


def detect_json_layout(
    characters: str, start: int, end: int, members: Sequence[PlacedText], outer: JsonLayout | None
) -> JsonLayout:
    """Return the layout of an object between two positions of a text.

    It is derived from the layout of the `outer` object if there are too few members to show it.
    """
    if not members:
        return JsonLayout() if outer is None else outer.nest()
    first, last = members[0], members[-1]
    opening = characters[start + 1 : first.start]
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
    return JsonLayout(opening, separator, colon, characters[last.end : end - 1])


def _breaks(space: str) -> bool:
    return "\n" in space or "\r" in space


def _indentation(space: str) -> str:
    return space[max(space.rfind("\n"), space.rfind("\r")) + 1 :]


def _after_colon(colon: str) -> str:
    """Return a separator on one line with the space that follows the colon."""
    return f",{colon.partition(':')[2]}"


_SPACE: Final = (" ", "\t", "\n", "\r")


def set_members(text: bytes, name: str, members: Mapping[str, Any]) -> bytes:
    """Return a JSON object's text with `members` set in the object in its member `name`.

    Existing members keep their position, and their spelling where they are already equal; new ones
    follow the last, with the same layout. A value of `name` that is not an object is replaced.
    Raises ValueError, without an edit, if the text is not a JSON object in UTF-8, if a key on the
    path is repeated, if it is nested too deeply, or if a value would not decode to itself, such as
    NaN.
    """
    return _apply_edits(text, lambda document: _edits(document, name, members))


def _apply_edits(text: bytes, edits: Callable[[_Object], Sequence[_Edit]]) -> bytes:
    mark = UTF8_MARK if text.startswith(UTF8_MARK) else b""
    characters = _decode_string(text)
    try:
        edited = _apply(characters, edits(_document(characters)))
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error}") from error
    except RecursionError as error:
        raise ValueError("nested too deeply to edit") from error
    return mark + edited.encode()


def set_member(text: bytes, name: str, value: Any) -> bytes:
    """Return a JSON object's text with one member set to a value, as `set_members` sets others.

    Raises ValueError as it does.
    """
    return _apply_edits(text, lambda document: _edits_of_member(document, name, value))


class _Number(NamedTuple):
    """A number with its spelling, because parsing may lose digits."""

    spelling: str

    def equals(self, expected: Any) -> bool:
        if isinstance(expected, bool) or not isinstance(expected, (int, float)):
            return False
        if isinstance(expected, float):
            return float(self.spelling) == expected
        try:
            return Decimal(self.spelling) == expected
        except ArithmeticError:
            # The exponent is out of range; writing the number again is always correct.
            return False


class _Member(NamedTuple):
    """A member of an object with the positions of its parts in the document."""

    name: str
    value: Any
    start: int
    name_end: int
    value_start: int
    end: int


class _Object(NamedTuple):
    """An object in the document, from its opening brace to after the closing one."""

    characters: str
    start: int
    end: int
    members: Sequence[_Member]

    def sole(self, name: str) -> _Member | None:
        """Return the member of that name, if there is one. Raises ValueError if it is repeated."""
        found = [member for member in self.members if member.name == name]
        if len(found) > 1:
            raise ValueError(f"the key {shorten(name)!r} occurs {len(found)} times in one object")
        return found[0] if found else None

    def find_object(self, member: _Member | None) -> _Object | None:
        """Return the object in a member, or None if its value is not an object."""
        if member is None or not isinstance(member.value, dict | _Repeated):
            return None
        return _object_at(self.characters, member.value_start)


class _Repeated(NamedTuple):
    """An object with a repeated key: it equals no value."""

    pairs: list[tuple[str, Any]]


class _Edit(NamedTuple):
    """A text that replaces the characters from start to end."""

    start: int
    end: int
    text: str


def _decode_string(text: bytes) -> str:
    encoding = json.detect_encoding(text)
    if not encoding.startswith("utf-8"):
        raise ValueError(f"the text is {encoding.upper()}, not UTF-8")
    try:
        return text.removeprefix(UTF8_MARK).decode()
    except UnicodeDecodeError as error:
        position = error.start + len(text) - len(error.object)
        raise ValueError(
            f"byte {position} of the text is not valid UTF-8: {error.reason}"
        ) from error


def _collect_members(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Repeated:
    members = dict(pairs)
    return members if len(members) == len(pairs) else _Repeated(pairs)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_collect_members,
    parse_int=_Number,
    parse_float=_Number,
    parse_constant=_Number,
)


def _document(characters: str) -> _Object:
    """Locate the members of a document. Raises ValueError if it is not exactly one object."""
    start = _skip_space(characters, 0)
    if not characters.startswith("{", start):
        raise ValueError("the document is not a JSON object")
    document = _object_at(characters, start)
    rest = _skip_space(characters, document.end)
    if rest < len(characters):
        raise json.JSONDecodeError("Extra data", characters, rest)
    return document


def _object_at(characters: str, start: int) -> _Object:
    members: list[_Member] = []
    position = _skip_space(characters, start + 1)
    while members or not characters.startswith("}", position):
        members.append(_member_at(characters, position))
        position = _skip_space(characters, members[-1].end)
        if characters.startswith("}", position):
            break
        position = _skip_space(characters, _expect(",", characters, position))
    return _Object(characters, start, position + 1, members)


def _member_at(characters: str, start: int) -> _Member:
    _expect('"', characters, start)
    name, name_end = _DECODER.raw_decode(characters, start)
    colon = _skip_space(characters, name_end)
    value_start = _skip_space(characters, _expect(":", characters, colon))
    value, end = _DECODER.raw_decode(characters, value_start)
    return _Member(name, value, start, name_end, value_start, end)


def _expect(expected: str, characters: str, position: int) -> int:
    if not characters.startswith(expected, position):
        raise json.JSONDecodeError(f"Expecting {expected!r}", characters, position)
    return position + 1


def _skip_space(characters: str, position: int) -> int:
    while characters.startswith(_SPACE, position):
        position += 1
    return position


def _layout(found: _Object, outer: JsonLayout | None) -> JsonLayout:
    return detect_json_layout(found.characters, found.start, found.end, found.members, outer)


def _edits(document: _Object, name: str, members: Mapping[str, Any]) -> list[_Edit]:
    ascii_only = document.characters.isascii()
    encoded = {key: _encode(value, ascii_only) for key, value in members.items()}
    layout = _layout(document, None)
    holder = document.sole(name)
    object_in = document.find_object(holder)
    inner = layout.nest() if object_in is None else _layout(object_in, layout)
    added = [
        inner.member(_encode(key, ascii_only), value)
        for key, value in encoded.items()
        if object_in is None or object_in.sole(key) is None
    ]
    if holder is None:
        whole = layout.member(_encode(name, ascii_only), inner.whole(added))
        return [_addition(document, layout, [whole])]
    if object_in is None:
        return [_Edit(holder.value_start, holder.end, inner.whole(added))]
    replaced = [
        _Edit(member.value_start, member.end, encoded[member.name])
        for member in object_in.members
        if member.name in members and not _is_equal(member.value, members[member.name])
    ]
    return [*replaced, _addition(object_in, inner, added)] if added else replaced


def _edits_of_member(document: _Object, name: str, value: Any) -> list[_Edit]:
    ascii_only = document.characters.isascii()
    encoded, held = _encode(value, ascii_only), document.sole(name)
    if held is None:
        added = _layout(document, None).member(_encode(name, ascii_only), encoded)
        return [_addition(document, _layout(document, None), [added])]
    return [] if _is_equal(held.value, value) else [_Edit(held.value_start, held.end, encoded)]


def _addition(found: _Object, layout: JsonLayout, added: Sequence[str]) -> _Edit:
    """Return the edit that adds members after the last one, or into an empty object."""
    if not found.members:
        return _Edit(found.start, found.end, layout.whole(added))
    end = found.members[-1].end
    return _Edit(end, end, "".join(f"{layout.separator}{member}" for member in added))


def _encode(value: Any, ascii_only: bool) -> str:
    """Encode a value as JSON on one line; lone surrogates are always escaped.

    Raises ValueError for a value that does not decode to itself.
    """
    encoded = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False)
    if not ascii_only and SURROGATE.search(encoded):
        encoded = json.dumps(value, allow_nan=False)
    if not _is_equal(_DECODER.decode(encoded), value):
        raise ValueError("cannot set a member: its value does not survive JSON encoding")
    return encoded


def _apply(characters: str, edits: Sequence[_Edit]) -> str:
    """Apply edits that are ordered by position."""
    parts, done = [], 0
    for edit in edits:
        parts += [characters[done : edit.start], edit.text]
        done = edit.end
    return "".join((*parts, characters[done:]))


def _is_equal(found: Any, expected: Any) -> bool:
    """Tell whether a parsed value equals a Python value."""
    if isinstance(found, _Number):
        return found.equals(expected)
    if isinstance(found, dict):
        return (
            isinstance(expected, Mapping)
            and found.keys() == expected.keys()
            and all(_is_equal(value, expected[key]) for key, value in found.items())
        )
    if isinstance(found, list):
        return (
            isinstance(expected, list | tuple)
            and len(found) == len(expected)
            and all(map(_is_equal, found, expected))
        )
    return isinstance(found, bool) == isinstance(expected, bool) and bool(found == expected)
