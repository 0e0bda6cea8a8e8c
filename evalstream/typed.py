"""Rows parsed and held against their schema in one step: the only home of msgspec.

A JSON Schema becomes types that are narrower than it: what they accept, the schema accepts.
Of what they do not accept nothing is known; it is for others to look at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Annotated, Any, Final, Literal

import msgspec
import stringzilla

from evalstream.model import Bytes

Typed = Any
"""An object with the members that a schema names as attributes, ABSENT where it has none."""

Schema = Mapping[str, Any]

ABSENT: Final = msgspec.UNSET
plain: Final[Callable[[Any], Any]] = msgspec.to_builtins
"""Returns what a typed value holds as dicts and lists."""

_PLAIN: Final[Any] = str | int | float | bool | None
_DEEPEST: Final = 3
"""How deep a value may be of which the schema says nothing."""

_SCALARS: Final[Mapping[str, Any]] = {
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "null": None,
}
_ANNOTATIONS: Final = frozenset({"$schema", "$id", "$comment", "version", "title", "description"})
_UNDERSTOOD: Final = _ANNOTATIONS | {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "minimum",
    "oneOf",
}
_NULL: Final = {"type": "null"}

_BETWEEN_ROWS: Final = b"}\n{"
_KEY, _ESCAPED, _UNESCAPED = b'":', b'\\":', b'\\\\":'
_APART: Final = (b" :", b"\t:", b"\r:")
"""How a key's colon looks when it stands apart from the key."""

_KEY_APART: Final = re.compile(rb'"[ \t\r]+:')
_ESCAPED_KEY: Final = re.compile(rb'(\\+)":')
"""What looks like the end of a key, and is none after an odd number of backslashes."""

NO_ROW: Final = -(1 << 62)
_REFUSED: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class NotTyped(Exception):
    """The schema demands something that no type of ours can say."""


class TypedRows:
    """Reads rows of the usual shape.

    `discriminator` is the one member that conditions of the schema may depend on. `also` names
    members that rows have as attributes even if the schema knows none of that name. Raises
    NotTyped for a schema that no types can be made from.
    """

    def __init__(self, schema: Schema, discriminator: str, also: Sequence[str] = ()) -> None:
        unconditional = {key: value for key, value in schema.items() if key != "allOf"}
        self._type = _typed(unconditional, "Row", also)
        decoder = msgspec.json.Decoder(self._type)
        self._decode: Callable[[Bytes], Typed] = decoder.decode
        self._decode_lines: Callable[[Bytes], list[Typed]] = decoder.decode_lines
        self._usual_keys = _key_counter(
            unconditional, discriminator, _demands(schema, discriminator)
        )

    def read(self, lines: Sequence[Bytes], text: Bytes, *, spaces_only: bool) -> list[Typed | None]:
        """Return the row that each line holds, None where it is for others to say.

        `text` is where the lines stand one after the other, and `spaces_only` says that it has
        no tab and no carriage return. A row is returned only if it is all that its line says:
        no key is unknown to the schema, and none comes twice.
        """
        apart = _APART[:1] if spaces_only else _APART
        rows = self._decoded(lines, text)
        if None in rows or not self._has_all_keys(rows, text, apart):
            for index, row in enumerate(rows):
                if row is not None and not self._has_all_keys((row,), lines[index], apart):
                    rows[index] = None
        return rows

    def view(self, row: Any) -> Typed | None:
        """Return what a parsed row says as a typed one, None if it is not of the usual shape."""
        try:
            typed = msgspec.convert(row, self._type)
        except _REFUSED:
            return None
        return typed if self._usual_keys(typed) >= 0 else None

    def _decoded(self, lines: Sequence[Bytes], text: Bytes) -> list[Typed | None]:
        """Decode lines at once where each is sure to be one value.

        Inside a value no `{` follows a `}`, so a newline between the two ends a value. As many
        values as lines, all lines apart by such newlines, makes one value of each.
        """
        if (
            bytes(text[:1]) == b"{"
            and bytes(text[-2:]) == b"}\n"
            and stringzilla.count(text, _BETWEEN_ROWS) == len(lines) - 1
        ):
            try:
                rows: list[Typed | None] = self._decode_lines(text)
            except _REFUSED:
                rows = []
            if len(rows) == len(lines):
                return rows
        return [self._row(line) for line in lines]

    def _row(self, line: Bytes) -> Typed | None:
        try:
            return self._decode(line)
        except _REFUSED:
            return None

    def _has_all_keys(self, rows: Sequence[Typed], text: Bytes, apart: Sequence[bytes]) -> bool:
        """Tell whether rows hold as many keys as their text can have at the most.

        In JSON a quote before a colon ends a key, unless it is part of a text itself. There
        are thus never fewer of them than keys, and as a rule as many.
        """
        for needle in apart:
            if stringzilla.find(text, needle) >= 0 and _KEY_APART.search(text):
                return False
        most: int = stringzilla.count(text, _KEY)
        usual = sum(map(self._usual_keys, rows))
        if usual == most or usual < 0:
            return usual >= 0
        # A quote behind one backslash ends no key; behind two it may.
        roughly = most + stringzilla.count(text, _UNESCAPED) - stringzilla.count(text, _ESCAPED)
        if usual == roughly:
            return True
        most -= sum(len(quote) % 2 for quote in _ESCAPED_KEY.findall(text))
        return usual == most or sum(keys_in(plain(row)) for row in rows) == most


