"""Entries of HELM that are written alike, by the compiled scanner."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from ctypes import POINTER, Structure, byref, c_char_p, c_int32, c_uint64, c_void_p
from functools import lru_cache
from itertools import accumulate
from typing import Final

from evalstream.parsing.native.binding import library

NO_FIGURES: Final = 0xFFFFFFFF
"""The place of the value of a statistic that has none."""


class _Form(Structure):
    _fields_ = (("letters", c_char_p), ("ends", c_void_p), ("texts", c_uint64))


class _Sums(Structure):
    _fields_ = tuple(
        (name, c_void_p) for name in ("entries", "values", "sum", "largest", "lone", "lone_sum")
    )


class EntryForm:
    """How entries are written: texts, with an id behind the first and figures behind the others."""

    def __init__(self, loaded: ctypes.CDLL, texts: Sequence[bytes], values: int) -> None:
        self._library, self._values = loaded, bytes(8 * values)
        self._letters, self._ends = b"".join(texts), array("I", accumulate(map(len, texts)))
        self._form = _Form(self._letters, self._ends.buffer_info()[0], len(texts))
        self._id = (c_uint64 * 2)()

    def read(self, text: bytes) -> tuple[str, array[float]] | None:
        """Return the id of an entry and the values of its statistics.

        None is for an entry of another form, and one whose figures are not those of single values.
        """
        values = array("d", self._values)
        address = values.buffer_info()[0]
        if not self._library.read_entry(byref(self._form), text, len(text), address, self._id):
            return None
        start, stop = self._id
        return text[start:stop].decode(), values


class EntrySums:
    """Sums over entries, by the number of a statistic in a trial; see `helm.h`."""

    def __init__(self) -> None:
        self.entries, self.values, self.sum = array("d"), array("d"), array("d")
        self.largest, self.lone, self.lone_sum = array("d"), array("d"), array("d")
        self._sums: _Sums | None = None

    def add_number(self) -> int:
        """Add a statistic, and return its number."""
        for column in self._columns:
            column.append(0.0)
        self._sums = None
        return len(self.entries) - 1

    @property
    def _columns(self) -> tuple[array[float], ...]:
        return self.entries, self.values, self.sum, self.largest, self.lone, self.lone_sum

    def add(self, number: int, count: int, value: float) -> None:
        """Add a sum of some values."""
        self.values[number] += count
        self.sum[number] += value
        self.largest[number] = max(self.largest[number], abs(value))

    def add_entry(
        self, values: array[float], numbers: array[int], places: array[int], *, is_lone: bool
    ) -> None:
        """Add the values of an entry by the numbers of its statistics and the places of values."""
        loaded = entry_library()
        if loaded is None:
            raise RuntimeError("only the compiled scanner reads values")
        if self._sums is None:
            self._sums = _Sums(*(column.buffer_info()[0] for column in self._columns))
        addresses = (one.buffer_info()[0] for one in (values, numbers, places))
        loaded.add_entry(byref(self._sums), *addresses, len(numbers), is_lone)


@lru_cache(maxsize=1)
def entry_library() -> ctypes.CDLL | None:
    """Return the library that reads entries, None where evalstream was installed without it."""
    loaded = library()
    if loaded is not None:
        loaded.read_entry.restype = c_int32
        loaded.read_entry.argtypes = (
            *(POINTER(_Form), c_char_p, c_uint64, c_void_p),
            POINTER(c_uint64),
        )
        loaded.add_entry.restype = None
        loaded.add_entry.argtypes = (
            *(POINTER(_Sums), c_void_p, c_void_p, c_void_p),
            *(c_uint64, c_uint64),
        )
    return loaded
