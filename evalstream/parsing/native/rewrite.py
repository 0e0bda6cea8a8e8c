"""The compiled rewriter of rows: lines in, rewritten lines and changes out."""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Iterator, Mapping, Sequence
from ctypes import Structure, byref, c_char_p, c_uint64, c_void_p
from functools import lru_cache, partial
from typing import Final

from evalstream.model.changes import MOST_PLACES, Change
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json_tree import JsonType, encode_string
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.parsing.native.binding import library
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

_LEFT: Final = struct.Struct("=4Q")
_ODD_LINE: Final = LazyPattern(rb"\n[ \t\n]")


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
    base = _Compiler() if place.base is None else _compile_base(place.base)
    return base.copy().tables(place)


@lru_cache(maxsize=8)
def _compile_base(base: Place) -> _Compiler:
    """Compile what is within a place that rows of many runs share. Raises NotCompiled."""
    compiler = _Compiler()
    for place in base.members.values():
        compiler.known[place] = compiler.add_place(place)
    return compiler


class _Compiler:
    """Makes tables from the places of a row. Raises NotCompiled."""

    def __init__(self) -> None:
        self.changes: dict[Change, int] = {}
        self.texts = bytearray()
        self.spans: dict[str, tuple[int, int]] = {}
        # The first place is that of rows, which comes last.
        self.places = [b""]
        self.members: list[bytes] = []
        self.known: dict[Place, int] = {}

    def copy(self) -> _Compiler:
        """Return the same tables, to which others can be added."""
        copy = _Compiler()
        for name, part in vars(self).items():
            setattr(copy, name, part.copy())
        return copy

    def tables(self, row: RowPlace) -> PlaceTables:
        """Return the tables of a row."""
        watches = sorted({watch for group in row.exact for watch in group}, key=_by_name)
        if len(watches) > MOST_WATCHES:
            raise NotCompiled("too many watches")
        if row.place.actions.get(JsonType.OBJECT, Action.KEEP) is not Action.KEEP:
            raise NotCompiled("a row as a whole is changed")
        bits = {watch: 1 << number for number, watch in enumerate(watches)}
        groups = (_GROUP.pack(sum(map(bits.__getitem__, set(group)))) for group in row.exact)
        self._fill_place(0, row.place, _watched_names(watches))
        written = (
            _WATCH.pack(_TESTS.index(watch.test), *self._text(watch.text)) for watch in watches
        )
        parts = b"".join(self.places), b"".join(self.members), b"".join(written), b"".join(groups)
        return PlaceTables((*parts, bytes(self.texts)), tuple(self.changes))

    def add_place(self, place: Place) -> int:
        """Add a place and what is within it; return its number."""
        number = self.known.get(place)
        if number is None:
            number = len(self.places)
            self.places.append(b"")
            self._fill_place(number, place, {})
        return number

    def _fill_place(self, number: int, place: Place, spans: Mapping[str, tuple[int, int]]) -> None:
        """Write a place, some of whose members are watched, and what is within it."""
        others = self._inner(place.others)
        items = _NO_PLACE if place.items is None else self._add_item(place.items)
        members = [(name, self.add_place(one), True) for name, one in place.members.items()]
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

    def _inner(self, place: Place | None) -> int:
        return _NO_PLACE if place is None else self.add_place(place)

    def _add_item(self, place: Place) -> int:
        if Action.DROP in place.actions.values():
            raise NotCompiled("items are not dropped")
        return self.add_place(place)

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


def _watched_names(watches: Sequence[Probe]) -> dict[str, tuple[int, int]]:
    """Return the first watch of each member and their number; they follow each other."""
    spans: dict[str, tuple[int, int]] = {}
    for number, watch in enumerate(watches):
        first, count = spans.get(watch.name, (number, 0))
        spans[watch.name] = first, count + 1
    return spans


def _by_name(watch: Probe) -> tuple[str, int, str]:
    return watch.name, _TESTS.index(watch.test), watch.text