def keys_in(value: Any) -> int:
    """Count the keys of all objects in a value."""
    if value.__class__ is dict:
        return len(value) + sum(map(keys_in, value.values()))
    return sum(map(keys_in, value)) if value.__class__ is list else 0


def pinned(schema: Schema, member: str, texts: Sequence[str]) -> Schema:
    """Return a schema that demands one of some texts of a member."""
    only = {"type": "string", "enum": list(texts)}
    return {**schema, "properties": {**schema["properties"], member: only}}


def _typed(node: Any, name: str, also: Sequence[str] = ()) -> Any:
    """Return a type that accepts nothing that the schema does not accept."""
    if node is True:
        return _free(_DEEPEST)
    if set(node) - _UNDERSTOOD:
        raise NotTyped(name)
    if "oneOf" in node:
        return _one_of(node, name)
    kinds = _kinds(node)
    if "enum" in node:
        if kinds != ["string"]:
            raise NotTyped(name)
        return Literal[tuple(node["enum"])]
    return reduce(or_, [_of_kind(kind, node, name, also) for kind in kinds])


def _kinds(node: Schema) -> list[str]:
    kinds = node["type"]
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _one_of(node: Schema, name: str) -> Any:
    """Take alternatives of which no value fits two."""
    kinds = [kind for branch in node["oneOf"] for kind in _kinds(branch)]
    if set(node) - _ANNOTATIONS != {"oneOf"} or sorted(kinds) != sorted({*kinds} - {"number"}):
        raise NotTyped(name)
    return reduce(or_, [_typed(branch, name) for branch in node["oneOf"]])


def _of_kind(kind: str, node: Schema, name: str, also: Sequence[str]) -> Any:
    if kind == "array":
        return list[_typed(node.get("items", True), name)]  # type: ignore[misc]
    if kind == "object":
        return _object(node, name, also)
    if kind in {"integer", "number"} and "minimum" in node:
        least = msgspec.Meta(ge=node["minimum"])
        parts = (int, float) if kind == "number" else (int,)
        return reduce(or_, [Annotated[part, least] for part in parts])
    return _SCALARS[kind]


def _object(node: Schema, name: str, also: Sequence[str]) -> Any:
    """Objects with known members have no others here, whatever the schema says."""
    properties, required = node.get("properties", {}), node.get("required", ())
    others = node.get("additionalProperties", True)
    if not set(required) <= set(properties) or (others is False and not properties):
        raise NotTyped(name)
    if not properties:
        return dict[str, _typed(others, name)]  # type: ignore[misc]
    fields: list[Any] = []
    for member, inner in properties.items():
        kind = _typed(inner, f"{name}_{member}")
        is_required = member in required
        fields.append((member, kind) if is_required else (member, kind | _UNSET, ABSENT))
    return msgspec.defstruct(
        name,
        fields,
        namespace={member: ABSENT for member in also if member not in properties},
        kw_only=True,
        forbid_unknown_fields=True,
        gc=False,
    )


_UNSET: Final = msgspec.UnsetType


def _free(depth: int) -> Any:
    """Return the type of any value of at most this depth."""
    if not depth:
        return _PLAIN
    inner = _free(depth - 1)
    return _PLAIN | list[inner] | dict[str, inner]  # type: ignore[valid-type]


Demands = Mapping[str, Sequence[tuple[str, bool]]]
"""By value of the discriminator: members, and whether they must be there or must not."""


