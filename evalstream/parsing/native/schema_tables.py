"""A JSON Schema as the tables that the scanner walks rows by.

Tables say exactly which values a schema accepts: a value that they accept is valid, and one that
deviates from them is not. Where that cannot be decided, the scanner leaves the row to others; and
of a schema with further keywords there are no tables.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any, Final

from evalstream.model.data_class import NamedTuple
from evalstream.parsing.native import schema_keywords

Path = tuple[str, ...]
"""The names of members that lead to a value; `*` stands for each element of an array."""

Paths = frozenset[Path]

_NODE: Final = struct.Struct("@10i8xQd")
NODE_BYTES: Final = _NODE.size
_LABEL: Final = struct.Struct("=2i")
_MEMBER: Final = struct.Struct("=32sI3i")
_MOST_LETTERS: Final = 32
_LAST_MEMBER: Final = _MEMBER.pack(b"", (1 << _MOST_LETTERS) - 1, 0, 0, 0)
"""Stands behind the members of a node: it is never next."""

_BEHIND_LETTERS: Final = bytes(32)
"""The scanner compares so many letters at once, and so reads behind the last one."""

_NONE: Final = -1
MOST_MEMBERS: Final = 64
MOST_NODES: Final = 4096
MOST_LEVELS: Final = 64
"""Bounds for a schema that refers to itself, whose nodes would have no end."""


class Trait:
    """How a node differs from that of a plain value, as bits; see `shape.h`."""

    HAS_LEAST: Final = 1
    WATCHES: Final = 2
    CLOSED: Final = 4
    IS_MAP: Final = 8
    UNKNOWN: Final = 16
    STRICT: Final = 32


_ANY_KIND: Final = 127
_EACH: Final = "*"
_UNDERSTOOD: Final = schema_keywords.ANNOTATIONS | {
    *("type", "properties", "required", "additionalProperties", "items", "enum", "minimum")
}


class Tables(NamedTuple):
    """A schema as packed arrays, and what it demands beyond the shape of values.

    `nodes`, `members`, `labels` and `letters` are those of `shape.h`. `wanted` and `unwanted`
    are sets of slots as bits, by the value of the discriminator: what must be there and not be
    null, and what must be null or absent.
    """

    nodes: bytes
    members: bytes
    labels: bytes
    letters: bytes
    wanted: tuple[int, ...]
    unwanted: tuple[int, ...]


def build_tables(
    schema: schema_keywords.Schema,
    slots: Sequence[str],
    discriminator: schema_keywords.Discriminator,
    aliases: Mapping[str, str],
    *,
    watched: Iterable[Path] = (),
    strict: Iterable[str] = (),
) -> Tables:
    """Return the tables of a schema.

    `slots` are the paths of what is to be kept, and `aliases` says what members of a row are called
    in them. `watched` are values of which the scanner tells that a row holds one. Of the `strict`
    members of a row only null is decided. Raises NotTabled.
    """
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties", {}), Mapping):
        raise schema_keywords.NotTabled("properties")
    conditions = list(schema_keywords.read_conditions(schema, discriminator))
    undecided = {member for _, member, is_wanted in conditions if is_wanted is None}
    properties = {**schema.get("properties", {}), **dict.fromkeys(undecided, _Only.NOTHING)}
    is_closed = schema.get("additionalProperties") is False
    for name in {*strict} - {*schema.get("properties", {})}:
        properties[name] = _Only.NOTHING if is_closed else _Only.NULL
    rest = {key: value for key, value in schema.items() if key != "allOf"}
    builder = _Builder(schema, _named_slots(slots, aliases))
    builder.add({**rest, "properties": properties}, "", frozenset(map(_sayable, watched)))
    wanted = dict.fromkeys(discriminator.values, 0)
    unwanted = dict.fromkeys(discriminator.values, 0)
    for value, member, is_wanted in conditions:
        if is_wanted is None:
            continue
        slot = builder.slot(member)
        if slot == _NONE:
            raise schema_keywords.NotTabled(member)
        (wanted if is_wanted else unwanted)[value] |= 1 << slot
    return builder.tables(tuple(wanted.values()), tuple(unwanted.values()))


def _named_slots(slots: Sequence[str], aliases: Mapping[str, str]) -> dict[str, int]:
    """Return the slots by their paths, in the words of the schema."""
    own = {alias: name for name, alias in aliases.items()}
    named = {}
    for slot, path in enumerate(slots):
        head = path.partition(".")[0].partition("[")[0]
        named[own.get(head, head) + path.removeprefix(head)] = slot
    return named


def _kept_members(slots: Iterable[str]) -> dict[str, list[str]]:
    """Return the members that lead to slots, by the path of the value that has them."""
    kept: dict[str, list[str]] = {"": []}
    for slot in slots:
        path = ""
        for name in slot.split("."):
            bare, *elements = name.split("[]")
            if bare not in kept[path]:
                kept[path].append(bare)
            path = f"{path}.{bare}" if path else bare
            for _ in elements:
                kept.setdefault(path, [])
                path += "[]"
            if slot != path:
                kept.setdefault(path, [])
    return kept


class _Only:
    """Schemas that no document holds: of members that the scanner decides in part."""

    NULL: Final = {"type": "null", "strict": True}
    NOTHING: Final = {"type": [], "strict": True}


class _Builder:
    def __init__(self, schema: schema_keywords.Schema, slots: Mapping[str, int]) -> None:
        self._schema, self._slots = schema, slots
        self._kept = _kept_members(slots)
        self._nodes: list[bytes] = []
        # Nodes without members have those from the first on.
        self._members = [_LAST_MEMBER]
        self._labels: list[bytes] = []
        self._letters = b""
        self._depth = 0

    def slot(self, path: str) -> int:
        """Return the slot of a path, _NONE where it has none."""
        return self._slots.get(path, _NONE)

    def add(self, node: Any, path: str, watched: Paths = frozenset(), traits: int = 0) -> int:
        """Add a schema, and return the place of its node; the paths that are watched lead on."""
        if node is True and not (watched or traits) and not self._is_kept(path):
            return self._free
        place = len(self._nodes)
        if place == MOST_NODES or self._depth == MOST_LEVELS:
            raise schema_keywords.NotTabled(path)
        self._nodes.append(b"")
        self._depth += 1
        self._nodes[place] = self._made(self._follow_reference(node, path), path, watched, traits)
        self._depth -= 1
        return place

    def _made(self, node: Any, path: str, watched: Paths, traits: int) -> bytes:
        if node is True or schema_keywords.says_nothing(node):
            if path not in self._kept and not watched - {()}:
                traits |= Trait.WATCHES if () in watched else 0
                return _free_node(self._free, self.slot(path), traits)
            node = {}
        if not isinstance(node, Mapping) or (path and "$id" in node):
            raise schema_keywords.NotTabled(path)
        if "oneOf" in node:
            node = schema_keywords.merge_alternatives(node, path)
        if node.get("strict") is True and node in (_Only.NULL, _Only.NOTHING):
            traits |= Trait.STRICT
        elif set(node) - _UNDERSTOOD:
            raise schema_keywords.NotTabled(path)
        return self._pack_node(node, path, watched, traits)

    def tables(self, wanted: tuple[int, ...], unwanted: tuple[int, ...]) -> Tables:
        """Return what was added."""
        nodes, members, labels = map(b"".join, (self._nodes, self._members, self._labels))
        letters = self._letters + _BEHIND_LETTERS
        return Tables(nodes, members, labels, letters, wanted, unwanted)

    def _follow_reference(self, node: Any, path: str) -> Any:
        """Follow a reference within the schema, which nothing stands beside."""
        for _ in range(MOST_MEMBERS):
            if not isinstance(node, Mapping) or "$ref" not in node:
                return node
            steps = str(node["$ref"]).split("/")
            if set(node) - schema_keywords.ANNOTATIONS != {"$ref"} or steps[0] != "#":
                break
            node = self._schema
            for step in steps[1:]:
                if not isinstance(node, Mapping) or not _is_plain(step) or {*step} & {*"~%"}:
                    raise schema_keywords.NotTabled(path)
                node = node.get(step)
        raise schema_keywords.NotTabled(path)

    def _pack_node(
        self, node: schema_keywords.Schema, path: str, watched: Paths, traits: int
    ) -> bytes:
        kinds = schema_keywords.read_kinds(node, path)
        # Keywords apply side by side: a string may be wanted, and an object lack what it requires.
        watched_items = frozenset(names[1:] for names in watched if names)
        items = self.add(node.get("items", True), f"{path}[]", watched_items)
        others, members, required, more = self._object(node, path, watched)
        first_member = self._add_members(members)
        choices = schema_keywords.read_choices(node, path)
        if choices:
            kinds &= schema_keywords.KINDS["string"] | (
                schema_keywords.KINDS["null"] if None in node["enum"] else 0
            )
        first_choice = len(self._labels)
        self._labels += [_LABEL.pack(*self._label(choice)) for choice in choices]
        traits |= more | (Trait.WATCHES if () in watched else 0)
        return _pack(
            kinds,
            items,
            others,
            first_member,
            len(members),
            first_choice,
            len(choices),
            self.slot(path),
            traits | (Trait.HAS_LEAST if "minimum" in node else 0),
            required,
            schema_keywords.read_least(node, path),
        )

    def _object(
        self, node: schema_keywords.Schema, path: str, watched: Paths
    ) -> tuple[int, list[tuple[str, int]], int, int]:
        """Return the node of other members, those with their own, which are required, and traits.

        Members that are kept, watched or required have nodes of their own, too.
        """
        properties, required = node.get("properties", {}), node.get("required", ())
        others = node.get("additionalProperties", True)
        if not isinstance(properties, Mapping) or not isinstance(required, (list, tuple)):
            raise schema_keywords.NotTabled(path)
        noticed = sorted({first for first, *_ in watched - {()}} - {_EACH})
        names = dict.fromkeys((*properties, *self._kept.get(path, ()), *required, *noticed))
        if len(names) > MOST_MEMBERS:
            raise schema_keywords.NotTabled(path)
        is_closed, traits = others is False, 0
        if is_closed:
            others, traits = True, Trait.CLOSED
        elif not properties:
            traits = Trait.IS_MAP
        members = []
        for name in names:
            is_known = name in properties or not is_closed
            own = self.add(
                properties.get(name, others),
                _join_path(path, name),
                _in_member(watched, name),
                0 if is_known else Trait.UNKNOWN,
            )
            members.append((name, own))
        bits = sum(1 << place for place, name in enumerate(names) if name in required)
        return self.add(others, f"{path}.*", _in_member(watched, _EACH)), members, bits, traits

    def _is_kept(self, path: str) -> bool:
        """Tell whether a value, or anything in it, has a slot."""
        return path in self._slots or path in self._kept

    @cached_property
    def _free(self) -> int:
        """The node of values of which the schema says nothing, and of all that is in them."""
        place = len(self._nodes)
        self._nodes.append(_free_node(place, _NONE, 0))
        return place

    def _add_members(self, members: Sequence[tuple[str, int]]) -> int:
        first = len(self._members)
        for name, node in members:
            start, length = self._label(name, ', "%s": ')
            letters = self._letters[start:] if length <= _MOST_LETTERS else b""
            bits = (1 << min(length, _MOST_LETTERS)) - 1
            self._members.append(_MEMBER.pack(letters, bits, start, length, node))
        self._members.append(_LAST_MEMBER)
        return first

    def _label(self, text: str, written: str = "%s") -> tuple[int, int]:
        """Add a text as it is `written`; return its place and its length."""
        if not isinstance(text, str) or not text or not _is_plain(text):
            raise schema_keywords.NotTabled(f"{text}")
        letters = (written % text).encode()
        self._letters += letters
        return len(self._letters) - len(letters), len(letters)


def _free_node(inner: int, slot: int, traits: int) -> bytes:
    return _pack(_ANY_KIND, inner, inner, 0, 0, 0, 0, slot, traits, 0, 0.0)


def _pack(kinds: int, *others: Any) -> bytes:
    """Pack a node, and the kinds of values of which nothing but their kind matters."""
    *places, traits, required, least = others
    plain = 0 if traits & (Trait.UNKNOWN | Trait.WATCHES) else kinds
    return _NODE.pack(kinds, *places, traits, plain, required, least)


def _is_plain(text: str) -> bool:
    """Tell whether JSON may write a text as it is, without escapes."""
    return text.isascii() and text.isprintable() and '"' not in text and "\\" not in text


def _sayable(path: Path) -> Path:
    """Return the part of a path that tables can say: what lies in a value is watched with it."""
    return tuple(takewhile(lambda name: name != "" and _is_plain(name), path))


def _in_member(watched: Paths, name: str) -> Paths:
    """Return the paths that lead on from a member of an object."""
    return frozenset(path[1:] for path in watched if path and path[0] in {name, _EACH})


def _join_path(path: str, name: str) -> str:
    """Return the path of a member; nothing in one whose name looks like a path has a slot."""
    if {*name} & {*".[]*"} or path == _NOWHERE:
        return _NOWHERE
    return f"{path}.{name}" if path else name


_NOWHERE: Final = "*"
