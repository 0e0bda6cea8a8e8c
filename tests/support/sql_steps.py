"""The work of SQLite, in steps of its virtual machine: the same on every machine and each time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

STEPS = 100
"""How many steps are counted as one."""


def count_steps(base: sqlite3.Connection, work: Callable[[], object]) -> int:
    """Return how much SQLite does while a function runs."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    base.set_progress_handler(count, STEPS)
    work()
    base.set_progress_handler(None, STEPS)
    return steps
