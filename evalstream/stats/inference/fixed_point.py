"""Doubles as whole numbers of a common unit, whose sums are exact."""

from __future__ import annotations

import math
from collections.abc import Sequence

_BITS = 62


def fixed_point(values: Sequence[float], terms: int) -> tuple[list[int], int]:
    """Return finite values in units of 2**-k, rounded to whole ones, and k.

    The unit is so small that the sum of any `terms` values stays below 2**62.
    """
    largest = max(map(abs, values), default=0.0)
    exponent = math.frexp(largest)[1]
    k = _BITS - max(terms, 1).bit_length() - exponent
    return [round(math.ldexp(value, k)) for value in values], k
