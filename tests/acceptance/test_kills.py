"""Calls that are killed lose no file, leave nothing behind, and judge alike when made again."""

import os

from killed_calls import CALLS, kill_all

KILLS = int(os.environ.get("EVALSTREAM_KILLS", len(CALLS)))
"""How many calls are killed: set it higher to look for rare moments."""


def test_killed_calls_lose_nothing_and_leave_nothing() -> None:
    assert kill_all(KILLS) == []
