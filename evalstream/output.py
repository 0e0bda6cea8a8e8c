"""Where a report goes: standard output, or a file that appears only when it is whole."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from types import TracebackType
from typing import IO, Final

from evalstream.stopping import STOPPING

FLUSH_SECONDS: Final = 0.2


class Output:
    """A place for the bytes of a report, or for rows.

    A file is written beside its final name, flushed to disk and renamed when it is finished;
    after an error nothing is left of it. A `live` one is written under its own name, and
    everything can be read there at once. Raises OSError.
    """

    def __init__(
        self, path: str | None = None, *, live: bool = False, standard: IO[bytes] | None = None
    ) -> None:
        # What a link leads to is replaced, not the link.
        self._path = os.path.realpath(path) if path and os.path.islink(path) else path
        self._live = live
        self._flushed = time.monotonic()
        self._temporary: str | None = None
        self._stream: IO[bytes] = self._opened(self._path, standard or sys.stdout.buffer)

    def write(self, text: str | bytes) -> None:
        """Write a piece; it is visible to a reader soon after."""
        data = text.encode(errors="replace") if isinstance(text, str) else text
        if self._path is None:
            with STOPPING.waiting():
                self._stream.write(data)
        else:
            self._stream.write(data)
        now = time.monotonic()
        if self._live or now - self._flushed > FLUSH_SECONDS:
            self._stream.flush()
            self._flushed = now

    def __enter__(self) -> Output:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish: rename the whole file, or remove the half-written one."""
        if self._path is None:
            if kind is None:
                self._stream.flush()
            return
        try:
            if kind is None or self._live:
                self._complete()
        finally:
            with contextlib.suppress(OSError):
                self._stream.close()
            if self._temporary is not None:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._temporary)

    def _complete(self) -> None:
        """Bring everything to disk, and the file under its name."""
        self._stream.flush()
        try:
            os.fsync(self._stream.fileno())
        except OSError as error:
            if error.errno != errno.EINVAL:  # as pipes and terminals have it
                raise
        self._stream.close()
        if self._temporary is not None and self._path is not None:
            os.replace(self._temporary, self._path)
            _sync_folder(os.path.dirname(self._path) or ".")

    def _opened(self, path: str | None, standard: IO[bytes]) -> IO[bytes]:
        if path is None:
            return standard
        if self._live or (os.path.exists(path) and not os.path.isfile(path)):
            return open(path, "wb")
        import tempfile

        try:
            descriptor, self._temporary = tempfile.mkstemp(
                prefix=f".{os.path.basename(path)}.", dir=os.path.dirname(path) or "."
            )
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error
        os.chmod(self._temporary, _mode_of(path))
        return os.fdopen(descriptor, "wb")


def _mode_of(path: str) -> int:
    """Return the mode that a file has, or that a new one is to have."""
    with contextlib.suppress(OSError):
        return stat.S_IMODE(os.stat(path).st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def _sync_folder(folder: str) -> None:
    """Make a rename durable where the system lets one sync a folder."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
