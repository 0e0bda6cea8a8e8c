"""The plain items of a list that arrives in pieces, by the compiled scanner."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Mapping, Sequence
from ctypes import POINTER, Structure, byref, c_bool, c_char_p, c_uint32, c_uint64, c_void_p
from typing import Any, Final

from evalstream.parsing.array_elements import Piece, PieceEnd
from evalstream.parsing.native.binding import library

MOST_ITEMS: Final = 4096
"""How many items are found in one go."""

KeptMembers = Mapping[str, "KeptMembers | None"]
"""Members of an object, or of the objects of a list, that are kept: whole, or some of theirs."""


ItemPlace = tuple[int, int, int, int | None, int, int, int]
"""Where an item begins and ends in a piece, its line, its column (None if bytes do not tell it).

Of an entry of HELM also its form, and where its id begins and ends.
"""

_ITEM_WORDS: Final = 7


class ItemScan(Structure):
    """A piece of a list; see `items.h`."""

    _fields_ = (
        ("bytes", c_char_p),
        *((name, c_uint64) for name in ("size", "at", "offset", "line", "line_start", "wide")),
        *((name, c_uint64) for name in ("behind", "longest", "is_behind")),
        ("items", c_void_p),
        ("most", c_uint64),
    )


class _Kept(Structure):
    _fields_ = tuple((name, c_uint32) for name in ("start", "length", "first", "count"))


class _Keep(Structure):
    _fields_ = (
        *(("letters", c_char_p), ("members", c_void_p), ("data", c_void_p)),
        *(("size", c_uint64), ("capacity", c_uint64), ("full", c_bool)),
    )


class ItemScanner:
    """Finds plain items: objects of strict JSON in UTF-8, with every key once.

    What takes the items overrides `take_items`, which calls functions of the library.
    """

    def __init__(self, loaded: ctypes.CDLL) -> None:
        self.library = loaded
        self._words = array("Q", bytes(8 * _ITEM_WORDS * MOST_ITEMS))
        self.scan = ItemScan(items=self._words.buffer_info()[0])

    def take(self, piece: Piece) -> PieceEnd:
        """Take the items that come first, and return where the others begin."""
        scan = self.scan
        scan.bytes, scan.size, scan.at = piece.data, len(piece.data), piece.at
        scan.offset, scan.line, scan.line_start = piece.offset, piece.line, piece.line_start
        scan.wide = (1 << 64) - 1 if piece.wide is None else piece.wide
        scan.behind, scan.longest, scan.is_behind = piece.behind, piece.longest, piece.is_behind
        self.take_items(piece)
        return PieceEnd(scan.at, scan.line, scan.line_start)

    def take_items(self, piece: Piece) -> None:
        """Take items of a piece."""
        raise NotImplementedError

    def list_items(self, count: int) -> list[ItemPlace]:
        """Return where the first items stand that were found last."""
        words = self._words[: _ITEM_WORDS * count].tolist()
        parts = (words[place::_ITEM_WORDS] for place in range(_ITEM_WORDS))
        starts, stops, lines, shown, *others = parts
        columns = [column or None for column in shown]
        return list(zip(starts, stops, lines, columns, *others, strict=True))


class KeepingScanner(ItemScanner):
    """Passes on some members of plain items, as the JSON of a list, and where the items stand."""

    def __init__(
        self,
        loaded: ctypes.CDLL,
        kept: KeptMembers,
        pass_on: Callable[[Piece, Sequence[ItemPlace], bytes], None],
    ) -> None:
        super().__init__(loaded)
        self._pass_on = pass_on
        letters, members = _make_kept(kept)
        self._members = (_Kept * len(members))(*members)
        self._keep = _Keep(letters, ctypes.addressof(self._members))
        self._room = ctypes.create_string_buffer(1)

    def take_items(self, piece: Piece) -> None:
        """Pass on the items of a piece."""
        keep, self.scan.most = self._keep, MOST_ITEMS
        # What is kept is no longer than what was there, but for the comma behind the last item.
        if len(self._room) <= len(piece.data):
            self._room = ctypes.create_string_buffer(2 * len(piece.data))
        address, keep.capacity = ctypes.addressof(self._room), len(self._room)
        keep.data, keep.size, keep.full = address, 0, False
        while count := self.library.scan_items(byref(self.scan), byref(keep)):
            text = ctypes.string_at(address, keep.size - 1)
            self._pass_on(piece, self.list_items(count), b"[%b]" % text)
            keep.size = 0


def _make_kept(kept: KeptMembers) -> tuple[bytes, list[_Kept]]:
    """Return the names of members, and the members as a tree in a list."""
    letters, members, waiting = b"", [_Kept(0, 0, 1, len(kept))], [kept]
    number = 1 + len(kept)
    for one in waiting:
        for name, inner in one.items():
            members.append(_Kept(len(letters), len(name), number, len(inner or ())))
            letters += name.encode()
            number += len(inner or ())
        waiting += [inner for inner in one.values() if inner]
    return letters, members


def item_library() -> Any:
    """Return the library that finds items, None where evalstream was installed without it."""
    loaded = library()
    if loaded is not None:
        loaded.scan_items.restype = c_uint64
        loaded.scan_items.argtypes = (POINTER(ItemScan), POINTER(_Keep))
    return loaded
