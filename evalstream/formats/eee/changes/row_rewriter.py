"""Rewrite blocks of rows: those that the compiled rewriter does not take on the exact path."""

from __future__ import annotations

from typing import Any, Final

from evalstream.engine.line_repairs import LeftRow
from evalstream.engine.rewriting import RewrittenBlock
from evalstream.formats.eee.changes.row_repairs import RowRepairer, RowRepairs
from evalstream.formats.eee.changes.rows import RowMigration, RowMigrator, RowRefused
from evalstream.model.changes import ChangeTally
from evalstream.parsing.json import FAST_DEPTH
from evalstream.parsing.strict_json import parse_exactly

SALVAGE: Final = "`evalstream salvage` separates whole rows from damaged parts"
"""What to do about a row that cannot be read."""

Exact = RowMigrator | RowRepairer


class RowRewriter:
    """Migrates or repairs blocks of rows; it is pickled as what it was made of."""

    def __init__(self, how: RowMigration | RowRepairs) -> None:
        self._how = how
        self._exact: Exact = _exact(how)

    def rewrite(self, data: bytes) -> RewrittenBlock:
        """Rewrite whole lines, which end in a newline and are not blank."""
        tally, left, lines = ChangeTally(), list[LeftRow](), list[bytes]()
        for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), 1):
            try:
                text, applied = self._exact.rewrite(line.decode())
            except ValueError as error:
                left.append(LeftRow(number, _reason(line, error)))
                continue
            tally.add_row(applied, number)
            lines.append(text.encode())
        lines.append(b"")
        return RewrittenBlock(b"\n".join(lines), len(lines) - 1, tally, left)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowRewriter, (self._how,)


def _exact(how: RowMigration | RowRepairs) -> Exact:
    return RowMigrator(how) if isinstance(how, RowMigration) else RowRepairer(how)


def _reason(line: bytes, error: ValueError) -> str:
    """Return why a row is left."""
    if isinstance(error, RowRefused):
        return str(error)
    issues = parse_exactly(line, FAST_DEPTH).issues
    if not issues:
        return f"the row cannot be read: {error}"
    return f"{issues[0].name}: {issues[0].message}; {SALVAGE}"
