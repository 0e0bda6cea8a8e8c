"""The plain items of a list that arrives in pieces, by the compiled scanner."""

from __future__ import annotations

import ctypes
from array import array
from ctypes import POINTER, Structure, byref, c_char_p, c_uint64, c_void_p
from functools import lru_cache
from typing import Final, NamedTuple

from evalstream.parsing.native.binding import library

MOST_ITEMS: Final = 4096
"""How many items are found in one go."""

_ITEM_WORDS: Final = 4


class ItemPlace(NamedTuple):
    """Where an item begins and ends in a piece; `breaks` counts the line feeds before it.

    `line` is where its line begins, if there is a line feed before it.
    """

    start: int
    stop: int
    breaks: int
    line: int


class _Scan(Structure):
    _fields_ = (
        ("bytes", c_char_p),
        ("size", c_uint64),
        ("at", c_uint64),
        ("breaks", c_uint64),
        ("line", c_uint64),
        ("longest", c_uint64),
        ("is_behind", c_uint64),
        ("items", c_void_p),
        ("most", c_uint64),
    )


class ItemScanner:
    """Finds plain items: objects of strict JSON in UTF-8, with every key once."""

    def __init__(self, loaded: ctypes.CDLL) -> None:
        self._library = loaded
        self._words = array("Q", bytes(8 * _ITEM_WORDS * MOST_ITEMS))
        self._scan = _Scan(items=self._words.buffer_info()[0], most=MOST_ITEMS)

    def scan(self, data: bytes, at: int, longest: int, *, is_behind: bool) -> list[ItemPlace]:
        """Return the plain items at a place, up to one that is not plain or does not end here.

        With `is_behind` a comma is before the first one. Items above `longest` bytes are left.
        """
        scan = self._scan
        scan.bytes, scan.size, scan.at = data, len(data), at
        scan.breaks, scan.line = 0, 0
        scan.longest, scan.is_behind = longest, is_behind
        found: list[ItemPlace] = []
        while count := self._library.scan_items(byref(scan)):
            words = self._words[: _ITEM_WORDS * count].tolist()
            parts = (words[place::_ITEM_WORDS] for place in range(_ITEM_WORDS))
            found += map(ItemPlace._make, zip(*parts, strict=True))
        return found

    @property
    def end(self) -> ItemPlace:
        """The end of the last item, as an empty item."""
        scan = self._scan
        return ItemPlace(scan.at, scan.at, scan.breaks, scan.line)


@lru_cache(maxsize=1)
def item_scanner() -> ItemScanner | None:
    """Return the scanner of this process, None where evalstream was installed without it."""
    loaded = library()
    if loaded is None:
        return None
    loaded.scan_items.restype = c_uint64
    loaded.scan_items.argtypes = (POINTER(_Scan),)
    return ItemScanner(loaded)
