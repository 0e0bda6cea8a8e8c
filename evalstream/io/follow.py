"""Reader of a file that is still being written, until it stops growing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final

from evalstream.model.block import MEBIBYTE, ByteStream
from evalstream.model.signals import STOPPING

POLL_SECONDS: Final = 0.05


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

    def changed(self) -> str | None:
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
