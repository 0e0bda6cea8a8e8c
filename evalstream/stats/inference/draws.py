"""Sums of rows drawn at random with replacement, the same with and without the scanner."""

from __future__ import annotations

import random
import sys
from array import array
from collections.abc import Iterator, Sequence
from operator import mul
from typing import Final

from evalstream.parsing.native.resample import resample_sums, resamplers
from evalstream.stats.inference.binomial_draws import Splitter

_WORDS_AT_ONCE: Final = 1 << 16
_WORTH_SPLITTING: Final = 256
"""How many draws there must be for each distinct row, to draw their counts instead."""


class DrawnSums:
    """Draws rows of whole numbers, each in proportion to its count, and adds them up.

    A sum of any number of draws must be below 2**63. Few distinct rows are drawn by their counts,
    which are multinomial; others one by one.
    """

    def __init__(self, rows: Sequence[Sequence[int]], counts: Sequence[int], seed: int) -> None:
        self._rows, self._counts = rows, counts
        self._random = random.Random(seed)
        self._total = sum(counts)

    def sums(self, draws: Sequence[int]) -> Iterator[Sequence[int]]:
        """Iterate over the sums of each number of draws, a row each."""
        if len(self._rows) * _WORTH_SPLITTING <= self._total:
            return self._split(draws)
        return self._direct(draws)

    def _split(self, draws: Sequence[int]) -> Iterator[Sequence[int]]:
        splitter, bits = Splitter(self._counts), self._random.getrandbits
        columns = list(zip(*self._rows, strict=True))
        for number in draws:
            drawn = splitter.split(number, bits)
            yield [sum(map(mul, column, drawn)) for column in columns]

    def _direct(self, draws: Sequence[int]) -> Iterator[Sequence[int]]:
        width = len(self._rows[0])
        values = array("q")
        for row, count in zip(self._rows, self._counts, strict=True):
            values.extend(array("q", row) * count)
        compiled = resamplers()
        for some in _packed(draws):
            words = self._random.randbytes(4 * sum(some))
            if compiled is None:
                sums: Sequence[int] = _sums_in_python(values, width, words, some)
            else:
                sums = resample_sums(compiled, values, width, words, some)
            yield from (sums[at : at + width] for at in range(0, len(sums), width))


def _packed(draws: Sequence[int]) -> Iterator[Sequence[int]]:
    """Iterate over numbers of draws, as many at a time as need not too many words."""
    some: list[int] = []
    words = 0
    for number in draws:
        if some and words + number > _WORDS_AT_ONCE:
            yield some
            some, words = [], 0
        some.append(number)
        words += number
    if some:
        yield some


def _sums_in_python(
    values: array[int], width: int, words: bytes, draws: Sequence[int]
) -> Sequence[int]:
    """Return what the scanner's function of the same purpose returns."""
    count = len(values) // width
    drawn = _high_words(words, count)
    columns = [values[at::width].tolist() for at in range(width)]
    sums: list[int] = []
    start = 0
    for number in draws:
        some = drawn[start : start + number]
        sums += [sum(map(column.__getitem__, some)) for column in columns]
        start += number
    return sums


def _high_words(words: bytes, factor: int) -> array[int]:
    """Return the upper halves of the products of 32-bit words with a factor below 2**32.

    The words are lanes of 64 bits in one large number, so that one product is that of all.
    """
    lanes = bytearray(2 * len(words))
    for byte in range(4):
        lanes[byte::8] = words[byte::4]
    products = (int.from_bytes(lanes, "little") * factor).to_bytes(len(lanes), "little")
    halves = array("I", products)
    if sys.byteorder == "big":
        halves.byteswap()
    return halves[1::2]
