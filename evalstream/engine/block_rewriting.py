"""Rewrite one block of rows: the task that workers run, and what rewriters are."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from evalstream.engine.line_repairs import LeftRow, LineRepairs, clean_lines
from evalstream.model.block import Block
from evalstream.model.changes import ChangeTally
from evalstream.model.errors import CannotCheck
from evalstream.model.text import count_noun
from evalstream.parsing.native.rewrite import count_lines

MOST_LEFT: Final = 20
"""Number of rows that were not rewritten whose lines and reasons are kept."""


class RewrittenBlock(NamedTuple):
    """Rewritten rows, the changes in them, and the rows that were left.

    `data` holds one line for each row that was not left, in order, and `rows` counts them. Lines of
    `tally` and of `left`, which is in order, count from 1 within the rows that were given.
    """

    data: bytes
    rows: int
    tally: ChangeTally
    left: Sequence[LeftRow] = ()


class BlockRewriter(Protocol):
    """Rewrites blocks of rows: a pure function of the bytes, which can be pickled."""

    def rewrite(self, data: bytes) -> RewrittenBlock:
        """Rewrite whole lines, which end in a newline and are not blank, in any thread.

        White space may surround a row. A line that cannot be rewritten is left, with the reason; a
        line need not be JSON. Raises nothing.
        """

    def is_native(self, sample: bytes) -> bool:
        """Tell whether compiled code rewrites most lines of a sample."""


class RewriteJob(NamedTuple):
    """What workers need to rewrite any block."""

    rewriter: BlockRewriter
    repairs: LineRepairs
    longest: int


class BlockOutcome(NamedTuple):
    """A rewritten block: its bytes and its lines.

    `left` holds the first rows that were left, and `left_count` counts all. Lines are those of the
    block, and those of the file for the elements of an array.
    """

    data: bytes
    lines: int
    rows: int
    tally: ChangeTally
    left: Sequence[LeftRow]
    left_count: int


def rewrite_block(job: RewriteJob, block: Block) -> BlockOutcome:
    """Rewrite one block in this process. Raises OSError, and CannotCheck if a row is lost."""
    clean = clean_lines(block.lines(), job.longest, job.repairs)
    rewritten = _rewrite_rows(job.rewriter, clean.rows)
    numbers = clean.numbers if block.places is None else _lines_of_elements(block.places)
    tally = clean.tally
    tally.merge(_renumber_lines(rewritten.tally, numbers))
    left = sorted([*clean.left, *(_at(row, numbers) for row in rewritten.left)])
    return BlockOutcome(
        clean.restore_lines(rewritten.data, [row.line for row in rewritten.left]),
        rewritten.rows + len(rewritten.left) if clean.lines is None else clean.lines,
        rewritten.rows,
        tally,
        left[:MOST_LEFT],
        len(left),
    )


def _rewrite_rows(rewriter: BlockRewriter, rows: bytes) -> RewrittenBlock:
    """Rewrite rows, and count that none is lost or added. Raises CannotCheck."""
    if not rows:
        return RewrittenBlock(b"", 0, ChangeTally())
    rewritten = rewriter.rewrite(rows)
    given, made = count_lines(rows), count_lines(rewritten.data)
    if not made == rewritten.rows == given - len(rewritten.left):
        left = count_noun(len(rewritten.left), "row")
        raise CannotCheck(
            f"evalstream has an error: of {count_noun(given, 'row')}, {made:,} were rewritten and "
            f"{left} left; please report it"
        )
    return rewritten


def _lines_of_elements(places: bytes) -> Sequence[int]:
    """Return the lines of an array's elements from the places of a block."""
    return array("Q", places)[::2]


def _renumber_lines(tally: ChangeTally, numbers: Sequence[int] | None) -> ChangeTally:
    """Return a tally of rows with the lines on which the rows are."""
    if numbers is None:
        return tally
    placed = ChangeTally()
    for change, seen in tally.seen.items():
        lines = [numbers[line - 1] for line in seen.lines]
        placed.add(change, seen.shown, lines=lines, times=seen.times)
    return placed


def _at(row: LeftRow, numbers: Sequence[int] | None) -> LeftRow:
    return row if numbers is None else row._replace(line=numbers[row.line - 1])
