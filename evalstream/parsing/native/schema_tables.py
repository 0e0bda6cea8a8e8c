"""A JSON Schema as the tables that the scanner walks rows by.

They are narrower than the schema: what the scanner accepts by them, the schema accepts. Of what
it does not accept nothing is known; it is for others to look at.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import takewhile
from operator import or_
from typing import Any, Final, NamedTuple

Schema = Mapping[str, Any]
Path = tuple[str, ...]
"""The names of members that lead to a value; `*` stands for each element of an array."""

Paths = frozenset[Path]

_NODE: Final = struct.Struct("@10iQd")
NODE_BYTES: Final = _NODE.size
_PAIR: Final = struct.Struct("=2i")
_NONE: Final = -1
MOST_MEMBERS: Final = 64

_KINDS: Final = {
    "null": 1,
    "boolean": 2,
    "integer": 4,
    "number": 4 | 8,
    "string": 16,
    "array": 32,
    "object": 64,
}
_ANY: Final = ("null", "boolean", "number", "string", "array", "object")
_ANY_KIND: Final = 127
_EACH: Final = "*"
_ANNOTATIONS: Final = frozenset({"$schema", "$id", "$comment", "version", "title", "description"})
_UNDERSTOOD: Final = _ANNOTATIONS | {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "minimum",
}
_NULL: Final = {"type": "null"}


class NotTabled(Exception):
    """The schema demands something that no table can say."""


class Tables(NamedTuple):
    """A schema as packed arrays, and what it demands beyond the shape of values.

    `nodes`, `members`, `labels` and `letters` are those of `shape.h`. `wanted` and `unwanted`
    are sets of slots as bits, by the choice that the discriminator is: what must be there and
    not be null, and what must be null or absent.
    """

    nodes: bytes
    members: bytes
    labels: bytes
    letters: bytes
    wanted: tuple[int, ...]
    unwanted: tuple[int, ...]


def tables_of(
    schema: Schema,
    slots: Sequence[str],
    discriminator: str,
    aliases: Mapping[str, str],
    watched: Iterable[Path] = (),
) -> Tables:
    """Return the tables of a schema.

    `slots` are the paths of what is to be kept, `discriminator` names the one member that
    conditions of the schema may depend on, and `aliases` what members of a row are called in
    paths. `watched` are values of which the scanner tells that a row holds one. Raises NotTabled.
    """
    if not isinstance(schema.get("properties"), Mapping):
        raise NotTabled("properties")
    builder = _Builder({path: slot for slot, path in enumerate(slots)}, aliases)
    without_conditions = {key: value for key, value in schema.items() if key != "allOf"}
    builder.add(without_conditions, "", frozenset(map(_sayable, watched)))
    choices = _choices_of(schema["properties"].get(discriminator))
    if discriminator not in schema.get("required", ()) or not choices:
        raise NotTabled(discriminator)
    wanted, unwanted = dict.fromkeys(choices, 0), dict.fromkeys(choices, 0)
    for value, member, is_wanted in _demands(schema, discriminator):
        slot = builder.slot(member)
        if slot == _NONE or value not in wanted:
            raise NotTabled(member)
        (wanted if is_wanted else unwanted)[value] |= 1 << slot
    return builder.tables(tuple(wanted.values()), tuple(unwanted.values()))


def pinned(schema: Schema, member: str, texts: Sequence[str]) -> Schema:
    """Return a schema that demands one of some texts of a member."""
    only = {"type": "string", "enum": list(texts)}
    return {**schema, "properties": {**schema["properties"], member: only}}


class _Builder:
    def __init__(self, slots: Mapping[str, int], aliases: Mapping[str, str]) -> None:
        self._slots, self._aliases = slots, aliases
        self._nodes: list[bytes] = []
        self._members: list[bytes] = []
        self._labels: list[bytes] = []
        self._letters = b""

    def slot(self, path: str) -> int:
        """Return the slot of a path, _NONE where it has none."""
        first, dot, rest = path.partition(".")
        name, bracket, deeper = first.partition("[")
        return self._slots.get(
            f"{self._aliases.get(name, name)}{bracket}{deeper}{dot}{rest}", _NONE
        )

    def add(self, node: Any, path: str, watched: Paths = frozenset()) -> int:
        """Add a schema, and return the place of its node; the paths that are watched lead on."""
        place = len(self._nodes)
        self._nodes.append(b"")
        if _says_nothing(node):
            inner = bool(watched - {()})
            node = {"type": list(_ANY)} if inner else True
        if node is True:
            self._nodes[place] = _free_node(self._free, self.slot(path), () in watched)
            return place
        if not isinstance(node, Mapping):
            raise NotTabled(path)
        if "oneOf" in node:
            node = _merged(node, path)
        if set(node) - _UNDERSTOOD:
            raise NotTabled(path)
        self._nodes[place] = self._packed(node, path, watched)
        return place

    def tables(self, wanted: tuple[int, ...], unwanted: tuple[int, ...]) -> Tables:
        """Return what was added."""
        nodes, members, labels = map(b"".join, (self._nodes, self._members, self._labels))
        return Tables(nodes, members, labels, self._letters, wanted, unwanted)

    def _packed(self, node: Schema, path: str, watched: Paths) -> bytes:
        kinds, items = _kinds(node, path), _NONE
        if "array" in kinds:
            items = self.add(node.get("items", True), f"{path}[]", _in_elements(watched))
        others, members, required = _NO_OBJECT
        if "object" in kinds:
            others, members, required = self._object(node, path, watched)
        first_member = self._add_members(members)
        choices = node.get("enum", ())
        if choices and list(kinds) != ["string"]:
            raise NotTabled(path)
        first_choice = len(self._labels)
        for choice in choices:
            self._label(choice)
        return _NODE.pack(
            reduce(or_, (_KINDS[kind] for kind in kinds)),
            items,
            others,
            first_member,
            len(members),
            first_choice,
            len(choices),
            self.slot(path),
            "minimum" in node,
            () in watched,
            required,
            node.get("minimum", 0),
        )

    def _object(
        self, node: Schema, path: str, watched: Paths
    ) -> tuple[int, list[tuple[str, int]], int]:
        """Return the node of unknown members, the known ones, and which of them are required.

        Objects with known members have no others here, whatever the schema says.
        """
        properties, required = node.get("properties", {}), node.get("required", ())
        others = node.get("additionalProperties", True)
        if not set(required) <= set(properties) or len(properties) > MOST_MEMBERS:
            raise NotTabled(path)
        if properties:
            inner = {name: _joined(path, name) for name in properties}
            members = [
                (name, self.add(properties[name], inner[name], _in_member(watched, name)))
                for name in properties
            ]
            bits = sum(1 << place for place, name in enumerate(properties) if name in required)
            return _NONE, members, bits
        if others is False:
            raise NotTabled(path)
        slots = [name.removeprefix(f"{path}.") for name in self._slots if _is_in(name, path)]
        known = dict.fromkeys((*slots, *sorted({first for first, *_ in watched - {()}} - {_EACH})))
        if len(known) > MOST_MEMBERS:
            raise NotTabled(path)
        return (
            self.add(others, f"{path}.*", _in_member(watched, _EACH)),
            [
                (name, self.add(others, _joined(path, name), _in_member(watched, name)))
                for name in known
            ],
            0,
        )

    @cached_property
    def _free(self) -> int:
        """The node of values of which the schema says nothing, and of all that is in them."""
        place = len(self._nodes)
        self._nodes.append(_free_node(place, _NONE, is_watched=False))
        return place

    def _add_members(self, members: Sequence[tuple[str, int]]) -> int:
        first = len(self._members)
        for name, node in members:
            self._members.append(_PAIR.pack(self._label(name), node))
        return first

    def _label(self, text: str) -> int:
        """Add a text, and return its place."""
        if not isinstance(text, str) or not _is_plain(text):
            raise NotTabled(f"{text}")
        letters = text.encode()
        self._labels.append(_PAIR.pack(len(self._letters), len(letters)))
        self._letters += letters
        return len(self._labels) - 1


def _free_node(inner: int, slot: int, is_watched: bool) -> bytes:
    return _NODE.pack(_ANY_KIND, inner, inner, 0, 0, 0, 0, slot, 0, is_watched, 0, 0.0)


def _is_plain(text: str) -> bool:
    """Tell whether JSON may write a text as it is, without escapes."""
    return text.isascii() and text.isprintable() and '"' not in text and "\\" not in text


def _sayable(path: Path) -> Path:
    """Return the part of a path that tables can say: what lies in a value is watched with it."""
    return tuple(takewhile(_is_plain, path))


def _in_elements(watched: Paths) -> Paths:
    """Return the paths that lead on from each element of an array."""
    return frozenset(path[1:] for path in watched if path)


def _in_member(watched: Paths, name: str) -> Paths:
    """Return the paths that lead on from a member of an object."""
    return frozenset(path[1:] for path in watched if path and path[0] in {name, _EACH})


def _says_nothing(node: Any) -> bool:
    return node is True or (isinstance(node, Mapping) and set(node) <= _ANNOTATIONS)


def _choices_of(node: Any) -> Sequence[Any]:
    return node.get("enum", ()) if isinstance(node, Mapping) else ()


_NO_OBJECT: Final[tuple[int, list[tuple[str, int]], int]] = (_NONE, [], 0)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _is_in(name: str, path: str) -> bool:
    """Tell whether a path leads to a member right below another."""
    return name.rpartition(".")[0] == path != ""


def _kinds(node: Any, path: str) -> list[str]:
    kinds = node.get("type") if isinstance(node, Mapping) else None
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not kinds or not set(kinds) <= _KINDS.keys():
        raise NotTabled(path)
    return list(kinds)


def _merged(node: Schema, path: str) -> Schema:
    """Return alternatives as one schema; no value may fit two, nor a word be in two but `type`."""
    kinds = [kind for branch in node["oneOf"] for kind in _kinds(branch, path)]
    words = [word for branch in node["oneOf"] for word in {*branch} - _ANNOTATIONS - {"type"}]
    if set(node) - _ANNOTATIONS != {"oneOf"} or len(words) != len({*words}):
        raise NotTabled(path)
    if sorted(kinds) != sorted({*kinds} - {"number"}):
        raise NotTabled(path)
    merged: dict[str, Any] = {}
    for branch in node["oneOf"]:
        merged |= branch
    return {**merged, "type": kinds}


def _demands(schema: Schema, discriminator: str) -> Iterator[tuple[str, str, bool]]:
    """Read the conditions: `if` the discriminator has one of some values, `then` what holds.

    Each is a value, a member, and whether it must be there or must not.
    """
    for condition in schema.get("allOf", ()):
        if not isinstance(condition, Mapping) or set(condition) - _ANNOTATIONS != {"if", "then"}:
            raise NotTabled("allOf")
        demanded = list(_demanded(condition["then"], schema["properties"]))
        for value in _values(condition["if"], discriminator):
            for member, is_wanted in demanded:
                yield value, member, is_wanted


def _values(node: Schema, discriminator: str) -> Sequence[str]:
    if not isinstance(node, Mapping) or set(node) != {"properties"}:
        raise NotTabled("if")
    if set(node["properties"]) != {discriminator}:
        raise NotTabled("if")
    (wanted,) = node["properties"].values()
    if not isinstance(wanted, Mapping) or set(wanted) not in ({"const"}, {"enum"}):
        raise NotTabled("if")
    values: Sequence[str] = [wanted["const"]] if "const" in wanted else wanted["enum"]
    return values


def _demanded(node: Schema, known: Schema) -> Iterator[tuple[str, bool]]:
    """Read what `then` demands of members; no accepted row has any that is not known."""
    if not isinstance(node, Mapping) or set(node) - _ANNOTATIONS - {"required", "properties"}:
        raise NotTabled("then")
    present = set()
    for member, inner in node.get("properties", {}).items():
        if member not in known:
            continue
        kind, *more = _kinds(inner, member)
        if more:
            raise NotTabled(member)
        others = set(inner) - _ANNOTATIONS - {"type"}
        if kind == "null" and not others:
            yield member, False
        elif inner.get("not", _NULL) == _NULL and others <= {"not"}:
            if {*_kinds(known[member], member)} - {"null"} != {kind}:
                raise NotTabled("then")
            present.add(member)
            yield member, True
        else:
            raise NotTabled("then")
    if not set(node.get("required", ())) <= present:
        raise NotTabled("then")
