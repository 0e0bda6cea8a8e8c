"""A file that is still being written: its bytes as they are added, until nothing more comes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final

from evalstream.model.block import MEBIBYTE
from evalstream.model.signals import STOPPING

POLL_SECONDS: Final = 0.05


class Growing:
    """Follows a file until it has not grown for `idle` seconds.

    Raises OSError where it cannot be opened, or becomes shorter than what was read of it.
    """

    def __init__(self, path: str, idle: float) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close()
        self._path, self._idle = path, idle
        self._read = 0
        self._ended = False
        self.close: Callable[[], None] = self._file.close

    def read(self) -> bytes:
        """Return what was added, waiting for it; nothing once the file has stood still."""
        if not self._ended and not self.wait(self._idle):
            self._ended = True
        if self._ended:
            return b""
        data = self._file.read(MEBIBYTE) or b""
        self._read += len(data)
        return data

    def wait(self, seconds: float) -> bool:
        """Tell whether something is added within some seconds."""
        end = time.monotonic() + seconds
        while not self._grew() and not self._ended:
            left = end - time.monotonic()
            if left <= 0:
                return False
            with STOPPING.waiting():
                time.sleep(min(POLL_SECONDS, left))
        return True

    def changed(self) -> str | None:
        """Say whether another file has taken the place of the one that was followed."""
        try:
            now, followed = os.stat(self._path), os.fstat(self._file.fileno())
        except OSError:
            return "it is gone"
        if (now.st_ino, now.st_dev) != (followed.st_ino, followed.st_dev):
            return "another file stands in its place"
        return None

    def _grew(self) -> bool:
        size = os.fstat(self._file.fileno()).st_size
        if size < self._read:
            raise OSError("the file became shorter while it was followed")
        return size > self._read
