"""Resolution of paths inside a folder, without access to anything outside it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import Final

from evalstream.parsing.lazy_regex import LazyPattern

MOST_LINKS: Final = 40
"""Most symbolic links followed on the way to one file, the limit of Linux."""

MOST_FOLDERS: Final = 4_096
"""Most folders remembered on the way to files."""


class OutsideFolder(Exception):
    """A path leaves the folder: it is absolute, or it or a link climbs out."""


class FolderBoundary:
    """A folder that bounds all access: files in it may be read, and no others.

    It remembers which folders are not links, since most files are in the same few folders. In a
    snapshot of the Hub's cache a link to one of its blobs is a file.
    """

    def __init__(self, folder: str) -> None:
        self.real = os.path.realpath(folder)
        self._spellings = {self.real, os.path.abspath(folder)}
        self._start = f"{self.real.rstrip('/')}/"
        self._folders: set[str] = set()
        self._blobs = _blobs_of_snapshot(self.real)

    def resolve(self, path: str) -> str | None:
        """Return the path below the folder to which a path resolves through links.

        None where nothing exists there, or where links form a cycle. Raises OutsideFolder where the
        path leaves the folder; nothing outside is accessed before.
        """
        return self._resolve_links(path)[0]

    def file_at(self, path: str) -> str | None:
        """Return what `resolve` does for a regular file, None for anything else."""
        below, mode = self._resolve_links(path)
        return below if stat.S_ISREG(mode) else None

    def has_file(self, path: str) -> bool:
        """Tell whether a path below the folder resolves to a regular file inside it."""
        try:
            return self.file_at(path) is not None
        except OutsideFolder:
            return False

    def _resolve_links(self, path: str) -> tuple[str | None, int]:
        """Resolve a path; return also the mode of the file, 0 for a folder or nothing."""
        remaining = (self._below(path) if os.path.isabs(path) else _parts(path))[::-1]
        resolved_parts: list[str] = []
        links = mode = 0
        while remaining:
            part = remaining.pop()
            if part == os.pardir:
                if not resolved_parts:
                    raise OutsideFolder(path)
                resolved_parts.pop()
                mode = 0
                continue
            location = self._start + "/".join((*resolved_parts, part))
            mode = self._read_mode(location)
            if mode < 0:
                return None, 0
            if not stat.S_ISLNK(mode):
                resolved_parts.append(part)
                continue
            links += 1
            target = _target(location)
            if self._blobs is not None and self._is_blob(os.path.join(location, "..", target)):
                resolved_parts.append(part)
                mode = stat.S_IFREG
                continue
            if not target or links > MOST_LINKS:
                return None, 0
            if os.path.isabs(target):
                resolved_parts, parts = [], self._below(target)
            else:
                parts = _parts(target)
            remaining.extend(reversed(parts))
        return "/".join(resolved_parts), mode

    def _is_blob(self, path: str) -> bool:
        folder, name = os.path.split(os.path.normpath(path))
        return folder == self._blobs and stat.S_ISREG(self._read_mode(f"{folder}/{name}"))

    def _read_mode(self, location: str) -> int:
        """Return the mode of a file or link, 0 for a folder, -1 where nothing exists."""
        if location in self._folders:
            return 0
        mode = _read_own_mode(location)
        if not stat.S_ISDIR(mode):
            return mode or -1
        if len(self._folders) >= MOST_FOLDERS:
            self._folders.clear()
        self._folders.add(location)
        return 0

    def _below(self, path: str) -> list[str]:
        """Return the parts of an absolute path below the folder. Raises OutsideFolder."""
        for folder in self._spellings:
            start = f"{folder.rstrip('/')}/"
            if f"{path}/".startswith(start):
                return _parts(path[len(start) :])
        raise OutsideFolder(path)


def _blobs_of_snapshot(folder: str) -> str | None:
    """Return the folder of the files that a snapshot of the Hub's cache consists of links to.

    `folder` is a real path in a snapshot. Source: huggingface_hub, "Understand caching": files are
    in `datasets--OWNER--NAME/blobs`, links to them in `datasets--OWNER--NAME/snapshots/COMMIT`.
    """
    found = _SNAPSHOT.match(folder)
    if found is None:
        return None
    blobs = f"{found[1]}/blobs"
    return blobs if os.path.isdir(blobs) and not os.path.islink(blobs) else None


_SNAPSHOT: Final = LazyPattern(r"(.*/(?:datasets|models|spaces)--[^/]+)/snapshots(?:/|$)")


def files_inside(folder: str, names: Iterable[str]) -> list[str]:
    """Return those names, without slashes, of regular files in a folder; no link may lead out."""
    modes = [(name, _read_own_mode(os.path.join(folder, name))) for name in names]
    # Few folders have links.
    boundary = FolderBoundary(folder) if any(stat.S_ISLNK(mode) for _, mode in modes) else None
    return [
        name
        for name, mode in modes
        if stat.S_ISREG(mode) or (stat.S_ISLNK(mode) and boundary and boundary.has_file(name))
    ]


def _read_own_mode(path: str) -> int:
    """Return the mode of a file, folder or link itself, 0 where nothing exists."""
    try:
        return os.lstat(path).st_mode
    except (OSError, ValueError):
        return 0


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", os.curdir)]


def _target(location: str) -> str:
    """Return the target of a link, "" if it no longer exists."""
    try:
        return os.readlink(location)
    except OSError:
        return ""
