"""Names that a search leaves out on request."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate


class Exclusion:
    """Patterns of names to be left out; in them `*` stands for any characters, slashes too.

    Each is compared with a path below the folder that is searched and with its last name. What
    lies in a folder that is left out is left out with it.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [re.compile(translate(one.rstrip("/"))).match for one in patterns]

    def covers(self, path: str) -> bool:
        """Tell whether a path itself is left out."""
        if not self._patterns:
            return False
        name = path.rpartition("/")[2]
        return any(matches(path) or matches(name) for matches in self._patterns)

    def covers_any(self, path: str) -> bool:
        """Tell whether a path, or a folder above it, is left out."""
        if not self._patterns:
            return False
        parts = path.split("/")
        return any(self.covers("/".join(parts[: end + 1])) for end in range(len(parts)))