def _demands(schema: Schema, discriminator: str) -> Demands:
    """Read the conditions: `if` the discriminator has one of some values, `then` what holds."""
    properties = schema["properties"]
    if discriminator not in schema["required"]:
        raise NotTyped(discriminator)
    demands: dict[str, list[tuple[str, bool]]] = {
        value: [] for value in properties[discriminator]["enum"]
    }
    for condition in schema.get("allOf", ()):
        if set(condition) - _ANNOTATIONS != {"if", "then"}:
            raise NotTyped("allOf")
        demanded = list(_demanded(condition["then"], properties))
        for value in _values(condition["if"], discriminator):
            demands[value].extend(demanded)
    return demands


def _values(node: Schema, discriminator: str) -> Sequence[str]:
    if set(node) != {"properties"} or set(node["properties"]) != {discriminator}:
        raise NotTyped("if")
    (wanted,) = node["properties"].values()
    if set(wanted) not in ({"const"}, {"enum"}):
        raise NotTyped("if")
    values: Sequence[str] = [wanted["const"]] if "const" in wanted else wanted["enum"]
    return values


def _demanded(node: Schema, known: Schema) -> Iterator[tuple[str, bool]]:
    """Read what `then` demands of members; no accepted row has any that is not known."""
    if set(node) - _ANNOTATIONS - {"required", "properties"}:
        raise NotTyped("then")
    present = set()
    for member, inner in node.get("properties", {}).items():
        if member not in known:
            continue
        (kind,) = _kinds(inner)
        others = set(inner) - _ANNOTATIONS - {"type"}
        if kind == "null" and not others:
            yield member, False
        elif inner.get("not", _NULL) == _NULL and others <= {"not"}:
            if {*_kinds(known[member])} - {"null"} != {kind}:
                raise NotTyped("then")
            present.add(member)
            yield member, True
        else:
            raise NotTyped("then")
    if not set(node.get("required", ())) <= present:
        raise NotTyped("then")


def _key_counter(node: Schema, discriminator: str, demands: Demands) -> Callable[[Typed], int]:
    """Compile the function that counts a row's keys, but for those nested in free values.

    Of a row that fails a condition it says NO_ROW, which no other rows make up for.
    """
    conditions = _checking(discriminator, demands)
    body = [*_counting(node, "row", " "), *conditions, " return n"]
    names: dict[str, Any] = {"ABSENT": ABSENT}
    # A loop over the members would take four times as long.
    exec("\n".join(["def count(row):", " n = 0", *body]), names)  # noqa: S102
    counter: Callable[[Typed], int] = names["count"]
    return counter


def _checking(discriminator: str, demands: Demands) -> Iterator[str]:
    """Write the lines that look at the conditions."""
    for value, demanded in demands.items():
        if demanded:
            yield f" if row.{discriminator} == {value!r}:"
        for member, is_wanted in demanded:
            is_there = f"row.{member} is not None and row.{member} is not ABSENT"
            yield f"  if {'not ' if is_wanted else ''}({is_there}):"
            yield f"   return {NO_ROW}"


def _counting(node: Any, value: str, indent: str) -> Iterator[str]:
    """Write the lines that add the keys of a value, which is not null, to `n`."""
    if node is True or "oneOf" in node:
        return
    kinds = {*_kinds(node)} - {"null"}
    if kinds == {"array"}:
        item = f"{value}_"
        inner = list(_counting(node.get("items", True), item, f"{indent} "))
        if inner:
            yield f"{indent}for {item} in {value}:"
            yield from inner
    elif kinds == {"object"} and not node.get("properties"):
        yield f"{indent}n += len({value})"
    elif kinds == {"object"}:
        required = node.get("required", ())
        yield f"{indent}n += {len(required)}"
        for member, inner in node["properties"].items():
            yield from _counting_member(inner, f"{value}.{member}", indent, member in required)


def _counting_member(node: Any, value: str, indent: str, is_required: bool) -> Iterator[str]:
    name = value.replace(".", "_")
    deeper = indent if is_required else f"{indent} "
    inner = list(_counting(node, name, f"{deeper} "))
    if inner:
        yield f"{indent}{name} = {value}"
    if not is_required:
        yield f"{indent}if {name if inner else value} is not ABSENT:"
        yield f"{deeper}n += 1"
    if inner and "null" in _kinds(node):
        yield f"{deeper}if {name} is not None:"
        yield from inner
    elif inner:
        yield from (line[1:] for line in inner)
