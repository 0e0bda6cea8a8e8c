"""A temporary file beside the one that it is to become, which a later call knows if it is left."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from threading import Lock
from typing import Final

ENDING: Final = ".evalstream"

MOST: Final = 16
"""How many names a temporary file may have: so many calls may write one file at the same time."""

LONGEST_NAME: Final = 200
"""The longest name, in bytes, that stands in that of its temporary file."""

_OPENING: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAKING: Final = _OPENING | os.O_CREAT | os.O_EXCL
_BUSY: Final = (errno.EAGAIN, errno.EACCES)


class TemporaryFile:
    """An empty file of our own beside `path`, locked while this process has it.

    Its name is one of a few that follow from the name of `path`. What an earlier call left there
    when it was killed is known by such a name and by its lock, which ended with the process: it
    is taken over or removed. Where the file system knows no locks it stays. Raises OSError.
    """

    def __init__(self, path: str) -> None:
        self.name, self.descriptor = "", -1
        for name in temporary_names(path):
            descriptor = _claimed(name, makes=not self.name)
            if descriptor is None:
                continue
            if self.name:
                _remove(name)
                os.close(descriptor)
            else:
                self.name, self.descriptor = name, descriptor
        if not self.name:
            import tempfile

            folder, name = os.path.split(path)
            self.descriptor, self.name = tempfile.mkstemp(ENDING, f".{name}.", folder or os.curdir)

    def become(self, path: str) -> None:
        """Take the place of a file, or be it where there is none. Raises OSError."""
        os.replace(self.name, path)
        _OURS.leave(self.name)

    def remove(self) -> None:
        """Delete the file, if it did not become another."""
        _remove(self.name)


class _Ours:
    """The temporary files that this process has: it is not kept out by locks of its own."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._lock = Lock()

    def enter(self, name: str) -> bool:
        """Take a name; tell whether it was free."""
        with self._lock:
            is_free = name not in self._names
            self._names.add(name)
        return is_free

    def leave(self, name: str) -> None:
        """Let go of a name."""
        with self._lock:
            self._names.discard(name)


_OURS: Final = _Ours()


def temporary_names(path: str) -> Iterator[str]:
    """Name the files that may be the temporary one of a path, there or not."""
    folder, name = os.path.split(os.path.abspath(path))
    written = os.fsencode(name)
    if len(written) > LONGEST_NAME:
        name = hashlib.sha256(written).hexdigest()
    for number in range(MOST):
        yield os.path.join(folder, f".{name}.{number}{ENDING}")


def _claimed(name: str, *, makes: bool) -> int | None:
    """Open and lock a file that has no owner; None where there is none. It may be made."""
    if not _OURS.enter(name):
        return None
    try:
        descriptor = _opened(name, makes=makes)
    except BaseException:
        _OURS.leave(name)
        raise
    if descriptor is None:
        _OURS.leave(name)
    return descriptor


def _opened(name: str, *, makes: bool) -> int | None:
    if makes:
        with suppress(FileExistsError):
            descriptor = os.open(name, _MAKING, 0o600)
            return descriptor if _is_taken(descriptor, name, is_new=True) else None
    try:
        descriptor = os.open(name, _OPENING)
    except OSError:
        return None
    return descriptor if _is_taken(descriptor, name, is_new=False) else None


def _is_taken(descriptor: int, name: str, *, is_new: bool) -> bool:
    """Lock an open file and empty it, or close it where it is not ours to take."""
    try:
        has_lock = _lock(descriptor)
        if is_new and has_lock is not False:
            return True
        if has_lock and _is_plain(descriptor, name):
            os.ftruncate(descriptor, 0)
            return True
    except OSError:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return False


def _lock(descriptor: int) -> bool | None:
    """Tell whether a file could be locked, None where its file system knows no locks."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in _BUSY else None
    return True


def _is_plain(descriptor: int, name: str) -> bool:
    """Tell whether an open file still has its name, is no other name's, and is this user's.

    Its owner may have given it another name while it was opened.
    """
    status = os.fstat(descriptor)
    try:
        now = os.stat(name, follow_symlinks=False)
    except FileNotFoundError:
        return False
    is_sole = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    return is_sole and os.path.samestat(now, status) and status.st_uid == os.geteuid()


def _remove(name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name)
    _OURS.leave(name)
