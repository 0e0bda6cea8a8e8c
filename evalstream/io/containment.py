"""Where a path leads within a folder that was named, told without a look at anything outside."""

from __future__ import annotations

import os
import stat
from typing import Final

MOST_LINKS: Final = 40
"""How many links are followed on the way to one file, as Linux does."""


class LeadsOut(Exception):
    """A path leads out of the folder: it is absolute, climbs out of it, or a link does."""


class Inside:
    """A folder that was named: what lies in it may be looked at, and nothing else."""

    def __init__(self, folder: str) -> None:
        self.real = os.path.realpath(folder)
        self._spellings = {self.real, os.path.abspath(folder)}

    def resolved(self, path: str) -> str | None:
        """Return where a path below the folder leads through links, as a path below the folder.

        None where there is nothing, or where links lead in a circle. Raises LeadsOut where the
        path leaves the folder; nothing outside is looked at before.
        """
        waiting = (self._below(path) if os.path.isabs(path) else _parts(path))[::-1]
        at: list[str] = []
        links = 0
        while waiting:
            part = waiting.pop()
            if part == os.pardir:
                if not at:
                    raise LeadsOut(path)
                at.pop()
                continue
            target = self._link(at, part)
            if target is None:
                at.append(part)
                continue
            links += 1
            if not target or links > MOST_LINKS:
                return None
            if os.path.isabs(target):
                at, parts = [], self._below(target)
            else:
                parts = _parts(target)
            waiting.extend(reversed(parts))
        return "/".join(at)

    def has_file(self, path: str) -> bool:
        """Tell whether a path below the folder leads to a regular file inside of it."""
        try:
            below = self.resolved(path)
            return below is not None and _is_regular(os.path.join(self.real, below))
        except LeadsOut:
            return False

    def _link(self, at: list[str], part: str) -> str | None:
        """Return what a link holds, None for what is no link, "" where there is nothing."""
        here = os.path.join(self.real, *at, part)
        try:
            is_link = stat.S_ISLNK(os.lstat(here).st_mode)
            return os.readlink(here) if is_link else None
        except (OSError, ValueError):
            return ""

    def _below(self, path: str) -> list[str]:
        """Return the parts of an absolute path below the folder. Raises LeadsOut."""
        for folder in self._spellings:
            start = f"{folder.rstrip('/')}/"
            if f"{path}/".startswith(start):
                return _parts(path[len(start) :])
        raise LeadsOut(path)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", os.curdir)]


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False
