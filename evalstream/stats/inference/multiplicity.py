"""Several tests in one report."""

from __future__ import annotations

from collections.abc import Sequence


def holm(values: Sequence[float]) -> list[float]:
    """Return p values adjusted by Holm's step-down method, in the order given.

    Source: Holm, A simple sequentially rejective multiple test procedure (1979).
    """
    adjusted = [0.0] * len(values)
    reached = 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        reached = max(reached, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = reached
    return adjusted
