"""The histogram of differences, in constant memory."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

MOST_CELLS: Final = 65_536
"""How many distinct values are kept exactly, and how many cells replace them beyond that."""

MOST_BINS: Final = 201
"""How many bins a report shows at most."""

_FINEST: Final = 600
_COARSEST: Final = -400
"""The grid's step is 2**-k; k is between these. Values are below 2**400."""


class Cell(NamedTuple):
    """The mean of the values of a cell, and how many there are."""

    value: float
    times: int


class Differences:
    """Counts differences: exactly, or in the cells of a grid.

    While there are at most MOST_CELLS distinct values, each is a cell of its own. Beyond that
    values share a cell if they have the same floor(value * 2**k); k is the largest that leaves
    MOST_CELLS cells. So k and the counts depend on the values alone, not on their order. Zero is
    always a cell of its own.
    """

    def __init__(self) -> None:
        self.zeros = 0
        self._exact: Counter[float] | None = Counter()
        self._grid = _Grid(_FINEST)

    @property
    def is_exact(self) -> bool:
        """Whether each distinct value is a cell."""
        return self._exact is not None

    def add(self, counts: Mapping[float, int]) -> None:
        """Add finite values with their counts; each is below 2**400."""
        self.zeros += counts.get(0.0, 0)
        some = {value: count for value, count in counts.items() if value}
        if self._exact is None:
            self._grid.add(some)
            self._grid.coarsen(MOST_CELLS)
            return
        self._exact.update(some)
        if len(self._exact) > MOST_CELLS:
            self._grid = _finest_grid(self._exact)
            self._exact = None

    def cells(self) -> Sequence[Cell]:
        """Return all cells in increasing order of their values."""
        if self._exact is None:
            return _with_zeros(self._grid.cells(), self.zeros)
        return _with_zeros(map(Cell._make, self._exact.items()), self.zeros)

    def bins(self) -> Sequence[Cell]:
        """Return at most MOST_BINS bins in increasing order; zero is a bin of its own."""
        cells = self.cells()
        if len(cells) <= MOST_BINS:
            return cells
        grid = _Grid(_coarse_enough([cell.value for cell in cells], MOST_BINS - 1))
        for value, count in cells:
            if value:
                grid.add({value: count})
        return _with_zeros(grid.cells(), self.zeros)


class _Grid:
    """Cells of the width 2**-k, by their number: how many values there are, and their sum."""

    def __init__(self, k: int) -> None:
        self._k, self._scale = k, math.ldexp(1.0, k)
        self._counts: defaultdict[int, int] = defaultdict(int)
        self._sums: defaultdict[int, float] = defaultdict(float)

    def add(self, values: Mapping[float, int]) -> None:
        """Count values."""
        scale, counts, sums = self._scale, self._counts, self._sums
        for value, count in values.items():
            cell = math.floor(value * scale)
            counts[cell] += count
            sums[cell] += value * count

    def coarsen(self, most: int) -> None:
        """Double the width of the cells until there are few enough."""
        while len(self._counts) > most:
            counts, sums = self._counts, self._sums
            self._k, self._scale = self._k - 1, self._scale / 2
            self._counts, self._sums = defaultdict(int), defaultdict(float)
            for cell, count in counts.items():
                self._counts[cell >> 1] += count
                self._sums[cell >> 1] += sums[cell]

    def cells(self) -> Iterable[Cell]:
        """Iterate over the cells, in no order."""
        sums = self._sums
        return (Cell(sums[cell] / count, count) for cell, count in self._counts.items())


def _finest_grid(values: Mapping[float, int]) -> _Grid:
    """Return the finest grid that has room for values."""
    grid = _Grid(_coarse_enough(values, MOST_CELLS))
    grid.add(values)
    return grid


def _coarse_enough(values: Iterable[float], most: int) -> int:
    """Return the largest k whose grid has at most so many cells with values.

    Cells of a grid are halves of those of the next coarser one, so their number never falls with k.
    """
    some = list(values)
    low, high = _COARSEST, _FINEST
    while low < high:
        middle = (low + high + 1) // 2
        scale = math.ldexp(1.0, middle)
        if len({math.floor(value * scale) for value in some}) <= most:
            low = middle
        else:
            high = middle - 1
    return low


def _with_zeros(cells: Iterable[Cell], zeros: int) -> Sequence[Cell]:
    """Return cells in order, with that of zeros."""
    return sorted([*cells, Cell(0.0, zeros)] if zeros else cells)
