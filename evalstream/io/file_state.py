"""Whether a file is still the one that was opened, or that an earlier check has seen."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from typing import Any, NamedTuple


class FileState(NamedTuple):
    """What tells a file or folder from another one, and from itself after a change.

    `seen` is JSON. `changed` is when it last changed, in nanoseconds since the epoch; None where
    that cannot be told.
    """

    seen: list[Any]
    changed: int | None


def file_state(path: str) -> FileState | None:
    """Return the marks of a local file or folder, None for what is neither, such as a pipe.

    The change time (ctime) is among them: it moves even where a modification time is put back.
    The device is not: a shared file system has another number on each node.
    """
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            return _folder_marks(path)
    except OSError:
        return FileState(["unreadable"], None)
    except ValueError:  # a name with a NUL in it
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return FileState(["file", *_marks(status)], max(status.st_mtime_ns, status.st_ctime_ns))


def _folder_marks(path: str) -> FileState:
    """Digest what lies in a folder and below it, links followed. Raises OSError.

    Where a link leads is part of it, as is where the folder itself does: its own name may matter.
    """
    digest = hashlib.sha256()
    changed = 0
    waiting = [path]
    entered: set[tuple[int, int]] = set()
    while waiting:
        folder = waiting.pop()
        status = os.stat(folder)
        # A link can lead into a folder that was listed, or into its own.
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
                waiting.append(place)
                continue
            digest.update(f"{stat.S_IFMT(status.st_mode)} {_marks(status)}\0".encode())
            changed = max(changed, status.st_mtime_ns, status.st_ctime_ns)
    real = os.fsencode(os.path.realpath(path)).decode(errors="backslashreplace")
    return FileState(["folder", real, digest.hexdigest()], changed)


def _marks(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def describe_change(path: str, before: os.stat_result) -> str | None:
    """Say what changed about a file since it was opened, None if nothing did.

    The change time (ctime) moves with every write, also where the modification time is put back
    behind it; it moves with other permissions or one more hard link, too.
    """
    try:
        now = os.stat(path)
    except OSError:
        return "it is gone"
    if (now.st_ino, now.st_dev) != (before.st_ino, before.st_dev):
        return "another file stands in its place"
    if now.st_size != before.st_size:
        return f"{before.st_size:,} bytes when it was opened, {now.st_size:,} at the end"
    if now.st_mtime_ns != before.st_mtime_ns:
        return "its modification time moved"
    if now.st_ctime_ns != before.st_ctime_ns:
        return (
            "its change time (ctime) moved: it was written to, or its permissions or links changed"
        )
    return None


class Watch:
    """How local files looked when they were opened, to tell in the end which of them changed."""

    def __init__(self) -> None:
        self._seen: list[tuple[str, os.stat_result]] = []

    def add(self, path: str, status: os.stat_result) -> None:
        """Take a file that is open; only regular ones are watched."""
        if stat.S_ISREG(status.st_mode):
            self._seen.append((path, status))

    def changes(self) -> Iterator[tuple[str, str]]:
        """Give each file that is no longer what it was, by its first path, and what changed."""
        told: set[str] = set()
        for path, status in self._seen:
            change = None if path in told else describe_change(path, status)
            if change is not None:
                told.add(path)
                yield path, change
