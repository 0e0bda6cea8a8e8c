"""The histogram of differences, in constant memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, repeat
from operator import mul
from typing import Final, NamedTuple

MOST_CELLS: Final = 65_536
"""How many distinct values are kept exactly, and how many cells replace them beyond that."""

MOST_BINS: Final = 201
"""How many bins a report shows at most."""

_FINEST: Final = 600
_COARSEST: Final = -400
"""The grid's step is 2**-k; k is between these. Values are below 2**400."""


class Cell(NamedTuple):
    """The value of a cell, and how many values there are in it."""

    value: float
    times: int


class Differences:
    """Counts differences: exactly, or in the cells of a grid.

    While there are at most MOST_CELLS distinct values, each is a cell of its own. Beyond that
    values share a cell if they have the same floor(value * 2**k), and the cell has the value in its
    middle; k is the largest that leaves MOST_CELLS cells. So cells depend on the values alone, not
    on their order. Zero is always a cell of its own.
    """

    def __init__(self) -> None:
        self._zeros = 0
        self._exact: Counter[float] | None = Counter()
        self._grid = _Grid(_FINEST)

    @property
    def is_exact(self) -> bool:
        """Whether each distinct value is a cell."""
        return self._exact is not None

    def add(self, counts: Mapping[float, int]) -> None:
        """Add values with their counts; each is 0, or its size is between 1e-200 and 2**400."""
        some = dict(counts)
        self._zeros += some.pop(0.0, 0)
        if self._exact is None:
            self._grid.add(some)
            return
        self._exact.update(some)
        if len(self._exact) > MOST_CELLS:
            self._grid = _Grid(_finest(self._exact, MOST_CELLS))
            self._grid.add(self._exact)
            self._exact = None

    def cells(self) -> Sequence[Cell]:
        """Return all cells in increasing order of their values."""
        cells = self._grid.cells() if self._exact is None else self._exact.items()
        return self._with_zeros(cells)

    def bins(self) -> Sequence[Cell]:
        """Return at most MOST_BINS bins in increasing order, each with the mean of its values."""
        cells = self.cells()
        if len(cells) <= MOST_BINS:
            return cells
        others = [cell for cell in cells if cell.value]
        scale = math.ldexp(1.0, _finest([value for value, _ in others], MOST_BINS - 1))
        bins = groupby(others, key=lambda cell: math.floor(cell.value * scale))
        return self._with_zeros(_mean(list(some)) for _, some in bins)

    def _with_zeros(self, cells: Iterable[tuple[float, int]]) -> Sequence[Cell]:
        """Return cells in order, with that of zeros."""
        zeros = [(0.0, self._zeros)] if self._zeros else []
        return [Cell(value, times) for value, times in sorted([*cells, *zeros])]


class _Grid:
    """Counts values in cells of the width 2**-k."""

    def __init__(self, k: int) -> None:
        self._k = k
        self._counts: Counter[int] = Counter()

    def add(self, values: Mapping[float, int]) -> None:
        """Count values, and double the width of the cells while there are too many."""
        scale = math.ldexp(1.0, self._k)
        # What occurs once is counted without a loop, and most does.
        self._counts.update(_cells(values, scale))
        repeated = {value: times - 1 for value, times in values.items() if times > 1}
        for cell, times in zip(_cells(repeated, scale), repeated.values(), strict=True):
            self._counts[cell] += times
        while len(self._counts) > MOST_CELLS:
            fine, self._counts, self._k = self._counts, Counter(), self._k - 1
            for cell, times in fine.items():
                self._counts[cell >> 1] += times

    def cells(self) -> Iterator[tuple[float, int]]:
        """Iterate over the cells, in no order."""
        counts, k = self._counts, self._k
        return ((math.ldexp(2 * cell + 1, -k - 1), times) for cell, times in counts.items())


def _cells(values: Iterable[float], scale: float) -> Iterator[int]:
    """Iterate over the numbers of the cells of values."""
    return map(math.floor, map(mul, values, repeat(scale)))


def _finest(values: Iterable[float], most: int) -> int:
    """Return the largest k whose grid has at most so many cells with values.

    Cells of a grid are halves of those of the next coarser one, so their number never falls with k.
    """
    some = list(values)
    low, high = _COARSEST, _FINEST
    while low < high:
        middle = (low + high + 1) // 2
        if len(set(_cells(some, math.ldexp(1.0, middle)))) <= most:
            low = middle
        else:
            high = middle - 1
    return low


def _mean(cells: Sequence[Cell]) -> tuple[float, int]:
    """Return the mean of the values of some cells, and how many there are."""
    times = sum(cell.times for cell in cells)
    return math.fsum(cell.value * cell.times for cell in cells) / times, times
