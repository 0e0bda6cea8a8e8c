"""The histogram of differences, in constant memory."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from evalstream.stats.arrays import Array

MOST_CELLS: Final = 65_536
"""How many distinct values are kept exactly, and how many cells replace them beyond that."""

MOST_BINS: Final = 201
"""How many bins a report shows at most."""

_FINEST: Final = 600
_COARSEST: Final = -400
"""The grid's step is 2**-k; k is between these. Values are below 2**400."""


class Cells(NamedTuple):
    """Distinct values in increasing order, and how many of each there are."""

    values: Array
    times: Array


class Differences:
    """Counts differences: exactly, or in the cells of a grid.

    While there are at most MOST_CELLS distinct values, each is a cell of its own. Beyond that
    values share a cell if they have the same floor(value * 2**k), and the cell has the value in its
    middle; k is the largest that leaves MOST_CELLS cells. So cells depend on the values alone, not
    on their order. Zero is always a cell of its own.
    """

    def __init__(self) -> None:
        self._zeros = 0
        self._k: int | None = None
        self._cells = Cells(np.empty(0), np.empty(0, np.int64))

    @property
    def is_exact(self) -> bool:
        """Whether each distinct value is a cell."""
        return self._k is None

    def add(self, values: Array) -> None:
        """Add values; each is 0, or its size is between 1e-200 and 2**400."""
        some = values[values != 0]
        self._zeros += len(values) - len(some)
        if self._k is not None:
            some = _floor(some, self._k)
        self._cells = _merge(*self._cells, some, np.ones(len(some), np.int64))
        if self._k is None and len(self._cells.values) > MOST_CELLS:
            self._k = _finest(self._cells.values, MOST_CELLS)
            self._cells = _merge(_floor(self._cells.values, self._k), self._cells.times)
        while self._k is not None and len(self._cells.values) > MOST_CELLS:
            self._k -= 1
            self._cells = _merge(np.floor(self._cells.values / 2), self._cells.times)

    def cells(self) -> Cells:
        """Return all cells."""
        values, times = self._cells
        if self._k is not None:
            values = np.ldexp(2 * values + 1, -self._k - 1)
        return self._with_zeros(values, times)

    def bins(self) -> Cells:
        """Return at most MOST_BINS cells, each with the mean of its values."""
        cells = self.cells()
        if len(cells.values) <= MOST_BINS:
            return cells
        is_some = cells.values != 0
        values, times = cells.values[is_some], cells.times[is_some]
        places = _floor(values, _finest(values, MOST_BINS - 1))
        starts = np.flatnonzero(np.append(True, places[1:] != places[:-1]))
        held = np.add.reduceat(times, starts)
        return self._with_zeros(np.add.reduceat(values * times, starts) / held, held)

    def _with_zeros(self, values: Array, times: Array) -> Cells:
        """Return cells in order, with that of zeros."""
        if not self._zeros:
            return Cells(values, times)
        place = int(np.searchsorted(values, 0.0))
        return Cells(np.insert(values, place, 0.0), np.insert(times, place, self._zeros))


def _merge(*parts: Array) -> Cells:
    """Return the distinct values among arrays of values, each followed by their counts."""
    values, inverse = np.unique(np.concatenate(parts[::2]), return_inverse=True)
    times = np.zeros(len(values), np.int64)
    np.add.at(times, inverse, np.concatenate(parts[1::2]))
    return Cells(values, times)


def _floor(values: Array, k: int) -> Array:
    """Return the numbers of the cells of values, as doubles."""
    return np.floor(np.ldexp(values, k))


def _finest(values: Array, most: int) -> int:
    """Return the largest k whose grid has at most so many cells with values.

    Cells of a grid are halves of those of the next coarser one, so their number never falls with k.
    """
    low, high = _COARSEST, _FINEST
    while low < high:
        middle = math.ceil((low + high) / 2)
        if len(np.unique(_floor(values, middle))) <= most:
            low = middle
        else:
            high = middle - 1
    return low
