"""Rooms in shared memory, in which the results of forked workers come back without a copy."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from evalstream.engine.block_tasks import BlockPlan
from evalstream.io.shared_slots import SharedSlots
from evalstream.model.block import MEBIBYTE, BlockTask
from evalstream.model.shared_bytes import SharedBytes

ROOM_BYTES: Final = MEBIBYTE
"""How much longer than its block a rewritten block may be, and still be passed in shared memory."""


class Rooms:
    """Shared memory for the results of the workers of a plan, one room for each task under way."""

    def __init__(self, plan: BlockPlan) -> None:
        self._plan = plan
        self._rooms: deque[SharedBytes | None] = deque()
        self._slots: SharedSlots | None = None
        if plan.backend.name == "pool":
            with suppress(OSError):
                self._slots = SharedSlots(plan.backend.window + 1, plan.length + ROOM_BYTES)

    def tasks(self) -> Iterator[BlockTask | None]:
        """Yield the tasks of the plan."""
        for block in self._plan.blocks:
            yield None if block is None else BlockTask(block, self._take())

    def give_back(self) -> None:
        """Take back the room of the oldest task, whose result was used."""
        room = self._rooms.popleft()
        if self._slots is not None and room is not None:
            self._slots.give_back(room.start)

    def __enter__(self) -> Rooms:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop sharing the memory."""
        if self._slots is not None:
            self._slots.close()

    def _take(self) -> SharedBytes | None:
        slot = None if self._slots is None else self._slots.take()
        room = None if slot is None or self._slots is None else slot.shared(self._slots.size)
        self._rooms.append(room)
        return room
