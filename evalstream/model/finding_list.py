"""A growing list of findings: in memory up to a bound, then in a temporary file."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import IO, Final

from evalstream.model.finding import Finding

IN_MEMORY: Final = 20_000


class FindingList:
    """A list of findings that can be appended to and iterated over repeatedly."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._in_memory = in_memory
        self._recent: list[Finding] = []
        self._file: IO[bytes] | None = None

    def append(self, finding: Finding) -> None:
        """Append a finding."""
        self._recent.append(finding)
        if len(self._recent) >= self._in_memory:
            # Few checks have so many findings, and these imports take 4 ms.
            import pickle
            import tempfile

            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="evalstream-")  # noqa: SIM115 - lives as long as this
                weakref.finalize(self, self._file.close)
            self._file.seek(0, 2)
            pickle.dump([tuple(finding) for finding in self._recent], self._file)
            self._recent.clear()

    def __iter__(self) -> Iterator[Finding]:
        """Iterate over the findings in the order in which they were appended."""
        if self._file is not None:
            import pickle

            place, end = 0, self._file.seek(0, 2)
            while place < end:
                self._file.seek(place)
                batch = pickle.load(self._file)  # noqa: S301 - our own temporary file
                place = self._file.tell()
                yield from (Finding(*fields) for fields in batch)
        yield from list(self._recent)
