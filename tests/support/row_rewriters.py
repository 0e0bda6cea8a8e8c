"""Rewriters of rows for tests, which worker processes import, too."""

import os
import signal
from pathlib import Path

from evalstream.engine.block_rewriting import LeftRow, RewrittenBlock
from evalstream.model.changes import RENAMED, Change, ChangeTally, Example

OLD, NEW = b'"old"', b'"newer"'
BAD = b"BAD"
RENAMING = Change(RENAMED, "/old")
REASON = "a bad row"


class Unchanged:
    """Gives back what it is given."""

    def rewrite(self, data: bytes) -> RewrittenBlock:
        """Rewrite nothing."""
        return RewrittenBlock(data, data.count(b"\n"), ChangeTally())

    def is_native(self, _sample: bytes) -> bool:
        """Ask for processes."""
        return False


class Renaming(Unchanged):
    """Renames a member, and leaves bad rows."""

    def rewrite(self, data: bytes) -> RewrittenBlock:
        """Rewrite row by row, and refuse bytes that are not whole rows."""
        if not data.endswith(b"\n"):
            raise AssertionError("the last row has no newline")
        tally, left, rows = ChangeTally(), list[LeftRow](), list[bytes]()
        for number, row in enumerate(data[:-1].split(b"\n"), 1):
            if not row.strip():
                raise AssertionError("a blank row")
            if BAD in row:
                left.append(LeftRow(number, REASON))
                continue
            if OLD in row:
                tally.add(RENAMING, Example("/old", '"old"', '"newer"'), lines=(number,))
            rows.append(row.replace(OLD, NEW) + b"\n")
        return RewrittenBlock(b"".join(rows), len(rows), tally, left)


class Deadly(Unchanged):
    """Kills its process, only once where a flag is given: a file that is then there."""

    def __init__(self, flag: str | None = None) -> None:
        self._flag = flag

    def rewrite(self, data: bytes) -> RewrittenBlock:
        """Rewrite nothing, or die."""
        if self._flag is None or not os.path.exists(self._flag):
            if self._flag is not None:
                Path(self._flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().rewrite(data)


class Meddling(Unchanged):
    """Appends to a file while its rows are rewritten."""

    def __init__(self, path: str) -> None:
        self._path = path

    def rewrite(self, data: bytes) -> RewrittenBlock:
        """Rewrite nothing."""
        with open(self._path, "ab") as file:
            file.write(b"{}\n")
        return super().rewrite(data)
