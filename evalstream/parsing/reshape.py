"""Reshape a JSON value by a tree of places, each with what to do with values of each JSON type.

This is the exact path of `fix` and `migrate`; the compiled row rewriter does the same, faster.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum, StrEnum
from typing import Final

from evalstream.model.changes import (
    DIGEST,
    NULL_DROPPED,
    RENAMED,
    TO_LIST,
    TO_NUMBER,
    TO_TEXT,
    Applied,
    Change,
    ChangeKind,
    Example,
)
from evalstream.model.data_class import DataClass, NamedTuple, field
from evalstream.model.text import is_hex_digest, normalise_digest
from evalstream.parsing.json import pointer
from evalstream.parsing.json_tree import JsonType, Node, Splices, compact, decode_string, quote_text


class Action(IntEnum):
    """The change of a value.

    DROP drops its member. LIST makes it the only item of a list. TEXT makes a string of it: the
    spelling of a number, true, false or null, or the JSON text of a list or an object without white
    space. NUMBER makes 1 of true and 0 of false. SET puts the constant of the place there unless
    it is the value already, in any spelling. TURN replaces the name of the transcript at the start
    of a text. DIGEST writes a digest in lower case without a prefix.
    """

    KEEP = 0
    DROP = 1
    LIST = 2
    TEXT = 3
    NUMBER = 4
    SET = 5
    TURN = 6
    DIGEST = 7


class Place(DataClass, frozen=True):
    """The change of the value at a place, and of those within it.

    `pointer` is that of the place, with `*` for any index or name. `actions` has an action for some
    JSON types; values of the others are kept, and reshaped within. `members` are the places of
    members by name, `others` that of all other members, `items` that of the items of a list. `name`
    is the new name of the member. `constant` is the JSON text of SET, and `kind` the kind of change
    that SET and a new name are. An object with `closed` may have no other members: the compiled
    rewriter leaves such rows to the exact path, whose caller sees to these members. A text
    at a place that `is_kept` stays in the row where SET replaces it: as a member of the object that
    `keeps` it under a name, a JSON text. `reshape` leaves that to its caller. A place equals itself
    alone.
    """

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    pointer: str = ""
    actions: Mapping[JsonType, Action] = field(default_factory=dict)
    members: Mapping[str, Place] = field(default_factory=dict)
    others: Place | None = None
    items: Place | None = None
    name: str | None = None
    constant: str | None = None
    kind: ChangeKind | None = None
    closed: bool = False
    is_kept: bool = False
    keeps: str | None = None

    def change(self, action: Action) -> Change:
        """Return the change that an action of this place is."""
        made = REPLACEMENTS.get(action)
        others = {Action.SET: self.kind, Action.DROP: NULL_DROPPED}
        kind = others.get(action) if made is None else made.kind
        if kind is None:
            raise ValueError(f"{self.pointer}: {action.name} makes no change")
        return Change(kind, self.pointer)

    @property
    def renaming(self) -> Change:
        """The change that its new name is."""
        return Change(RENAMED, self.pointer)


class Test(StrEnum):
    """A test of a member of a row; DIFFERS holds for a value of any other type, and for none."""

    PRESENT = "present"
    NOT_NULL = "not null"
    UNSET = "unset"
    EQUALS = "equals"
    DIFFERS = "differs"


class Probe(NamedTuple):
    """A test of a member of the outermost object.

    `text` is what EQUALS and DIFFERS compare with; where the value is written with escapes, the
    test may come out either way, and the exact path takes the row.
    """

    name: str
    test: Test
    text: str = ""


class RowPlace(NamedTuple):
    """The place of a row, and the rows that only the exact path takes.

    The compiled rewriter leaves a row where all watches of one group are true. `base` has members
    that the places of other runs have, too: their tables are kept.
    """

    place: Place
    exact: tuple[tuple[Probe, ...], ...] = ()
    base: Place | None = None


TRANSCRIPT_TURN: Final = '"interactions['
RENAMED_TURN: Final = '"messages['
"""The beginning of a written text that TURN replaces, and its replacement."""


def reshape(splices: Splices, place: Place) -> list[Applied]:
    """Reshape a text, and return its changes in order, without members dropped before."""
    return list(_reshape_node(splices, splices.tree, place, ()))


def _reshape_node(
    splices: Splices, node: Node, place: Place, path: tuple[str | int, ...]
) -> Iterator[Applied]:
    action = place.actions.get(node.type, Action.KEEP)
    if action is not Action.KEEP:
        text = _replacement(splices, node, place, action)
        if text is not None:
            splices.replace(node, text)
            example = Example(pointer(path), splices.of(node), text)
            yield Applied(place.change(action), example)
        return
    if node.type is JsonType.OBJECT:
        yield from _members(splices, node, place, path)
    elif place.items is not None:
        for index, item in enumerate(node.items):
            yield from _reshape_node(splices, item, place.items, (*path, index))


def _members(
    splices: Splices, node: Node, place: Place, path: tuple[str | int, ...]
) -> Iterator[Applied]:
    for member in node.members:
        inner = place.members.get(member.name, place.others)
        if inner is None or splices.is_dropped(node, member.name):
            continue
        where = (*path, member.name)
        if inner.actions.get(member.value.type) is Action.DROP:
            splices.drop(node, member.name)
            example = Example(pointer(where), splices.of(member.value), None)
            yield Applied(inner.change(Action.DROP), example)
            continue
        if inner.name is not None:
            splices.rename(member, inner.name)
            example = Example(pointer(where), f'"{member.name}"', f'"{inner.name}"')
            yield Applied(inner.renaming, example)
        yield from _reshape_node(splices, member.value, inner, where)


def _replacement(splices: Splices, node: Node, place: Place, action: Action) -> str | None:
    """Return what an action makes of a value, None if the value stays."""
    if action is Action.SET:
        return None if _is_equal(splices.of(node), node, place.constant) else place.constant
    return REPLACEMENTS[action].write(splices, node)


def _is_equal(written: str, node: Node, constant: str | None) -> bool:
    """Tell whether a value is a constant; strings may be written with other escapes."""
    if written == constant or constant is None:
        return True
    both = node.type is JsonType.TEXT and constant.startswith('"')
    return both and bool(json.loads(written) == json.loads(constant))


def _rename_turn(splices: Splices, node: Node) -> str | None:
    written = splices.of(node)
    is_turn = written.startswith(TRANSCRIPT_TURN)
    return RENAMED_TURN + written.removeprefix(TRANSCRIPT_TURN) if is_turn else None


def _write_digest(splices: Splices, node: Node) -> str | None:
    given = decode_string(splices.text, node)
    digest = normalise_digest(given)
    return f'"{digest}"' if digest != given and is_hex_digest(digest) else None


class Replacement(NamedTuple):
    """The kind of change that an action is, and what writes the new text; None if a value stays."""

    kind: ChangeKind
    write: Callable[[Splices, Node], str | None]


REPLACEMENTS: Final[Mapping[Action, Replacement]] = {
    Action.LIST: Replacement(TO_LIST, lambda splices, node: f"[{splices.of(node)}]"),
    Action.TEXT: Replacement(
        TO_TEXT, lambda splices, node: quote_text(compact(splices.text, node))
    ),
    Action.NUMBER: Replacement(
        TO_NUMBER, lambda splices, node: "1" if splices.of(node) == "true" else "0"
    ),
    Action.TURN: Replacement(RENAMED, _rename_turn),
    Action.DIGEST: Replacement(DIGEST, _write_digest),
}
"""The actions that make another value of one; SET does so by its place."""
