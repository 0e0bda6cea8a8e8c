"""File states: detection of changes since a file was opened, or since an earlier check."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from operator import attrgetter
from typing import Any, Final

from evalstream.model.data_class import NamedTuple

YOUNG_NANOSECONDS: Final = 2_000_000_000
"""A file that changed within this time may change again with the same timestamps.

The coarsest clock of a file system in use ticks every 2 s (exFAT, FAT32).
"""


class FileState(NamedTuple):
    """The identity and version of a file or folder.

    `seen` is a JSON value. `changed` is the time of the last change, in nanoseconds since the
    epoch; None where it is not known.
    """

    seen: list[Any]
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
    digest = hashlib.sha256()
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


class TreeState(NamedTuple):
    """The state of all files below a folder: a digest, and the time of the last change of one."""

    seen: str
    changed: int


def tree_state(path: str) -> TreeState | None:
    """Return the state of all files below a folder, as `file_state` does for one, by their names.

    Returns None where it holds links or hidden folders, whose files a search meets otherwise, or
    cannot be listed.
    """
    digest = hashlib.sha256()
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
    return TreeState(digest.hexdigest(), changed)


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
        return f"{before.st_size:,} bytes when it was opened, {now.st_size:,} at the end"
    if now.st_mtime_ns != before.st_mtime_ns:
        return "its modification time changed"
    if now.st_ctime_ns != before.st_ctime_ns:
        return "its change time (ctime) changed: its content, permissions or links were changed"
    return None


class Watch:
    """States of local files when they were opened, to detect later which of them changed."""

    def __init__(self) -> None:
        self._seen: list[tuple[str, os.stat_result]] = []

    def add(self, path: str, status: os.stat_result) -> None:
        """Add an open file; only regular files are watched."""
        if stat.S_ISREG(status.st_mode):
            self._seen.append((path, status))

    def changes(self) -> Iterator[tuple[str, str]]:
        """Iterate over the files that changed, each by its first path, and the change."""
        reported: set[str] = set()
        for path, status in self._seen:
            change = None if path in reported else describe_change(path, status)
            if change is not None:
                reported.add(path)
                yield path, change
