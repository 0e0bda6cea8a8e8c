"""Where a run is written before it gets its place: a folder that a later call can remove."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import IO, Final

from evalstream.io.names import printable
from evalstream.io.output import begin_sync, sync_folder
from evalstream.io.temporary import ENDING
from evalstream.model.errors import CannotWrite, describe_error

PREFIX: Final = ".migrate-"
LOCK: Final = "lock"


class Staging(AbstractContextManager["Staging"]):
    """A folder for runs that are not complete, below the target or among temporary files.

    It is locked as long as its process lives. Those that killed calls left in the same place are
    removed. Use it as a context manager. Raises OSError.
    """

    def __init__(self, target: str | None) -> None:
        self._made = [] if target is None else _missing_folders(target)
        with nullcontext(False) if target is None else lock_folder(target) as is_locked:
            if target is not None:
                _remove_abandoned(target, is_locked=is_locked)
            self.folder = tempfile.mkdtemp(ENDING, PREFIX, target)
            path = os.path.join(self.folder, LOCK)
            self._lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
            with suppress(OSError):
                # Not lockf, whose locks do not keep out other threads of the process.
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._is_beside_target = target is not None
        self._files: list[str] = []
        self._folders = {self.folder}
        self._unsynced: set[str] = set()

    def __exit__(self, *_: object) -> None:
        """Make the names of placed files durable, and remove the folder and all in it.

        A target that did not exist before goes as well if it is empty.
        """
        for folder in self._unsynced:
            sync_folder(folder)
        _remove(self.folder)
        os.close(self._lock)
        with suppress(OSError):
            for folder in self._made:
                os.rmdir(folder)

    def path(self, relative: str) -> str:
        """Return the path of a file in it, also for a path from the root, and make its folders."""
        path = f"{self.folder}/{relative.removeprefix('/')}"
        folder = os.path.dirname(path)
        if folder not in self._folders:
            os.makedirs(folder, exist_ok=True)
            self._folders.add(folder)
        self._files.append(path)
        return path

    @contextmanager
    def open(self, relative: str) -> Iterator[IO[bytes]]:
        """Open a new file in it. Raises CannotWrite, also for any other OSError meanwhile."""
        try:
            with open(self.path(relative), "xb") as file:
                yield file
                file.flush()
                if self._is_beside_target:
                    begin_sync(file.fileno())
        except OSError as error:
            raise CannotWrite(f"{printable(self.folder)}: {describe_error(error)}") from error

    def write(self, relative: str, text: bytes) -> str:
        """Write a file in it and return its path. Raises CannotWrite."""
        with self.open(relative) as file:
            file.write(text)
        return file.name

    def sync_later(self, folder: str) -> None:
        """Make the names in a folder durable in the end: once for all runs that lie there."""
        self._unsynced.add(folder)

    def clear(self) -> None:
        """Remove the files that are left in it; the folders stay for the next run."""
        for path in self._files:
            with suppress(FileNotFoundError):
                os.unlink(path)
        self._files.clear()


def _missing_folders(path: str) -> list[str]:
    """Return a folder and those above it, as far as they do not exist."""
    missing, folder = [], os.path.abspath(path)
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def remove_leftovers(folder: str) -> None:
    """Remove the folders of killed calls. Nothing is raised: those that stay do no harm."""
    with suppress(OSError), lock_folder(folder) as is_locked:
        _remove_abandoned(folder, is_locked=is_locked)


@contextmanager
def lock_folder(folder: str) -> Iterator[bool]:
    """Make a folder and keep other calls from placing files in it; tell whether that works."""
    os.makedirs(folder, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def _remove_abandoned(target: str, *, is_locked: bool) -> None:
    """Remove the folders of calls that were killed; `target` may be locked."""
    with os.scandir(target) as entries:
        names = [
            entry.path
            for entry in entries
            if entry.name.startswith(PREFIX)
            and entry.name.endswith(ENDING)
            and entry.is_dir(follow_symlinks=False)
        ]
    for path in names:
        if _is_abandoned(path):
            _remove(path)
        elif is_locked and not os.path.lexists(os.path.join(path, LOCK)):
            # Its call was killed before it made the lock. What is in it would not be ours.
            with suppress(OSError):
                os.rmdir(path)


def _remove(folder: str) -> None:
    """Remove a folder, its lock last: without it a later call would not know the folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != LOCK:
                with suppress(OSError):
                    os.unlink(entry.path)
    shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: str) -> bool:
    """Tell whether the process of a folder with a lock has ended."""
    try:
        descriptor = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
