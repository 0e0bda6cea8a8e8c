"""The files of a store, in a folder or below a URL: listed, and read in pieces."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from typing import Final, Protocol

from evalstream.discovery.local import join_path
from evalstream.io.names import HUB, is_remote, printable, url_scheme
from evalstream.io.readers import describe_change, file_state, is_settled
from evalstream.io.remote import Listed, RemoteReader, as_prefix, list_objects
from evalstream.io.spill_table import SpillTable, encode_name
from evalstream.model.block import MEBIBYTE
from evalstream.model.errors import describe_error
from evalstream.model.finding import SpilledList
from evalstream.model.signals import STOPPING
from evalstream.store.layout import DATA

NOWHERE: Final = -1
"""The size of a link that leads nowhere."""

_PAGE: Final = 1000


class FileMoved(OSError):
    """A file changed while it was read, or is gone though it was listed."""


class StoreFiles(Protocol):
    """The files of a store by their paths below its root, with `/` between the parts."""

    root: str
    is_pinned: bool
    """Whether what is read cannot change, as at a commit."""

    def pages(self) -> Iterator[list[Listed]]:
        """List all files, in pages. Raises OSError, CannotCheck."""

    def join(self, path: str) -> str:
        """Return the path or URL of a file."""

    def read(self, path: str) -> Iterator[bytes]:
        """Iterate over the bytes of a file. Raises FileNotFoundError, FileMoved, OSError."""

    def mark(self, path: str) -> str | None:
        """Return what another version of a listed file has not, None where nothing is known."""


def open_store(root: str) -> StoreFiles:
    """Return the files of a store by its folder or URL."""
    return RemoteFiles(root) if is_remote(root) else LocalFiles(root)


def read_small(files: StoreFiles, path: str, most: int = 16 * MEBIBYTE) -> bytes:
    """Return a file of at most `most` bytes. Raises OSError."""
    data = bytearray()
    for piece in files.read(path):
        data += piece
        if len(data) > most:
            reason = f"it has more than {most:,} bytes"
            raise OSError(errno.EFBIG, reason, files.join(path))
    return bytes(data)


def describe_failure(error: Exception, root: str) -> str:
    """Say why something could not be read, and what, unless it is the root."""
    place = getattr(error, "filename", None) or root
    reason = describe_error(error)
    return reason if place == root else f"{printable(place)}: {reason}"


def list_files(files: StoreFiles) -> SpilledList[Listed]:
    """Return the listing of all files, on disk past a bound. Raises OSError, CannotCheck."""
    listed = SpilledList[Listed](Listed)
    for page in files.pages():
        for one in page:
            listed.append(one)
    return listed


def hash_file(files: StoreFiles, path: str) -> str:
    """Return the SHA-256 of a file in hex digits. Raises OSError."""
    digest = hashlib.sha256()
    for piece in files.read(path):
        digest.update(piece)
    return digest.hexdigest()


class LocalFiles:
    """The files below a folder; links are followed, each folder once."""

    is_pinned = False

    def __init__(self, root: str) -> None:
        self.root = root

    def pages(self) -> Iterator[list[Listed]]:
        """List all files but hidden ones, folder by folder, in the order of their names."""
        waiting, entered = [""], set[tuple[int, int]]()
        while waiting:
            STOPPING.check()
            folder = waiting.pop()
            status = os.stat(self.join(folder))
            if (status.st_dev, status.st_ino) in entered:
                continue
            entered.add((status.st_dev, status.st_ino))
            files, folders = self._scan(folder)
            waiting += reversed(folders)
            for start in range(0, len(files), _PAGE):
                yield files[start : start + _PAGE]

    def _scan(self, folder: str) -> tuple[list[Listed], list[str]]:
        files, folders = [], []
        has_sizes = not folder.startswith(DATA)  # sizes there are not compared
        with os.scandir(self.join(folder)) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                if entry.name.startswith("."):
                    continue
                try:
                    is_folder = entry.is_dir()
                    size = entry.stat().st_size if has_sizes or entry.is_symlink() else None
                except OSError:
                    is_folder, size = False, NOWHERE
                if is_folder:
                    folders.append(f"{folder}{entry.name}/")
                else:
                    files.append(Listed(folder + entry.name, size))
        return files, folders

    def join(self, path: str) -> str:
        """Return the path of a file."""
        return join_path(self.root, path)

    def read(self, path: str) -> Iterator[bytes]:
        """Iterate over the bytes of a regular file."""
        place = self.join(path)
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise FileNotFoundError(f"{place} is not a file")
            left = before.st_size
            while left > 0 and (piece := os.read(descriptor, min(left, MEBIBYTE))):
                left -= len(piece)
                yield piece
            now = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise FileMoved(describe_change(place, before) or "it changed")

    def mark(self, path: str) -> str | None:
        """Return size, times and inode, None while the file may change without a trace."""
        import time

        state = file_state(self.join(path))
        if state is None or not is_settled(state.changed, time.time_ns()):
            return None
        return ":".join(map(str, state.seen))


class RemoteFiles:
    """The objects below a URL; their marks are kept on disk as they are listed."""

    def __init__(self, root: str) -> None:
        self.root = as_prefix(root)
        self.is_pinned = url_scheme(self.root) == HUB
        self._marks = SpillTable("CREATE TABLE mark (name BLOB PRIMARY KEY, mark TEXT)")

    def pages(self) -> Iterator[list[Listed]]:
        """List all objects, in the order of the host."""
        for page in list_objects(self.root):
            named = ((encode_name(one.path), one.mark) for one in page if one.mark)
            self._marks.change("INSERT OR IGNORE INTO mark VALUES (?, ?)", named)
            yield page

    def join(self, path: str) -> str:
        """Return the URL of an object."""
        return self.root + path

    def read(self, path: str) -> Iterator[bytes]:
        """Iterate over the bytes of an object."""
        reader = RemoteReader(self.root + path)
        try:
            while piece := reader.read():
                yield piece
            change = reader.describe_change()
        finally:
            reader.close()
        if change is not None:
            raise FileMoved(change)

    def mark(self, path: str) -> str | None:
        """Return the mark that the listing gave."""
        found = self._marks.rows("SELECT mark FROM mark WHERE name = ?", encode_name(path))
        return str(found[0][0]) if found else None
