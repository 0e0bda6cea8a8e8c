"""Rooms in shared memory, in which the results of forked workers come back without a copy."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from evalstream.engine.block_tasks import BlockPlan
from evalstream.executors.base import Executor
from evalstream.io.shared_slots import SharedSlots
from evalstream.model.block import MEBIBYTE, BlockTask
from evalstream.model.shared_bytes import SharedBytes

ROOM_BYTES: Final = MEBIBYTE
"""How much longer than its block a rewritten block may be, and still be passed in shared memory."""


class Rooms:
    """Shared memory for the results of the workers of a plan, one room for each task under way.

    A task that runs again writes the same bytes to the same room. Once workers were replaced, no
    room gets another task: one of the former workers may still write to it. Run the tasks by
    `plan`, which counts the starts of workers.
    """

    def __init__(self, plan: BlockPlan) -> None:
        self.plan = plan._replace(backend=plan.backend._replace(start=self._start))
        self._start_workers = plan.backend.start
        self._starts = 0
        self._rooms: deque[SharedBytes | None] = deque()
        self._slots: SharedSlots | None = None
        if plan.backend.name == "pool":
            with suppress(OSError):
                self._slots = SharedSlots(plan.backend.window + 1, plan.length + ROOM_BYTES)

    def tasks(self) -> Iterator[BlockTask | None]:
        """Yield the tasks of the plan."""
        for block in self.plan.blocks:
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

    def _start(self) -> Executor:
        self._starts += 1
        return self._start_workers()

    def _take(self) -> SharedBytes | None:
        slots = self._slots if self._starts == 1 else None
        slot = None if slots is None else slots.take()
        room = None if slot is None or slots is None else slot.shared(slots.size)
        self._rooms.append(room)
        return room
