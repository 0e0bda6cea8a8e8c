"""The items of a list that arrives in pieces, plain or written alike, by the compiled scanner."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from ctypes import Structure, byref, c_bool, c_char_p, c_double, c_uint32, c_uint64, c_void_p
from itertools import accumulate
from typing import Any, Final

from evalstream.parsing.array_elements import Piece, PieceEnd

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


MOST_FORMS: Final = 256
"""Most ways of writing entries that are known at once."""

_MOST_VALUES: Final = 1 << 16


class _Form(Structure):
    _fields_ = (
        ("letters", c_char_p),
        ("ends", c_void_p),
        ("texts", c_uint64),
        ("values", c_uint64),
    )


class _Forms(Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("forms", "next")),
        *(("count", c_uint64), ("last", c_uint64), ("values", c_void_p)),
        *(("used", c_uint64), ("most", c_uint64)),
    )


class _Sums(Structure):
    _fields_ = tuple((name, c_void_p) for name in ("entries", "values", "sum", "largest"))


class EntryScanner(ItemScanner):
    """Passes on entries that are written like one that was added, and one by one other plain ones.

    Those that are alike come with the values of all of them.
    """

    def __init__(
        self,
        loaded: Any,
        take_alike: Callable[[Piece, Sequence[ItemPlace], array[float]], None],
        take_plain: Callable[[Piece, ItemPlace], None],
    ) -> None:
        super().__init__(loaded)
        self._take_alike, self._take_plain = take_alike, take_plain
        self._texts: list[tuple[bytes, array[int]]] = []
        self._forms, self._next = (_Form * MOST_FORMS)(), array("I", bytes(4 * MOST_FORMS))
        self._values = (c_double * _MOST_VALUES)()
        self._found = _Forms(
            *(ctypes.addressof(self._forms), self._next.buffer_info()[0], 0, 0),
            *(ctypes.addressof(self._values), 0, _MOST_VALUES),
        )

    def add_form(self, texts: Sequence[bytes], values: int) -> bool:
        """Add a form: texts, with an id behind the first and figures behind the others.

        Return False where there are too many.
        """
        number = self._found.count
        if number == MOST_FORMS or values > _MOST_VALUES:
            return False
        letters, ends = b"".join(texts), array("I", accumulate(map(len, texts)))
        self._texts.append((letters, ends))
        self._forms[number] = _Form(letters, ends.buffer_info()[0], len(texts), values)
        self._found.count += 1
        return True

    def take_items(self, piece: Piece) -> None:
        """Pass on the entries of a piece."""
        scan, found, is_plain = self.scan, self._found, True
        while is_plain:
            scan.most, found.used = MOST_ITEMS, 0
            while number := self.library.scan_entries(byref(scan), byref(found)):
                values = array("d", ctypes.string_at(self._values, 8 * found.used))
                self._take_alike(piece, self.list_items(number), values)
                found.used = 0
            scan.most = 1
            is_plain = bool(self.library.scan_items(byref(scan), None))
            if is_plain:
                self._take_plain(piece, *self.list_items(1))


class ValueSums:
    """Sums over values, by number; see `helm.h`."""

    def __init__(self, loaded: Any) -> None:
        self.entries, self.values, self.sum = array("d"), array("d"), array("d")
        self.largest = array("d")
        self._library = loaded
        self._sums: _Sums | None = None

    def add_number(self) -> int:
        """Add a number, and return it."""
        for column in self._columns:
            column.append(0.0)
        self._sums = None
        return len(self.entries) - 1

    @property
    def _columns(self) -> tuple[array[float], ...]:
        return self.entries, self.values, self.sum, self.largest

    def add(self, number: int, count: int, value: float) -> None:
        """Add a sum of some values."""
        self.entries[number] += 1
        self.values[number] += count
        self.sum[number] += value
        self.largest[number] = max(self.largest[number], abs(value))

    def add_values(self, terms: SumTerms, values: array[float], start: int, times: int) -> None:
        """Add terms over the values from a place on, one after the other, some times."""
        if self._sums is None:
            self._sums = _Sums(*(column.buffer_info()[0] for column in self._columns))
        self._library.add_values(
            *(byref(self._sums), terms.terms.buffer_info()[0], terms.count),
            terms.places.buffer_info()[0],
            *(values.buffer_info()[0] + 8 * start, terms.stride, times),
        )


class SumTerms:
    """The summands for each group of `stride` values.

    Each term has a number, and the places of values of which the least is added.
    """

    def __init__(self, terms: Iterable[tuple[int, Sequence[int]]], stride: int) -> None:
        self.terms, self.places, self.stride = array("I"), array("I"), stride
        for number, places in terms:
            self.terms.extend((number, len(self.places), len(places)))
            self.places.extend(places)
        self.count = len(self.terms) // 3
