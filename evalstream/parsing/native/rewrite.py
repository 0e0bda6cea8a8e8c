"""The compiled rewriter of rows: tables from a tree of places, and its results."""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Iterator, Sequence
from ctypes import POINTER, Structure, byref, c_char_p, c_int32, c_uint64, c_void_p
from functools import lru_cache
from typing import Final, NamedTuple

from evalstream.model.changes import MOST_PLACES, Change
from evalstream.parsing.json_tree import JsonType, encoded
from evalstream.parsing.native.binding import library
from evalstream.parsing.reshape import Action, Place, RowPlace, Test, Watch

MOST_CHANGES: Final = 64
MOST_WATCHES: Final = 64
_NO_PLACE: Final = 0xFFFFFFFF

_PLACE: Final = struct.Struct(f"={len(JsonType)}B{len(JsonType)}BBB2x8I")
_MEMBER: Final = struct.Struct("=6I")
_WATCH: Final = struct.Struct("=3I")
_GROUP: Final = struct.Struct("=Q")
_LEFT: Final = struct.Struct("=4Q")

_TESTS: Final = (Test.PRESENT, Test.NOT_NULL, Test.EQUALS, Test.DIFFERS)
"""The tests in the order of `rewrite.h`."""

_OF_ONE_TYPE: Final = {
    Action.NUMBER: JsonType.BOOLEAN,
    Action.TURN: JsonType.TEXT,
    Action.DIGEST: JsonType.TEXT,
}
"""Actions that are compiled for values of one type alone."""


class LeftLine(NamedTuple):
    """A line that is left to the exact path.

    `number` counts from 1; `start` and `stop` say where it is in what was given, without its
    newline, and `place` where in the rewritten text its row belongs.
    """

    number: int
    start: int
    stop: int
    place: int


class LineChange(NamedTuple):
    """A change: the number of lines it was made in, the first of them, and where the first is."""

    change: Change
    times: int
    lines: tuple[int, ...]
    start: int
    stop: int


class RewrittenLines(NamedTuple):
    """Rewritten lines without those that are left; `rows` counts them."""

    data: bytes
    rows: int
    changes: Sequence[LineChange]
    packed: bytes

    def left(self) -> Iterator[LeftLine]:
        """Iterate over the lines that are left."""
        return map(LeftLine._make, _LEFT.iter_unpack(self.packed))


class NotCompiled(ValueError):
    """A tree of places that only the exact path knows."""


class _Tables(Structure):
    _fields_ = (
        *((name, c_char_p) for name in ("places", "members", "watches", "groups", "texts")),
        *((name, c_uint64) for name in ("place_count", "member_count")),
        *((name, c_uint64) for name in ("watch_count", "group_count")),
    )


class _Count(Structure):
    _fields_ = (
        ("rows", c_uint64),
        ("lines", c_uint64 * MOST_PLACES),
        ("start", c_uint64),
        ("stop", c_uint64),
    )


class _Result(Structure):
    _fields_ = (
        ("text", c_void_p),
        ("size", c_uint64),
        ("rows", c_uint64),
        ("left", c_void_p),
        ("left_count", c_uint64),
        ("changes", _Count * MOST_CHANGES),
    )


class CompiledPlace:
    """Rewrites lines by the places of a row, for one thread at a time. Raises MemoryError."""

    def __init__(self, loaded: ctypes.CDLL, place: RowPlace) -> None:
        compiled = compiled_tables(place)
        self._library, self._changes = loaded, compiled.changes
        # The rewriter points to what the tables hold.
        self._tables = _Tables(*compiled.parts, *compiled.counts)
        self._handle = loaded.new_rewriter(byref(self._tables))
        if not self._handle:
            raise MemoryError
        weakref.finalize(self, loaded.free_rewriter, self._handle).atexit = False

    @classmethod
    def from_place(cls, place: RowPlace) -> CompiledPlace | None:
        """Return the rewriter of a place; None without the library, or if it must be exact."""
        loaded = rewriters()
        if loaded is None:
            return None
        try:
            return cls(loaded, place)
        except NotCompiled:
            return None

    def rewrite(self, data: bytes) -> RewrittenLines:
        """Rewrite whole lines. Raises ValueError if the last one does not end in a newline."""
        if data and not data.endswith(b"\n"):
            raise ValueError("the last line does not end in a newline")
        result = _Result()
        if not self._library.rewrite_lines(self._handle, data, len(data), byref(result)):
            raise MemoryError
        text = ctypes.string_at(result.text, result.size)
        packed = ctypes.string_at(result.left, result.left_count * _LEFT.size)
        return RewrittenLines(text, result.rows, tuple(self._made(result)), packed)

    def _made(self, result: _Result) -> Iterator[LineChange]:
        for change, count in zip(self._changes, result.changes, strict=False):
            if count.rows:
                lines = tuple(count.lines[: count.rows])
                yield LineChange(change, count.rows, lines, count.start, count.stop)


