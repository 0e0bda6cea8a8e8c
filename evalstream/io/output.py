"""Outputs: standard output, or a file that appears under its name once it is complete."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any, Final, Protocol

from evalstream.io.names import name_compression, printable
from evalstream.io.overwriting import OutputKind
from evalstream.model.block import MEBIBYTE, Bytes
from evalstream.model.errors import CannotWrite, describe_error
from evalstream.model.signals import STOPPING

if TYPE_CHECKING:
    from evalstream.io.compressors import CompressingWriter
    from evalstream.io.temporary import TemporaryFile


FLUSH_SECONDS: Final = 0.2


@contextlib.contextmanager
def writing(path: str) -> Iterator[None]:
    """Raise CannotWrite for an OSError in this context, which only writes a file."""
    try:
        yield
    except OSError as error:
        raise CannotWrite(unwritable(path, error)) from error


def is_full(error: OSError) -> bool:
    """Tell whether an error means that a disk or a quota is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def is_write_protected(error: OSError) -> bool:
    """Tell whether an error is about one file or folder, such as a file that is a mount point."""
    return error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)


def unwritable(path: str, error: OSError) -> str:
    """Return the message for an output that cannot be written."""
    remedy = "; make room on its disk, or name a file on another" if is_full(error) else ""
    return f"{printable(path)} cannot be written: {describe_error(error)}{remedy}"


class Stream(Protocol):
    """The part of a binary file's interface that outputs use."""

    def write(self, data: Bytes, /) -> object:
        """Add bytes."""

    def flush(self) -> None:
        """Write the buffered bytes."""

    def fileno(self) -> int:
        """Return the file descriptor."""

    def close(self) -> None:
        """Close the file."""


def _is_special(path: str) -> bool:
    """Tell whether a path is that of a pipe or a device, such as /dev/stdout."""
    return os.path.exists(path) and not os.path.isfile(path)


class Output(contextlib.AbstractContextManager["Output"]):
    """The destination of a report, or of rows.

    A file is written next to its final name, flushed to disk and renamed when it is complete; after
    an error nothing remains of it. A `live` file is written under its own name, so that it can be
    read at once; its previous content stays until the first byte is written. With a `kind` it
    replaces only files of this kind, also at its end: UsageError is raised for others. Raises
    OSError, CannotWrite where standard output is closed, and Stopped where a signal arrives while a
    reader takes no bytes.
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        live: bool = False,
        standard: IO[bytes] | None = None,
        kind: OutputKind | None = None,
    ) -> None:
        # The target of a link is replaced, not the link; that of /dev/stdout may be a pipe.
        if path is not None and os.path.islink(path) and not _is_special(path):
            path = os.path.realpath(path)
        self._path = path
        self._live, self._kind = live, kind
        self._refuse_foreign()
        self._flushed = time.monotonic()
        self._temporary: TemporaryFile | None = None
        self._keeps_previous = self._is_new = False
        self._stream = self._open(self._path, standard)

    def write(self, text: str | Bytes) -> None:
        """Write some text or bytes; a reader can see them soon after."""
        data = text.encode(errors="replace") if isinstance(text, str) else text
        self._begin()
        try:
            self._stream.write(data)
            now = time.monotonic()
            if self._live or now - self._flushed > FLUSH_SECONDS:
                self._stream.flush()
                self._flushed = now
        except OSError as error:
            self._name(error)
            raise

    def flush(self) -> None:
        """Write the bytes so far to the disk, where that is possible. Raises OSError."""
        self._begin()
        try:
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            if error.errno != errno.EINVAL:  # pipes and terminals cannot be synced
                self._name(error)
                raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Finish: rename the complete file, or remove the incomplete one."""
        if self._path is None:
            with contextlib.suppress(*([] if kind is None else [OSError])):
                self._stream.flush()
            return
        try:
            if kind is None or (self._live and not self._keeps_previous):
                self._complete()
        finally:
            with contextlib.suppress(OSError):
                self._stream.close()
            if self._temporary is not None:
                self._temporary.remove()
            if self._keeps_previous and self._is_new:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._path)

    def _name(self, error: OSError) -> None:
        """Add the path to the error of a full disk, which does not say which file it is about."""
        if is_full(error) and error.filename is None:
            error.filename = self._path

    def _begin(self) -> None:
        """Delete the previous content of a live file."""
        if self._keeps_previous:
            self._refuse_foreign()
            os.ftruncate(self._stream.fileno(), 0)
            self._keeps_previous = False

    def _refuse_foreign(self) -> None:
        if self._kind is not None and self._path is not None:
            self._kind.refuse_foreign(self._path)

    def _complete(self) -> None:
        self.flush()
        if self._temporary is not None and self._path is not None:
            # The lock ends when the file is closed; until then no other process owns it.
            if self._kind is None or not self._temporary.move_to(self._path):
                self._refuse_foreign()
                self._temporary.rename_to(self._path)
            self._temporary = None
            sync_folder(os.path.dirname(self._path) or ".")
        self._stream.close()

    def _open(self, path: str | None, standard: IO[bytes] | None) -> Stream:
        if path is None:
            return _standard_writer(standard or sys.stdout.buffer)
        if _is_special(path):
            # Opening a named pipe blocks until a reader opens it.
            with STOPPING.interruptible():
                return PollingWriter(os.open(path, os.O_WRONLY), owned=True)
        if self._live:
            self._keeps_previous = True
            return os.fdopen(self._open_live(path), "wb")
        from evalstream.io.temporary import TemporaryFile

        try:
            self._temporary = TemporaryFile(path)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error
        os.fchmod(self._temporary.descriptor, _output_mode(path))
        return os.fdopen(self._temporary.descriptor, "wb", BUFFER_BYTES)

    def _open_live(self, path: str) -> int:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            return os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
        self._is_new = True
        return descriptor


