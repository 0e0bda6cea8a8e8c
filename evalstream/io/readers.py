"""Readers of bytes that arrive once: descriptors, files and their state, wrappers of readers."""

from __future__ import annotations

import fcntl
import os
import select
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import Any, Final

from evalstream.model.block import MEBIBYTE, Bytes, ByteStream
from evalstream.model.data_class import NamedTuple
from evalstream.model.hashing import hash_function
from evalstream.model.signals import STOPPING
from evalstream.model.text import count_noun

YOUNG_NANOSECONDS: Final = 2_000_000_000
"""A file that changed within this time may change again with the same timestamps.

The coarsest clock of a file system in use ticks every 2 s (exFAT, FAT32).
"""


def is_settled(changed: int | None, taken: int) -> bool:
    """Tell whether a file that changed at a time shows any change after it was looked at."""
    return changed is not None and changed < taken - YOUNG_NANOSECONDS


class FileState(NamedTuple):
    """The identity and version of a file or folder.

    `seen` is a JSON value. `changed` is the time of the last change, in nanoseconds since the
    epoch; None where it is not known.
    """

    seen: Any
    changed: int | None


def file_state(path: str) -> FileState | None:
    """Return the state of a local file or folder, or None for anything else, such as a pipe.

    It includes the change time (ctime), which moves even where a modification time is restored. It
    does not include the device, whose number differs between the nodes of a shared file system.
    """
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            return _folder_state(path)
    except OSError:
        return FileState(["unreadable"], None)
    except ValueError:  # a name with a NUL character
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return FileState(["file", *_status_fields(status)], max(status.st_mtime_ns, status.st_ctime_ns))


def _folder_state(path: str) -> FileState:
    """Digest the contents of a folder and of all folders below, following links. Raises OSError.

    The targets of links are included, as is the resolved path of the folder: its name may matter.
    """
    digest = hash_function("sha256")()
    changed = 0
    remaining = [path]
    entered: set[tuple[int, int]] = set()
    while remaining:
        folder = remaining.pop()
        status = os.stat(folder)
        # A link can lead into a folder that was listed before, or into its own.
        if (status.st_dev, status.st_ino) in entered:
            continue
        entered.add((status.st_dev, status.st_ino))
        for name in sorted(os.listdir(folder)):
            place = os.path.join(folder, name)
            digest.update(os.fsencode(place) + b"\0")
            if os.path.islink(place):
                digest.update(os.fsencode(os.path.realpath(place)) + b"\0")
            try:
                status = os.stat(place)
            except FileNotFoundError:
                digest.update(b"leads nowhere\0")
                continue
            if stat.S_ISDIR(status.st_mode):
                digest.update(b"folder\0")
                remaining.append(place)
                continue
            digest.update(f"{stat.S_IFMT(status.st_mode)} {_status_fields(status)}\0".encode())
            changed = max(changed, status.st_mtime_ns, status.st_ctime_ns)
    real = os.fsencode(os.path.realpath(path)).decode(errors="backslashreplace")
    return FileState(["folder", real, digest.hexdigest()], changed)


def tree_state(path: str) -> FileState | None:
    """Return the state of all files below a folder: a digest, and the last change of one.

    Returns None where it holds links or hidden folders, whose files a search meets otherwise, or
    cannot be listed.
    """
    digest = hash_function("sha256")()
    changed = 0
    remaining = [path]
    try:
        while remaining:
            folder = remaining.pop()
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=attrgetter("name"))
            seen = [folder]
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                if entry.is_symlink() or (is_folder and entry.name.startswith(".")):
                    return None
                if is_folder:
                    remaining.append(entry.path)
                    seen += (entry.name, "folder")
                    continue
                status = entry.stat(follow_symlinks=False)
                changed = max(changed, status.st_mtime_ns, status.st_ctime_ns)
                seen += (entry.name, f"{stat.S_IFMT(status.st_mode)} {_status_fields(status)}")
            digest.update(os.fsencode("\0".join(seen)) + b"\0\0")
    except (OSError, ValueError):
        return None
    return FileState(digest.hexdigest(), changed)


