"""Histograms of values, as statistics of differences take them."""

from collections.abc import Sequence

import numpy as np

from evalstream.stats.inference.paired import Cells


def cells_of(values: Sequence[float]) -> Cells:
    """Return the distinct values and how often each occurs."""
    return Cells(*np.unique(np.array(values, np.float64), return_counts=True))


def counts_of(cells: Cells) -> dict[float, int]:
    """Return how often each value occurs."""
    return dict(zip(*(some.tolist() for some in cells), strict=True))
