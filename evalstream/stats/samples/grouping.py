"""Order and groups of the rows of arrays."""

from __future__ import annotations

import numpy as np

from evalstream.stats.arrays import Array


def sort_rows(*columns: Array) -> Array:
    """Return the order of rows by their values, those of the first column first; it is stable.

    Only rows with the same first value are sorted by the other ones: few digests occur again.
    """
    order = np.argsort(columns[0], kind="stable")
    first = columns[0][order]
    is_tied = first[1:] == first[:-1]
    if len(columns) > 1 and is_tied.any():
        places = np.flatnonzero(np.append(is_tied, False) | np.append(False, is_tied))
        tied = order[places]
        order[places] = tied[np.lexsort([column[tied] for column in reversed(columns)])]
    return order


def mark_starts(*columns: Array) -> Array:
    """Return which rows begin a group of rows with the same values, which follow each other."""
    is_start = np.zeros(len(columns[0]), bool)
    is_start[:1] = True
    for column in columns:
        is_start[1:] |= column[1:] != column[:-1]
    return is_start


def number_groups(*columns: Array) -> Array:
    """Return for each row the number of its values among all distinct ones, in their order."""
    order = sort_rows(*columns)
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(mark_starts(*(column[order] for column in columns))) - 1
    return numbers


def rank_in_groups(numbers: Array, *columns: Array) -> Array:
    """Return the rank of each row, from 0, among those of its group by the values of columns."""
    order = np.lexsort((*reversed(columns), numbers))
    starts = np.flatnonzero(mark_starts(numbers[order]))
    sizes = np.diff(np.append(starts, len(order)))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(starts, sizes)
    return ranks
