"""Bytes in memory that this process shares with the worker processes it forks."""

from __future__ import annotations

from itertools import count
from mmap import mmap
from typing import Any, Final

_MEMORIES: Final[dict[int, mmap]] = {}
"""Memory by key; a forked worker has what was shared before the fork, under the same key."""

_KEYS: Final = count()
"""Unused keys; none is used twice, so a stale reference is an error and never other bytes."""


class SharedBytes:
    """A range of shared memory, pickled as a reference to it.

    Only a process that forked from the sharing one can use the pickle; all others need
    `bytes(shared.view)`. The bytes are valid until the owner of the memory reuses it.
    """

    __slots__ = ("_key", "start", "stop")

    def __init__(self, key: int, start: int, stop: int) -> None:
        self._key, self.start, self.stop = key, start, stop

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def view(self) -> memoryview:
        """The bytes, not copied."""
        return memoryview(_MEMORIES[self._key])[self.start : self.stop]

    def filled(self, data: bytes) -> SharedBytes | None:
        """Write bytes to the beginning, and return the range of them; None if they do not fit."""
        if len(data) > len(self):
            return None
        shared = SharedBytes(self._key, self.start, self.start + len(data))
        shared.view[:] = data
        return shared

    def __reduce__(self) -> tuple[Any, ...]:
        return SharedBytes, (self._key, self.start, self.stop)


def share(memory: mmap) -> int:
    """Share a memory map with workers that are forked from now on; return its key."""
    key = next(_KEYS)
    _MEMORIES[key] = memory
    return key


def stop_sharing(key: int) -> None:
    """Release the memory; workers keep theirs until they end."""
    del _MEMORIES[key]