def _ascii_name(name: str) -> str:
    """Return a new name as JSON text, which must be the same in any row."""
    if not name.isascii():
        raise NotCompiled("a new name beyond ASCII")
    return encode_string(name, ascii_only=True)


class LeftLine(NamedTuple):
    """A line for the exact path.

    `number` counts from 1; `start` and `stop` say where it is in what was given, without its
    newline, and `place` where in the rewritten text its row belongs.
    """

    number: int
    start: int
    stop: int
    place: int


class LineChange(NamedTuple):
    """A change: the number of lines it was made in, and the first of them.

    `order` is its place among the changes of the first line, which is at `start`.
    """

    change: Change
    times: int
    lines: tuple[int, ...]
    order: int
    start: int
    stop: int


class RewrittenLines(NamedTuple):
    """Rewritten lines without those for the exact path; `rows` counts them."""

    data: bytes
    rows: int
    changes: Sequence[LineChange]
    packed: bytes

    def left(self) -> Iterator[LeftLine]:
        """Iterate over the lines for the exact path."""
        return map(LeftLine._make, _LEFT.iter_unpack(self.packed))


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
        ("order", c_uint64),
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
    """Rewrites lines by the places of a row, in any thread. Raises MemoryError."""

    def __init__(self, loaded: ctypes.CDLL, place: RowPlace) -> None:
        compiled = compiled_tables(place)
        self._library, self._changes = loaded, compiled.changes
        # The rewriter points to what the tables hold.
        self._tables = _Tables(*compiled.parts, *compiled.counts)
        self._idle: list[int] = []
        self._idle.append(self._new())

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
        try:
            handle = self._idle.pop()
        except IndexError:
            handle = self._new()
        result = _Result()
        if not self._library.rewrite_lines(handle, data, len(data), byref(result)):
            raise MemoryError
        text = ctypes.string_at(result.text, result.size)
        packed = ctypes.string_at(result.left, result.left_count * _LEFT.size)
        self._idle.append(handle)
        return RewrittenLines(text, result.rows, tuple(self._made(result)), packed)

    def _new(self) -> int:
        """Make a rewriter in C, which serves one thread at a time."""
        handle: int | None = self._library.new_rewriter(byref(self._tables))
        if not handle:
            raise MemoryError
        # Daemon threads may still use it when the process ends.
        weakref.finalize(self, self._library.free_rewriter, handle).atexit = False
        return handle

    def _made(self, result: _Result) -> Iterator[LineChange]:
        for change, count in zip(self._changes, result.changes, strict=False):
            if count.rows:
                lines = tuple(count.lines[: count.rows])
                yield LineChange(change, count.rows, lines, count.order, count.start, count.stop)


def count_lines(data: bytes) -> int:
    """Return the number of newlines, which `bytes.count` looks for byte by byte."""
    loaded = rewriters()
    return data.count(b"\n") if loaded is None else int(loaded.count_newlines(data, len(data)))


def are_plain_lines(data: bytes) -> bool:
    """Tell whether all lines end in a newline alone, and none begins like a blank one."""
    loaded = rewriters()
    if loaded is not None:
        return bool(loaded.are_plain_lines(data, len(data)))
    ends = data.endswith(b"\n") and b"\r" not in data
    return not data or (ends and data[0] not in b" \t\n" and not _ODD_LINE.search(data))


@lru_cache(maxsize=1)
def rewriters() -> ctypes.CDLL | None:
    """Return the library that rewrites rows, None where evalstream was installed without it."""
    loaded = library()
    if loaded is not None:
        sizes = (c_uint64 * len(_SIZES))()
        loaded.tell_rewriter_sizes(sizes)
        if tuple(sizes) != _SIZES:
            return None
    return loaded


_SIZES: Final = (
    *(layout.size for layout in LAYOUTS[:-1]),
    ctypes.sizeof(_Tables),
    ctypes.sizeof(_Result),
)
"""The sizes of what both sides must lay out alike."""