@lru_cache(maxsize=1)
def rewriters() -> ctypes.CDLL | None:
    """Return the library that rewrites rows, None where evalstream was installed without it."""
    loaded = library()
    if loaded is not None:
        loaded.tell_rewriter_sizes.argtypes = (POINTER(c_uint64),)
        loaded.tell_rewriter_sizes.restype = None
        loaded.new_rewriter.argtypes = (POINTER(_Tables),)
        loaded.new_rewriter.restype = c_void_p
        loaded.free_rewriter.argtypes = (c_void_p,)
        loaded.free_rewriter.restype = None
        loaded.rewrite_lines.argtypes = c_void_p, c_char_p, c_uint64, POINTER(_Result)
        loaded.rewrite_lines.restype = c_int32
        sizes = (c_uint64 * len(_SIZES))()
        loaded.tell_rewriter_sizes(sizes)
        if tuple(sizes) != _SIZES:
            return None
    return loaded


_SIZES: Final = (
    *(layout.size for layout in (_PLACE, _MEMBER, _WATCH)),
    ctypes.sizeof(_Tables),
    ctypes.sizeof(_Result),
)
"""The sizes of what both sides must lay out alike."""


class PlaceTables(NamedTuple):
    """The tables of `rewrite.h`: places, members, watches, groups and texts; and the changes.

    A change has its number by its place among the others.
    """

    parts: tuple[bytes, bytes, bytes, bytes, bytes]
    changes: tuple[Change, ...]

    @property
    def counts(self) -> Iterator[int]:
        """How many places, members, watches and groups there are."""
        sizes = (layout.size for layout in (_PLACE, _MEMBER, _WATCH, _GROUP))
        return (len(part) // size for part, size in zip(self.parts, sizes, strict=False))


def compiled_tables(place: RowPlace) -> PlaceTables:
    """Return the tables of a row's places. Raises NotCompiled."""
    return _Compiler(place).tables()


class _Compiler:
    """Makes tables from the places of a row. Raises NotCompiled."""

    def __init__(self, row: RowPlace) -> None:
        self.changes: dict[Change, int] = {}
        self._texts = bytearray()
        self._places: list[bytes] = []
        self._members: list[bytes] = []
        self._watches = sorted({watch for group in row.exact for watch in group}, key=_by_name)
        if len(self._watches) > MOST_WATCHES:
            raise NotCompiled("too many watches")
        if row.place.actions.get(JsonType.OBJECT, Action.KEEP) is not Action.KEEP:
            raise NotCompiled("a row as a whole is changed")
        self._groups = [sum(1 << self._watches.index(one) for one in set(g)) for g in row.exact]
        self._add_place(row.place, watched=True)

    def tables(self) -> PlaceTables:
        """Return the tables."""
        watches = b"".join(
            _WATCH.pack(_TESTS.index(watch.test), *self._text(watch.text))
            for watch in self._watches
        )
        groups = b"".join(map(_GROUP.pack, self._groups))
        parts = b"".join(self._places), b"".join(self._members), watches, groups
        return PlaceTables((*parts, bytes(self._texts)), tuple(self.changes))

    def _add_place(self, place: Place, *, watched: bool = False) -> int:
        """Add a place and what is within it; return its number."""
        number = len(self._places)
        self._places.append(b"")
        others = self._inner(place.others)
        items = _NO_PLACE if place.items is None else self._add_item(place.items)
        members = [(name, self._add_place(inner), True) for name, inner in place.members.items()]
        names = dict.fromkeys(watch.name for watch in self._watches if watched)
        members += [(name, others, False) for name in names if name not in place.members]
        first = len(self._members)
        for name, inner, is_known in members:
            span = self._watches_of(name) if watched else (0, 0)
            self._members.append(_MEMBER.pack(*self._text(name), inner, is_known, *span))
        actions = [place.actions.get(kind, Action.KEEP) for kind in JsonType]
        self._places[number] = _PLACE.pack(
            *actions,
            *(self._change(place, *one) for one in zip(JsonType, actions, strict=True)),
            0 if place.name is None else self._bit(place.renaming),
            place.closed,
            others,
            items,
            first,
            len(members),
            *self._text("" if place.name is None else _ascii_name(place.name)),
            *self._text(place.constant or ""),
        )
        return number

    def _inner(self, place: Place | None) -> int:
        return _NO_PLACE if place is None else self._add_place(place)

    def _add_item(self, place: Place) -> int:
        if Action.DROP in place.actions.values():
            raise NotCompiled("items are not dropped")
        return self._add_place(place)

    def _watches_of(self, name: str) -> tuple[int, int]:
        """Return the first watch of a member and their number; they follow each other."""
        numbers = [at for at, watch in enumerate(self._watches) if watch.name == name]
        return (numbers[0] if numbers else 0), len(numbers)

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
        """Add a text; return where it starts and its size in bytes."""
        try:
            written = text.encode()
        except UnicodeEncodeError as error:
            raise NotCompiled("a text with half of a surrogate pair") from error
        start = len(self._texts)
        self._texts += written
        return start, len(written)


def _by_name(watch: Watch) -> tuple[str, int, str]:
    return watch.name, _TESTS.index(watch.test), watch.text


def _ascii_name(name: str) -> str:
    """Return a new name as JSON text, which must be the same in any row."""
    if not name.isascii():
        raise NotCompiled("a new name beyond ASCII")
    return encoded(name, ascii_only=True)
