"""Where a report goes: standard output, or a file that appears only when it is whole."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import sys
import time
from types import TracebackType
from typing import IO, Final, Protocol

from evalstream.io.temporary import TemporaryFile
from evalstream.io.writing import PatientWriter
from evalstream.model.block import Bytes
from evalstream.model.signals import STOPPING

FLUSH_SECONDS: Final = 0.2


class Stream(Protocol):
    """The part of a binary file that is used here."""

    def write(self, data: Bytes, /) -> object:
        """Take bytes."""

    def flush(self) -> None:
        """Write the bytes that were taken."""

    def fileno(self) -> int:
        """Return the descriptor."""

    def close(self) -> None:
        """Let go of the file."""


class Output:
    """A place for the bytes of a report, or for rows.

    A file is written beside its final name, flushed to disk and renamed when it is finished;
    after an error nothing is left of it. A `live` one is written under its own name, and
    everything can be read there at once; what it held stays until the first byte is written.
    Raises OSError, and Stopped where the process is to stop and a reader takes nothing.
    """

    def __init__(
        self, path: str | None = None, *, live: bool = False, standard: IO[bytes] | None = None
    ) -> None:
        # What a link leads to is replaced, not the link.
        self._path = os.path.realpath(path) if path and os.path.islink(path) else path
        self._live = live
        self._flushed = time.monotonic()
        self._temporary: TemporaryFile | None = None
        self._unbegun = self._is_new = False
        self._stream = self._opened(self._path, standard or sys.stdout.buffer)

    def write(self, text: str | bytes) -> None:
        """Write a piece; it is visible to a reader soon after."""
        data = text.encode(errors="replace") if isinstance(text, str) else text
        self._begin()
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
            with contextlib.suppress(*([] if kind is None else [OSError])):
                self._stream.flush()
            return
        try:
            if kind is None or (self._live and not self._unbegun):
                self._complete()
        finally:
            with contextlib.suppress(OSError):
                self._stream.close()
            if self._temporary is not None:
                self._temporary.remove()
            if self._unbegun and self._is_new:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._path)

    def _begin(self) -> None:
        """Drop what a live file held before."""
        if self._unbegun:
            os.ftruncate(self._stream.fileno(), 0)
            self._unbegun = False

    def _complete(self) -> None:
        """Bring everything to disk, and the file under its name."""
        self._begin()
        self._stream.flush()
        try:
            os.fsync(self._stream.fileno())
        except OSError as error:
            if error.errno != errno.EINVAL:  # as pipes and terminals have it
                raise
        if self._temporary is not None and self._path is not None:
            # Its lock ends when it is closed, and it has no other owner before.
            self._temporary.become(self._path)
            self._temporary = None
            _sync_folder(os.path.dirname(self._path) or ".")
        self._stream.close()

    def _opened(self, path: str | None, standard: IO[bytes]) -> Stream:
        if path is None:
            return _patient(standard)
        if os.path.exists(path) and not os.path.isfile(path):
            # A named pipe is opened only once a reader opens it.
            with STOPPING.waiting():
                return PatientWriter(os.open(path, os.O_WRONLY), owned=True)
        if self._live:
            self._unbegun, self._is_new = True, not os.path.exists(path)
            return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666), "wb")
        try:
            self._temporary = TemporaryFile(path)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error
        os.fchmod(self._temporary.descriptor, _mode_of(path))
        return os.fdopen(self._temporary.descriptor, "wb")


def _patient(standard: IO[bytes]) -> Stream:
    """Return what writes to a standard stream, or the stream where it has no descriptor."""
    try:
        descriptor = standard.fileno()
    except io.UnsupportedOperation:
        return standard
    standard.flush()
    return PatientWriter(descriptor)


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
