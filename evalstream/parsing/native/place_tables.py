"""Compiles the places of a row into the tables of `rewrite.h`."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Final, NamedTuple

from evalstream.model.changes import Change
from evalstream.parsing.json_tree import JsonType, encode_string
from evalstream.parsing.reshape import Action, Place, Probe, RowPlace, Test

MOST_CHANGES: Final = 64
MOST_WATCHES: Final = 64
_NO_PLACE: Final = 0xFFFFFFFF

_PLACE: Final = struct.Struct(f"={len(JsonType)}B{len(JsonType)}B4B8I")
_MEMBER: Final = struct.Struct("=6I")
_WATCH: Final = struct.Struct("=3I")
_GROUP: Final = struct.Struct("=Q")
LAYOUTS: Final = _PLACE, _MEMBER, _WATCH, _GROUP
"""The layouts of a place, a member, a watch and a group."""

_TYPES: Final = (*JsonType,)
_NONE: Final = (0,) * len(_TYPES)

_TESTS: Final = (Test.PRESENT, Test.NOT_NULL, Test.UNSET, Test.EQUALS, Test.DIFFERS)
"""The tests in the order of `rewrite.h`."""

_OF_ONE_TYPE: Final = {
    Action.NUMBER: JsonType.BOOLEAN,
    Action.TURN: JsonType.TEXT,
    Action.DIGEST: JsonType.TEXT,
}
"""Actions that are compiled for values of one type alone."""


class NotCompiled(ValueError):
    """A tree of places that only the exact path knows."""


class PlaceTables(NamedTuple):
    """The tables of `rewrite.h`: places, members, watches, groups and texts; and the changes.

    A change has its number by its place among the others.
    """

    parts: tuple[bytes, bytes, bytes, bytes, bytes]
    changes: tuple[Change, ...]

    @property
    def counts(self) -> Iterator[int]:
        """How many places, members, watches and groups there are."""
        pairs = zip(self.parts, LAYOUTS, strict=False)
        return (len(part) // layout.size for part, layout in pairs)


def compiled_tables(place: RowPlace) -> PlaceTables:
    """Return the tables of a row's places. Raises NotCompiled."""
    shared = None if place.shared is None else _compile_tables(_Same(place.shared))
    return _Compiler(place, shared).tables()


