"""The compiled sums of random draws, through ctypes."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from ctypes import c_char_p, c_uint64, c_void_p
from functools import lru_cache

from evalstream.parsing.native.binding import library


def resample_sums(
    loaded: ctypes.CDLL, values: array[int], width: int, words: bytes, draws: Sequence[int]
) -> array[int]:
    """Return the sums of random rows, `width` numbers for each of `draws`.

    `values` has the type code "q" and holds rows of `width` numbers. The words have 32 bits, and
    each of them draws the row (word * number of rows) >> 32. Raises ValueError if there are not
    enough of them.
    """
    if 4 * sum(draws) > len(words):
        raise ValueError("there are not enough random words")
    sums = array("q", bytes(8 * width * len(draws)))
    numbers = array("Q", draws)
    loaded.resample_sums(
        values.buffer_info()[0],
        len(values) // width,
        width,
        words,
        numbers.buffer_info()[0],
        len(draws),
        sums.buffer_info()[0],
    )
    return sums


@lru_cache(maxsize=1)
def resamplers() -> ctypes.CDLL | None:
    """Return the library that sums up draws, None where evalstream was installed without it."""
    loaded = library()
    if loaded is not None:
        loaded.resample_sums.restype = None
        loaded.resample_sums.argtypes = (
            c_void_p,
            c_uint64,
            c_uint64,
            c_char_p,
            c_void_p,
            c_uint64,
            c_void_p,
        )
    return loaded
