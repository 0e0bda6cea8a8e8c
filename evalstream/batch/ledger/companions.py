"""The names in the folders of runs, listed once for all runs of a folder."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from evalstream.io.file_names import rows_named_like, without_ending
from evalstream.io.file_state import YOUNG_NANOSECONDS

MOST_NAMES: Final = 20_000
"""Most names kept in memory; in a larger folder each name is looked up by itself."""


_ENDINGS: Final = tuple(rows_named_like(""))


class _Listing(NamedTuple):
    """The names in a folder in lower case, and the state of the folder when they were listed.

    `names` is None for a folder with too many names.
    """

    state: tuple[int, ...]
    names: frozenset[str] | None


class CompanionFinder:
    """Finds the rows files that an aggregate may have, with one listing for many aggregates.

    A listing is used as long as the folder does not change. A change shows in the timestamps of
    the folder, except directly after another change: then the folder is listed again.
    """

    def __init__(self) -> None:
        self._listings: dict[str, _Listing] = {}
        self._kept = 0

    def beside(self, aggregate: str) -> Iterator[str]:
        """Iterate over the existing rows files named like an aggregate, links included."""
        folder, name = os.path.split(without_ending(aggregate))
        names = self._read_names(folder or os.curdir)
        # A file system may treat names as equal that differ in case or in their Unicode form.
        if names is None or not name.isascii():
            yield from filter(os.path.lexists, rows_named_like(aggregate))
            return
        stem = name.lower()
        for ending in [ending for ending in _ENDINGS if stem + ending in names]:
            path = without_ending(aggregate) + ending
            if os.path.lexists(path):
                yield path

    def _read_names(self, folder: str) -> frozenset[str] | None:
        """Return the names in a folder in lower case; None if it has too many or no listing."""
        now = time.time_ns()
        try:
            status = os.stat(folder)
            if not stat.S_ISDIR(status.st_mode):
                return None
            changed = max(status.st_mtime_ns, status.st_ctime_ns)
            state = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
            known = self._listings.get(folder)
            if known is not None and known.state == state:
                return known.names
            names = _list_folder(folder)
        except (OSError, ValueError):
            return None
        if changed < now - YOUNG_NANOSECONDS:
            self._keep(folder, _Listing(state, names))
        return names

    def _keep(self, folder: str, listing: _Listing) -> None:
        size = 1 + len(listing.names or ())
        if self._kept + size > MOST_NAMES:
            self._listings.clear()
            self._kept = 0
        self._listings[folder] = listing
        self._kept += size


def _list_folder(folder: str) -> frozenset[str] | None:
    """Return the names in a folder in lower case; None if it has too many. Raises OSError."""
    with os.scandir(folder) as entries:
        names = frozenset(entry.name.lower() for entry in islice(entries, MOST_NAMES))
        return names if next(entries, None) is None else None
