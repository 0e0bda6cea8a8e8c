"""How large everything is that is measured, and how long it is waited for."""

from __future__ import annotations

from dataclasses import dataclass

PATIENCE_SECONDS = 60.0
"""How much longer than its rows take to be written a filter, or a server to start, may take."""


@dataclass(frozen=True)
class Scale:
    """How large everything is: bytes of rows, bytes of a bomb, rows that are timed one by one.

    `large` is the larger of two arrays, None where it is left out.
    """

    size: int
    large: int | None
    bomb: int
    bomb_seconds: int
    timed_rows: int
    rounds: int
    seed: int = 1


FULL = Scale(300 * 10**6, 1_200 * 10**6, 4 * 10**9, 120, 500, 3)
QUICK = Scale(60 * 10**6, None, 200 * 10**6, 10, 100, 1)
