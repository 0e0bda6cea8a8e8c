"""In-place edits of JSON text: set members of one object, and keep all other bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

from evalstream.parsing.json import UTF8_MARK, shorten
from evalstream.parsing.json_tree import JsonMember, JsonType, Node, Splices, type_at
from evalstream.parsing.strict_json import SURROGATE

_SPACE: Final = (" ", "\t", "\n", "\r")


def set_members(text: bytes, name: str, members: Mapping[str, Any]) -> bytes:
    """Return a JSON object's text with `members` set in the object in its member `name`.

    Existing members keep their position, and their spelling where they are already equal; new ones
    follow the last, with the same layout. A value of `name` that is not an object is replaced.
    Raises ValueError, without an edit, if the text is not a JSON object in UTF-8, if a key on the
    path is repeated, if it is nested too deeply, or if a value would not decode to itself, such as
    NaN.
    """

    def edit(splices: Splices) -> None:
        document = splices.tree
        encoded = {key: _encode(value, splices.ascii_only) for key, value in members.items()}
        holder = _sole_member(document, name)
        if holder is None:
            splices.add_object(document, name, encoded)
        elif holder.value.type is not JsonType.OBJECT:
            splices.replace(holder.value, splices.object_text(document, encoded))
        else:
            holder.value.members = _object_at(splices.text, holder.value.start).members
            for key, value in members.items():
                _set_member(splices, holder.value, key, value, encoded[key])

    return _edit_text(text, edit)


def set_member(text: bytes, name: str, value: Any) -> bytes:
    """Return a JSON object's text with one member set to a value, as `set_members` sets others.

    Raises ValueError as it does.
    """
    return _edit_text(
        text,
        lambda splices: _set_member(
            splices, splices.tree, name, value, _encode(value, splices.ascii_only)
        ),
    )


def _edit_text(text: bytes, edit: Callable[[Splices], None]) -> bytes:
    mark = UTF8_MARK if text.startswith(UTF8_MARK) else b""
    characters = _decode_text(text)
    try:
        splices = Splices(characters, _document(characters))
        edit(splices)
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error}") from error
    except RecursionError as error:
        raise ValueError("nested too deeply to edit") from error
    return mark + splices.apply().encode()


def _set_member(splices: Splices, holder: Node, name: str, value: Any, encoded: str) -> None:
    """Set a member of an object, unless it has this value. Raises ValueError if it is repeated."""
    held = _sole_member(holder, name)
    if held is None:
        splices.add(holder, name, encoded)
    elif not _is_equal(_DECODER.raw_decode(splices.text, held.value.start)[0], value):
        splices.replace(held.value, encoded)


def _sole_member(holder: Node, name: str) -> JsonMember | None:
    """Return the member of that name, if there is one. Raises ValueError if it is repeated."""
    found = [member for member in holder.members if member.name == name]
    if len(found) > 1:
        raise ValueError(f"the key {shorten(name)!r} occurs {len(found)} times in one object")
    return found[0] if found else None


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


class _Repeated(NamedTuple):
    """An object with a repeated key: it equals no value."""

    pairs: list[tuple[str, Any]]


def _decode_text(text: bytes) -> str:
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


def _document(characters: str) -> Node:
    """Locate the members of a document. Raises ValueError if it is not exactly one object."""
    start = _skip_space(characters, 0)
    if not characters.startswith("{", start):
        raise ValueError("the document is not a JSON object")
    document = _object_at(characters, start)
    rest = _skip_space(characters, document.end)
    if rest < len(characters):
        raise json.JSONDecodeError("Extra data", characters, rest)
    return document


def _object_at(characters: str, start: int) -> Node:
    """Return the object that begins at a position, with its members and nothing in their values."""
    node = Node(JsonType.OBJECT, start, start)
    position = _skip_space(characters, start + 1)
    while node.members or not characters.startswith("}", position):
        node.members.append(_member_at(characters, position))
        position = _skip_space(characters, node.members[-1].end)
        if characters.startswith("}", position):
            break
        position = _skip_space(characters, _expect(",", characters, position))
    node.end = position + 1
    return node


def _member_at(characters: str, start: int) -> JsonMember:
    _expect('"', characters, start)
    name, name_end = _DECODER.raw_decode(characters, start)
    colon = _skip_space(characters, name_end)
    value_start = _skip_space(characters, _expect(":", characters, colon))
    end = _DECODER.raw_decode(characters, value_start)[1]
    return JsonMember(
        name, start, name_end, Node(type_at(characters, value_start), value_start, end)
    )


def _expect(expected: str, characters: str, position: int) -> int:
    if not characters.startswith(expected, position):
        raise json.JSONDecodeError(f"Expecting {expected!r}", characters, position)
    return position + 1


def _skip_space(characters: str, position: int) -> int:
    while characters.startswith(_SPACE, position):
        position += 1
    return position


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
