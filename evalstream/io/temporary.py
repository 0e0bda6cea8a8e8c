"""Temporary file next to its final name, which a later call can identify and reuse."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from evalstream.model.hashing import hash_function

ENDING: Final = ".evalstream"

MOST: Final = 16
"""Number of possible names of a temporary file: the most calls that can write one file at a time.
"""

LONGEST_NAME: Final = 200
"""Longest name, in bytes, that is part of the temporary name; a longer one is hashed."""

_OPEN_FLAGS: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE_FLAGS: Final = _OPEN_FLAGS | os.O_CREAT | os.O_EXCL
_BUSY: Final = (errno.EAGAIN, errno.EACCES)


class TemporaryFile:
    """An empty file next to `path`, locked while this process owns it.

    Its name is one of a fixed list derived from the name of `path`. A file that a killed call left
    is identified by such a name and by its free lock: it is reused or removed. On a file system
    without locks it stays. Raises OSError.
    """

    def __init__(self, path: str) -> None:
        self.name, self.descriptor = "", -1
        for name in temporary_names(path):
            if self.name and not os.path.lexists(name):
                continue
            _remove_second_name(name, path)
            descriptor = _claim(name, create=not self.name)
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

    def rename_to(self, path: str) -> None:
        """Rename the file to `path`, replacing an existing one. Raises OSError."""
        os.replace(self.name, path)
        _OWNED.pop(self.name, None)

    def move_to(self, path: str) -> bool:
        """Rename the file to `path` unless a file is there; tell whether it did. Raises OSError."""
        try:
            move_to_free_name(self.name, path)
        except FileExistsError:
            return False
        _OWNED.pop(self.name, None)
        return True

    def remove(self) -> None:
        """Delete the file, if it was not renamed."""
        _remove(self.name)


_OWNED: Final[dict[str, object]] = {}
"""The temporary files of this process, whose locks do not exclude the process itself."""


def remove_abandoned(path: str) -> None:
    """Remove the temporary files of `path` whose calls were killed. Raises OSError."""
    for name in temporary_names(path):
        _remove_second_name(name, path)
        descriptor = _claim(name, create=False)
        if descriptor is not None:
            _remove(name)
            os.close(descriptor)


def is_temporary_name(name: str) -> bool:
    """Tell whether a file, by its name without a folder, may be one that a killed call left."""
    return name.startswith(".") and name.endswith(ENDING)


def move_to_free_name(source: str, target: str) -> None:
    """Rename a file unless the new name is taken. Raises FileExistsError, and OSError."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no links.
        if os.path.lexists(target):
            raise FileExistsError(target) from None
        os.rename(source, target)
    else:
        # Another call that writes the same file may have removed it.
        with suppress(FileNotFoundError):
            os.unlink(source)


def temporary_names(path: str) -> Iterator[str]:
    """Iterate over the possible names of the temporary file of a path."""
    folder, name = os.path.split(os.path.abspath(path))
    written = os.fsencode(name)
    if len(written) > LONGEST_NAME:
        name = hash_function("sha256")(written).hexdigest()
    for number in range(MOST):
        yield os.path.join(folder, f".{name}.{number}{ENDING}")


def _claim(name: str, *, create: bool) -> int | None:
    """Open and lock a file without an owner, creating it with `create`; None if not possible."""
    mark = object()
    if _OWNED.setdefault(name, mark) is not mark:
        return None
    try:
        descriptor = _open_and_lock(name, create=create)
    except BaseException:
        _OWNED.pop(name, None)
        raise
    if descriptor is None:
        _OWNED.pop(name, None)
    return descriptor


def _open_and_lock(name: str, *, create: bool) -> int | None:
    if create:
        with suppress(FileExistsError):
            descriptor = os.open(name, _CREATE_FLAGS, 0o600)
            return descriptor if _acquire(descriptor, name, is_new=True) else None
    try:
        descriptor = os.open(name, _OPEN_FLAGS)
    except OSError:
        return None
    return descriptor if _acquire(descriptor, name, is_new=False) else None


def _acquire(descriptor: int, name: str, *, is_new: bool) -> bool:
    """Lock an open file and empty it, or close it where another process owns it."""
    try:
        has_lock = _lock(descriptor)
        if is_new and has_lock is not False:
            return True
        if has_lock and _is_ours(descriptor, name):
            os.ftruncate(descriptor, 0)
            return True
    except OSError:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return False


def _lock(descriptor: int) -> bool | None:
    """Tell whether a file could be locked; None where its file system has no locks."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in _BUSY else None
    return True


def _is_ours(descriptor: int, name: str) -> bool:
    """Tell whether an open file still has its name alone, and belongs to this user."""
    status = os.fstat(descriptor)
    try:
        now = os.stat(name, follow_symlinks=False)
    except FileNotFoundError:
        return False
    is_sole = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    return is_sole and os.path.samestat(now, status) and status.st_uid == os.geteuid()


def _remove_second_name(name: str, path: str) -> None:
    """Remove a temporary name of the complete file: its call was killed as it got its own."""
    with suppress(OSError):
        if os.path.samestat(os.lstat(name), os.stat(path)):
            os.unlink(name)


def _remove(name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name)
    _OWNED.pop(name, None)
