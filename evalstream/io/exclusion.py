"""Patterns of names that a search excludes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate


class Exclusion:
    """Patterns of excluded names, in which `*` matches any characters, slashes included.

    Each pattern is compared with the path below the searched folder and with its last name. The
    contents of an excluded folder are excluded.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [re.compile(translate(one.rstrip("/"))).match for one in patterns]

    def covers(self, path: str) -> bool:
        """Tell whether a path itself is excluded."""
        if not self._patterns:
            return False
        name = path.rpartition("/")[2]
        return any(matches(path) or matches(name) for matches in self._patterns)

    def covers_any(self, path: str) -> bool:
        """Tell whether a path, or a folder above it, is excluded."""
        if not self._patterns:
            return False
        parts = path.split("/")
        return any(self.covers("/".join(parts[: end + 1])) for end in range(len(parts)))
