"""Reader of a file that is still being written, or will be, until it stops growing."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from typing import Final

from evalstream.model.block import MEBIBYTE, ByteStream
from evalstream.model.signals import STOPPING

POLL_SECONDS: Final = 0.05


def wait_for_rows(path: str, seconds: float, on_wait: Callable[[], None]) -> None:
    """Wait until a file has a first byte, or until nothing happened for some seconds.

    Neither the file nor its folder need exist. A file that appears empty, or in place of another
    one, starts the time anew. `on_wait` is called once, before a wait.
    """
    seen = _state(path)
    if not _is_awaited(seen):
        return
    on_wait()
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        with STOPPING.interruptible():
            time.sleep(min(POLL_SECONDS, left))
        now = _state(path)
        if not _is_awaited(now):
            return
        if now is not None and now != seen:
            end = time.monotonic() + seconds
        seen = now


def _state(path: str) -> tuple[int, int, int] | None:
    """Return what distinguishes a file from another in its place, and its size; None without it."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    # What is not a regular file is not waited for.
    size = state.st_size if stat.S_ISREG(state.st_mode) else 1
    return state.st_dev, state.st_ino, size


def _is_awaited(state: tuple[int, int, int] | None) -> bool:
    return state is None or not state[-1]


class FollowedFile(ByteStream):
    """Follows a file until it has not grown for `idle` seconds.

    Raises OSError where it cannot be opened, or becomes shorter than the bytes already read.
    """

    def __init__(self, path: str, idle: float) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close()
        self._path, self._idle = path, idle
        self._read = 0
        self._ended = False
        self.close: Callable[[], None] = self._file.close

    def read(self) -> bytes:
        """Return the bytes that were added, waiting for them; empty once the file is idle."""
        if not self._ended and not self.wait(self._idle):
            self._ended = True
        if self._ended:
            return b""
        data = self._file.read(MEBIBYTE) or b""
        self._read += len(data)
        return data

    def wait(self, seconds: float) -> bool:
        """Tell whether bytes are added within some seconds."""
        end = time.monotonic() + seconds
        while not self._grew() and not self._ended:
            left = end - time.monotonic()
            if left <= 0:
                return False
            with STOPPING.interruptible():
                time.sleep(min(POLL_SECONDS, left))
        return True

    def describe_change(self) -> str | None:
        """Return a message if another file replaced the followed one, else None."""
        try:
            now, followed = os.stat(self._path), os.fstat(self._file.fileno())
        except OSError:
            return "it no longer exists"
        if (now.st_ino, now.st_dev) != (followed.st_ino, followed.st_dev):
            return "it was replaced by another file"
        return None

    def _grew(self) -> bool:
        size = os.fstat(self._file.fileno()).st_size
        if size < self._read:
            raise OSError("the file became shorter while it was followed")
        return size > self._read