def _status_fields(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def describe_change(path: str, before: os.stat_result) -> str | None:
    """Describe what changed in a file since it was opened, or return None.

    The change time (ctime) moves with every write, also where the modification time is restored
    afterwards; it also moves with new permissions or a new hard link.
    """
    try:
        now = os.stat(path)
    except OSError:
        return "it no longer exists"
    if (now.st_ino, now.st_dev) != (before.st_ino, before.st_dev):
        return "it was replaced by another file"
    if now.st_size != before.st_size:
        size = count_noun(before.st_size, "byte")
        return f"{size} when it was opened, {now.st_size:,} at the end"
    if now.st_mtime_ns != before.st_mtime_ns:
        return "its modification time changed"
    if now.st_ctime_ns != before.st_ctime_ns:
        return "its change time (ctime) changed: its content, permissions or links were changed"
    return None


class Watch:
    """States of files when they were opened, to detect later which of them changed."""

    def __init__(self) -> None:
        self._seen: list[tuple[str, Callable[[], str | None]]] = []

    def add(self, path: str, status: os.stat_result) -> None:
        """Add an open local file; only regular files are watched."""
        if stat.S_ISREG(status.st_mode):
            self._seen.append((path, partial(describe_change, path, status)))

    def add_remote(self, url: str, describe: Callable[[], str | None]) -> None:
        """Add an object, with what describes its change since it was opened."""
        self._seen.append((url, describe))

    def changes(self) -> Iterator[tuple[str, str]]:
        """Iterate over the files that changed, each by its first path, and the change."""
        reported: set[str] = set()
        for path, describe in self._seen:
            change = None if path in reported else describe()
            if change is not None:
                reported.add(path)
                yield path, change


READ_BYTES: Final = MEBIBYTE
"""Most bytes that one `read` returns."""

SIGNAL_MILLISECONDS: Final = 1000
"""How long a wait for bytes may overlook a signal."""


class DescriptorReader:
    """Reads a file descriptor; an `owned` one is closed at the end.

    The end is reported again and again: a terminal would wait for a second one.
    """

    def __init__(self, descriptor: int, *, owned: bool = False) -> None:
        self._descriptor, self._owned = descriptor, owned
        self._ended = False
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        with suppress(OSError, AttributeError):
            # The default buffer of a pipe is 64 KiB; a larger one saves context switches.
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, READ_BYTES)

    def read(self) -> bytes:
        """Return the available bytes, waiting until there are some; empty at the end."""
        if self._ended:
            return b""
        with STOPPING.interruptible():
            # A signal that comes right before the call does not interrupt it.
            while not self._poll.poll(SIGNAL_MILLISECONDS):
                pass
        data = os.read(self._descriptor, READ_BYTES)
        self._ended = not data
        return data

    def wait(self, seconds: float) -> bool:
        """Tell whether bytes, or the end, can be read within some seconds."""
        with STOPPING.interruptible():
            return self._ended or bool(self._poll.poll(seconds * 1000))

    def close(self) -> None:
        """Close the descriptor, unless it belongs to the caller."""
        if self._owned:
            os.close(self._descriptor)


def split_lines(pieces: Iterable[bytes], longest: int) -> Iterator[bytes]:
    """Iterate over lines without their ends; one of over `longest` bytes, cut, is the last."""
    pending: list[bytes] = []
    size = 0
    for piece in pieces:
        *lines, rest = piece.split(b"\n")
        if lines:
            yield b"".join([*pending, lines[0]])
            yield from lines[1:]
            pending, size = [], 0
        pending.append(rest)
        size += len(rest)
        if size > longest:
            break
    if size:
        yield b"".join(pending)


def read_start(reader: ByteStream, size: int, *ignored: type[BaseException]) -> bytes:
    """Return the first bytes, `size` or more; fewer at the end or after an `ignored` exception."""
    start = b""
    with suppress(*ignored):
        while len(start) < size and (data := reader.read()):
            start += data
    return start


class FileReader(ByteStream):
    """Reads a regular file, which has `size` bytes, from its start. Raises OSError."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close()
        self._path, self.opened = path, os.fstat(self._file.fileno())
        self.size = self.opened.st_size
        self.close: Callable[[], None] = self._file.close

    def read(self) -> bytes:
        """Return the next bytes."""
        return self._file.read(READ_BYTES) or b""

    def describe_change(self) -> str | None:
        """Describe what changed since the file was opened, or return None."""
        return describe_change(self._path, self.opened)

    def reopen(self) -> FileReader:
        """Return a reader of the file from its start. Raises OSError."""
        return FileReader(self._path)


class StoppableReader:
    """Wraps a reader; once the process must stop, each read raises Stopped.

    It must be the innermost wrapper, below all readers that buffer bytes, so that no bytes are
    lost.
    """

    def __init__(self, reader: ByteStream) -> None:
        self._reader, self.close = reader, reader.close

    def read(self) -> bytes:
        """Return the next bytes. Raises Stopped."""
        STOPPING.check_again()
        data = self._reader.read()
        if not data:
            # The signal often ends the writing process as well, so this end may not be the true
            # one.
            STOPPING.check_again()
        return data

    def wait(self, seconds: float) -> bool:
        """Tell whether `read` would return or raise within some seconds, Stopped included."""
        return STOPPING.last_signal is not None or self._reader.wait(seconds)


class TappedReader:
    """Wraps a reader, and passes its bytes to a function as they are read."""

    def __init__(self, reader: ByteStream, tap: Callable[[Bytes], object]) -> None:
        self._reader, self._tap = reader, tap
        self.wait, self.close = reader.wait, reader.close

    def read(self) -> bytes:
        """Return the next bytes, after passing them to the function."""
        data = self._reader.read()
        if data:
            self._tap(data)
        return data


class PrefixedReader:
    """Wraps a reader, and first returns bytes that were already read from it."""

    def __init__(self, data: bytes, reader: ByteStream) -> None:
        self._data, self._reader = data, reader
        self.close = reader.close

    def read(self) -> bytes:
        """Return the bytes that were already read, then those of the reader."""
        data, self._data = self._data, b""
        return data or self._reader.read()

    def wait(self, seconds: float) -> bool:
        """Tell whether bytes can be read within some seconds."""
        return bool(self._data) or self._reader.wait(seconds)