class PackedOutput(contextlib.AbstractContextManager["PackedOutput"]):
    """A file for rows, compressed as its name says; a `live` one gets the bytes as they are.

    Raises CannotWrite, which names the file, Stopped as an Output does, and MissingExtra.
    """

    def __init__(self, path: str, *, live: bool = False, kind: OutputKind | None = None) -> None:
        self.path = path
        with writing(path):
            self._output = Output(path, live=live, kind=kind)
        codec = None if live else name_compression(path)
        self._packer: CompressingWriter | None = None
        if codec is not None:
            self._packer = self._open_packer(codec)

    def write(self, data: Bytes) -> None:
        """Add bytes."""
        with writing(self.path):
            (self._packer or self._output).write(data)

    def finish(self) -> None:
        """End the compressed stream, after which nothing can be added."""
        if self._packer is not None:
            with writing(self.path):
                self._packer.finish()

    def flush(self) -> None:
        """Write the bytes so far to the disk."""
        with writing(self.path):
            self._output.flush()

    def __exit__(self, *error: Any) -> None:
        """Put the file in its place, or remove it after an error."""
        with writing(self.path):
            self._output.__exit__(*error)

    def _open_packer(self, codec: str) -> CompressingWriter:
        """Return what compresses the rows; without its extra, nothing of the file remains."""
        from evalstream.io.compressors import CompressingWriter

        try:
            return CompressingWriter(self._output, codec)
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise


def _standard_writer(standard: IO[bytes]) -> Stream:
    """Return a writer to a standard stream, or the stream itself if it has no descriptor."""
    try:
        descriptor = standard.fileno()
    except io.UnsupportedOperation:
        return standard
    standard.flush()
    return PollingWriter(descriptor)


def _output_mode(path: str) -> int:
    with contextlib.suppress(OSError):
        return stat.S_IMODE(os.stat(path).st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def sync_file(path: str) -> None:
    """Write the content of a file to the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def begin_sync(descriptor: int) -> None:
    """Let the system begin to write a file to the disk, where it can: `sync_file` waits less."""
    begin = _sync_file_range()
    if begin is not None:
        begin(descriptor, 0, 0, _SYNC_FILE_RANGE_WRITE)


_SYNC_FILE_RANGE_WRITE: Final = 2


@lru_cache(maxsize=1)
def _sync_file_range() -> Callable[[int, int, int, int], int] | None:
    """Return the function of Linux, None elsewhere."""
    from ctypes import CDLL, c_int, c_int64, c_uint

    found = getattr(CDLL(None), "sync_file_range", None)
    if found is not None:
        found.argtypes = c_int, c_int64, c_int64, c_uint
    return found


def sync_folder(folder: str) -> None:
    """Make the names in a folder durable where the system can."""
    with contextlib.suppress(OSError):
        sync_file(folder)


STOP_WAIT_SECONDS: Final = 1.0
"""Seconds to wait for a reader that takes no bytes, once the process must stop."""

POLL_SECONDS: Final = 0.1
"""Seconds between two checks for a signal while a reader takes no bytes."""

BUFFER_BYTES: Final = 1 << 16
"""Number of bytes collected before they are written."""


def write_all(descriptor: int, data: Bytes) -> None:
    """Write bytes to a descriptor, waiting while its reader takes none.

    Once the process must stop, the reader has STOP_WAIT_SECONDS. Raises Stopped where it takes
    nothing in that time, BrokenPipeError where it is gone, and OSError.
    """
    left = memoryview(data)
    if not left:
        return
    poller = select.poll()
    poller.register(descriptor, select.POLLOUT)
    while left:
        _wait_until_writable(poller)
        # A write above the free space may block for good; only a later signal would end it.
        most = select.PIPE_BUF if STOPPING.last_signal is not None else MEBIBYTE
        left = left[os.write(descriptor, left[:most]) :]


def _wait_until_writable(poller: select.poll) -> None:
    """Wait until bytes can be written or writing fails. Raises Stopped."""
    waited = 0.0
    while not poller.poll(POLL_SECONDS * 1000):
        if STOPPING.last_signal is not None:
            waited += POLL_SECONDS
        if waited >= STOP_WAIT_SECONDS:
            STOPPING.check_again()


class PollingWriter:
    """Buffered writer to a descriptor, closed if `owned`; an error discards the buffer."""

    def __init__(self, descriptor: int, *, owned: bool = False) -> None:
        self._descriptor, self._owned = descriptor, owned
        self._buffer = bytearray()

    def write(self, data: Bytes) -> None:
        """Add bytes. Raises what `write_all` raises."""
        self._buffer += data
        if len(self._buffer) >= BUFFER_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the buffered bytes. Raises what `write_all` raises."""
        data, self._buffer = self._buffer, bytearray()
        write_all(self._descriptor, bytes(data))

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def close(self) -> None:
        """Write the buffered bytes, and close the descriptor if it is owned."""
        try:
            self.flush()
        finally:
            if self._owned:
                os.close(self._descriptor)
                self._owned = False