class _Same:
    """A place that equals only itself."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.place is self.place

    def __hash__(self) -> int:
        return id(self.place)


@lru_cache(maxsize=16)
def _compile_tables(shared: _Same) -> _Compiler:
    return _Compiler(RowPlace(shared.place))


class _Compiler:
    """Makes tables from the places of a row. Raises NotCompiled.

    It goes on from the tables of a `shared` place, some of whose members are those of the row.
    """

    def __init__(self, row: RowPlace, shared: _Compiler | None = None) -> None:
        self.changes: dict[Change, int] = {} if shared is None else shared.changes.copy()
        self.texts: bytearray = bytearray() if shared is None else shared.texts.copy()
        self.spans: dict[str, tuple[int, int]] = {} if shared is None else shared.spans.copy()
        self.places: list[bytes] = [b""] if shared is None else shared.places.copy()
        self.members: list[bytes] = [] if shared is None else shared.members.copy()
        self.numbers: dict[int, int] = {} if shared is None else shared.numbers
        self._watches = sorted({watch for group in row.exact for watch in group}, key=_by_name)
        if len(self._watches) > MOST_WATCHES:
            raise NotCompiled("too many watches")
        if row.place.actions.get(JsonType.OBJECT, Action.KEEP) is not Action.KEEP:
            raise NotCompiled("a row as a whole is changed")
        bits = {watch: 1 << number for number, watch in enumerate(self._watches)}
        self._groups = [sum(map(bits.__getitem__, set(group))) for group in row.exact]
        self.numbers = self._fill(0, row.place, watched=True)

    def tables(self) -> PlaceTables:
        """Return the tables."""
        watches = b"".join(
            _WATCH.pack(_TESTS.index(watch.test), *self._text(watch.text))
            for watch in self._watches
        )
        groups = b"".join(map(_GROUP.pack, self._groups))
        parts = b"".join(self.places), b"".join(self.members), watches, groups
        return PlaceTables((*parts, bytes(self.texts)), tuple(self.changes))

    def _add_place(self, place: Place) -> int:
        """Add a place and what is within it; return its number."""
        number = len(self.places)
        self.places.append(b"")
        self._fill(number, place)
        return number

    def _fill(self, number: int, place: Place, *, watched: bool = False) -> dict[int, int]:
        """Fill in a place and add what is within it; return the numbers of members by identity."""
        others = self._inner(place.others)
        items = _NO_PLACE if place.items is None else self._add_item(place.items)
        numbers: dict[int, int] = {}
        for inner in place.members.values():
            known = self.numbers.get(id(inner)) if watched else None
            numbers[id(inner)] = self._add_place(inner) if known is None else known
        members = [(name, numbers[id(inner)], True) for name, inner in place.members.items()]
        spans = self._watched_names() if watched else {}
        members += [(name, others, False) for name in spans if name not in place.members]
        first = len(self.members)
        for name, of_member, is_known in members:
            span = spans.get(name, (0, 0))
            self.members.append(_MEMBER.pack(*self._text(name), of_member, is_known, *span))
        actions = [place.actions.get(kind, Action.KEEP) for kind in _TYPES]
        changes = map(partial(self._change, place), _TYPES, actions) if place.actions else _NONE
        if place.keeps is not None and (place.constant or not place.keeps.isascii()):
            raise NotCompiled("a kept value beside a constant, or of a name beyond ASCII")
        self.places[number] = _PLACE.pack(
            *actions,
            *changes,
            0 if place.name is None else self._bit(place.renaming),
            place.closed,
            place.is_kept,
            place.keeps is not None,
            others,
            items,
            first,
            len(members),
            *self._text("" if place.name is None else _ascii_name(place.name)),
            *self._text(place.constant or place.keeps or ""),
        )
        return numbers

    def _inner(self, place: Place | None) -> int:
        return _NO_PLACE if place is None else self._add_place(place)

    def _add_item(self, place: Place) -> int:
        if Action.DROP in place.actions.values():
            raise NotCompiled("items are not dropped")
        return self._add_place(place)

    def _watched_names(self) -> dict[str, tuple[int, int]]:
        """Return the first watch of each member and their number; they follow each other."""
        spans: dict[str, tuple[int, int]] = {}
        for number, watch in enumerate(self._watches):
            first, count = spans.get(watch.name, (number, 0))
            spans[watch.name] = first, count + 1
        return spans

    def _change(self, place: Place, kind: JsonType, action: Action) -> int:
        """Return the number of the change that an action is, 0 for none."""
        if action is Action.KEEP:
            return 0
        if kind is not _OF_ONE_TYPE.get(action, kind):
            raise NotCompiled(f"{action.name} of another type")
        if action is Action.SET and (not place.constant or place.kind is None):
            raise NotCompiled("SET without a constant")
        return self._bit(place.change(action))

    def _bit(self, change: Change) -> int:
        number = self.changes.setdefault(change, len(self.changes))
        if number >= MOST_CHANGES:
            raise NotCompiled("too many changes")
        return number

    def _text(self, text: str) -> tuple[int, int]:
        """Add a text once; return where it starts and its size in bytes."""
        span = self.spans.get(text)
        if span is None:
            try:
                written = text.encode()
            except UnicodeEncodeError as error:
                raise NotCompiled("a text with half of a surrogate pair") from error
            span = self.spans[text] = len(self.texts), len(written)
            self.texts += written
        return span


def _by_name(watch: Probe) -> tuple[str, int, str]:
    return watch.name, _TESTS.index(watch.test), watch.text


def _ascii_name(name: str) -> str:
    """Return a new name as JSON text, which must be the same in any row."""
    if not name.isascii():
        raise NotCompiled("a new name beyond ASCII")
    return encode_string(name, ascii_only=True)
