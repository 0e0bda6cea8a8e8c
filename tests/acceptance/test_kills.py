"""Calls that are killed lose no file, leave nothing behind, and judge alike when made again."""

import os

from depth import some
from killed_calls import CALLS, kill_all

NAMES = some(list(CALLS), 9)
KILLS = int(os.environ.get("EVALSTREAM_KILLS", len(NAMES)))
"""How many calls are killed: set it higher to look for rare moments."""


def test_killed_calls_lose_nothing_and_leave_nothing() -> None:
    assert kill_all(KILLS, NAMES if len(NAMES) == KILLS else list(CALLS)) == []
