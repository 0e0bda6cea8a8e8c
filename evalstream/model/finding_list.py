"""Findings that are kept: in memory while they are few, on disk past a bound."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import IO, Final

from evalstream.model.finding import Finding

IN_MEMORY: Final = 20_000


class FindingList:
    """A list of findings that only grows and can be iterated over again and again."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._in_memory = in_memory
        self._recent: list[Finding] = []
        self._file: IO[bytes] | None = None

    def append(self, finding: Finding) -> None:
        """Take one more finding."""
        self._recent.append(finding)
        if len(self._recent) >= self._in_memory:
            # Few checks find so much, and these take 4 ms to load.
            import pickle
            import tempfile

            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="evalstream-")  # noqa: SIM115 - lives as long as this
                weakref.finalize(self, self._file.close)
            self._file.seek(0, 2)
            pickle.dump([tuple(finding) for finding in self._recent], self._file)
            self._recent.clear()

    def __iter__(self) -> Iterator[Finding]:
        """Iterate over the findings in the order in which they came."""
        if self._file is not None:
            import pickle

            place, end = 0, self._file.seek(0, 2)
            while place < end:
                self._file.seek(place)
                batch = pickle.load(self._file)  # noqa: S301 - our own temporary file
                place = self._file.tell()
                yield from (Finding(*fields) for fields in batch)
        yield from list(self._recent)
