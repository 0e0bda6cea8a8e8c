"""Findings by the file that they are about, in a temporary database that spills to disk."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Iterator

from evalstream.model.finding import Finding, Severity


class FindingsByFile:
    """Keeps the first findings of each rule and severity about each file.

    `most` is how many of a rule and severity are kept for a file. Findings of one file come in a
    row, and once more where runs are compared; then as many are kept again.
    """

    def __init__(self, most: int) -> None:
        import sqlite3  # it takes 5 ms, also where a file is only to be recognised

        self._most = most
        self._file: str | None = None
        self._counts: dict[tuple[str, Severity], int] = {}
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._base.close)
        self._base.executescript(
            """
            PRAGMA journal_mode = OFF;
            PRAGMA synchronous = OFF;
            CREATE TABLE findings (number INTEGER PRIMARY KEY, file BLOB, finding BLOB);
            CREATE INDEX files ON findings (file);
            CREATE TABLE claimed (file BLOB PRIMARY KEY) WITHOUT ROWID;
            BEGIN;
            """
        )

    def add(self, finding: Finding) -> None:
        """Keep a finding, unless enough like it are kept."""
        if finding.file != self._file:
            self._file, self._counts = finding.file, {}
        kind = finding.code, finding.severity
        count = self._counts.get(kind, 0)
        if count < self._most:
            self._counts[kind] = count + 1
            row = (_key(finding.file), pickle.dumps(tuple(finding)))
            self._base.execute("INSERT INTO findings (file, finding) VALUES (?, ?)", row)

    def claim(self, file: str) -> None:
        """Note that a file belongs to a run, whether it has findings or not."""
        self._base.execute("INSERT OR IGNORE INTO claimed VALUES (?)", (_key(file),))

    def of(self, file: str) -> Iterator[Finding]:
        """Iterate over what is kept about a file, in order."""
        query = "SELECT finding FROM findings WHERE file = ? ORDER BY number"
        for (data,) in self._base.execute(query, (_key(file),)):
            yield Finding(*pickle.loads(data))  # noqa: S301 - our own temporary database

    def list_unclaimed(self) -> list[str]:
        """Return the files that belong to no run, in the order of their findings."""
        query = """SELECT file FROM findings WHERE file NOT IN (SELECT file FROM claimed)
            GROUP BY file ORDER BY min(number)"""
        return [_name(key) for (key,) in self._base.execute(query)]


def _key(file: str) -> bytes:
    return file.encode(errors="surrogatepass")


def _name(key: bytes) -> str:
    return key.decode(errors="surrogatepass")
