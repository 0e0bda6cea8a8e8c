"""Resolution of paths inside a folder, without access to anything outside it."""

from __future__ import annotations

import os
import stat
from typing import Final

MOST_LINKS: Final = 40
"""Most symbolic links followed on the way to one file, the limit of Linux."""


class OutsideFolder(Exception):
    """A path leaves the folder: it is absolute, or it or a link climbs out."""


class FolderBoundary:
    """A folder that bounds all access: files in it may be read, and no others."""

    def __init__(self, folder: str) -> None:
        self.real = os.path.realpath(folder)
        self._spellings = {self.real, os.path.abspath(folder)}

    def resolved(self, path: str) -> str | None:
        """Return the path below the folder to which a path resolves through links.

        None where nothing exists there, or where links form a cycle. Raises OutsideFolder where the
        path leaves the folder; nothing outside is accessed before.
        """
        remaining = (self._below(path) if os.path.isabs(path) else _parts(path))[::-1]
        resolved_parts: list[str] = []
        links = 0
        while remaining:
            part = remaining.pop()
            if part == os.pardir:
                if not resolved_parts:
                    raise OutsideFolder(path)
                resolved_parts.pop()
                continue
            target = self._link(resolved_parts, part)
            if target is None:
                resolved_parts.append(part)
                continue
            links += 1
            if not target or links > MOST_LINKS:
                return None
            if os.path.isabs(target):
                resolved_parts, parts = [], self._below(target)
            else:
                parts = _parts(target)
            remaining.extend(reversed(parts))
        return "/".join(resolved_parts)

    def has_file(self, path: str) -> bool:
        """Tell whether a path below the folder resolves to a regular file inside it."""
        try:
            below = self.resolved(path)
            return below is not None and _is_regular(os.path.join(self.real, below))
        except OutsideFolder:
            return False

    def _link(self, resolved_parts: list[str], part: str) -> str | None:
        """Return the target of a link, None if it is not a link, "" if it does not exist."""
        location = os.path.join(self.real, *resolved_parts, part)
        try:
            is_link = stat.S_ISLNK(os.lstat(location).st_mode)
            return os.readlink(location) if is_link else None
        except (OSError, ValueError):
            return ""

    def _below(self, path: str) -> list[str]:
        """Return the parts of an absolute path below the folder. Raises OutsideFolder."""
        for folder in self._spellings:
            start = f"{folder.rstrip('/')}/"
            if f"{path}/".startswith(start):
                return _parts(path[len(start) :])
        raise OutsideFolder(path)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", os.curdir)]


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False
