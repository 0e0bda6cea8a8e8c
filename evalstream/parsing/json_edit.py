"""In-place edits of JSON text: set members of one object, and keep all other bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from evalstream.parsing.array_elements import DECODER
from evalstream.parsing.json import UTF8_MARK, shorten
from evalstream.parsing.json_tree import JsonMember, JsonType, Node, Splices, build_tree
from evalstream.parsing.strict_json import SURROGATE

_SPACE: Final = " \t\n\r"


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
            holder.value.members = build_tree(splices.text, holder.value.start, levels=1).members
            for key, value in members.items():
                _set_member(splices, holder.value, key, value, encoded[key])

    return _edit_text(text, edit)


def set_member(text: bytes, name: str, value: Any) -> bytes:
    """Return a JSON object's text with one member set. Raises ValueError as `set_members` does."""
    return _edit_text(
        text,
        lambda splices: _set_member(
            splices, splices.tree, name, value, _encode(value, splices.ascii_only)
        ),
    )


def _edit_text(text: bytes, edit: Callable[[Splices], None]) -> bytes:
    mark = UTF8_MARK if text.startswith(UTF8_MARK) else b""
    characters = _decode_text(text)
    if not characters.lstrip(_SPACE).startswith("{"):
        raise ValueError("the document is not a JSON object")
    try:
        DECODER.decode(characters)
        splices = Splices(characters, build_tree(characters, levels=1))
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
    found = [member for member in holder.members if member.name == name]
    if len(found) > 1:
        raise ValueError(f"the key {shorten(name)!r} occurs {len(found)} times in one object")
    return found[0] if found else None


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


_NO_VALUE: Final = Decimal("NaN")
"""It equals nothing, so that the value it stands for is written again, which is always correct."""


def _collect_members(pairs: list[tuple[str, Any]]) -> dict[str, Any] | Decimal:
    members = dict(pairs)
    return members if len(members) == len(pairs) else _NO_VALUE


def _read_decimal(digits: str) -> Decimal:
    """Return a number with all its digits, if there is a Decimal with its exponent."""
    try:
        return Decimal(digits)
    except ArithmeticError:
        return _NO_VALUE


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_collect_members, parse_int=_read_decimal, parse_float=_read_decimal
)


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
    if isinstance(found, Decimal):
        is_number = isinstance(expected, (int, float)) and not isinstance(expected, bool)
        return is_number and (float(found) if isinstance(expected, float) else found) == expected
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
