"""Rewrite one block of rows after a repair of its lines: the task that workers run."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, Protocol

from evalstream.model import changes
from evalstream.model.block import Block, Lines
from evalstream.model.changes import ChangeTally
from evalstream.model.data_class import DataClass, NamedTuple
from evalstream.model.errors import CannotCheck
from evalstream.model.text import count_noun
from evalstream.parsing.json import BLANK, UTF8_MARK
from evalstream.parsing.native.rewrite import are_plain_lines, count_lines

TOO_LONG: Final = "the line is longer than {longest:,} bytes"


class LineRepairs(DataClass, frozen=True):
    """Which repairs of lines to make.

    Without `array_to_lines` the rows of a JSON array are not rewritten, and not written at all.
    """

    byte_order_mark: bool = True
    line_ends: bool = True
    blank_lines: bool = True
    final_newline: bool = True
    array_to_lines: bool = True


class LeftRow(NamedTuple):
    """A row that was not rewritten: its line, from 1, and why."""

    line: int
    reason: str


class CleanLines(NamedTuple):
    """The rows of a block: whole lines that are not blank.

    `lines` counts all lines of the block, None if there are as many as rows. `numbers` has the line
    of each row from 1, None if row n is line n. `left` are the lines above the length limit, which
    are not among the rows. What is not repaired is to be put back: `mark` before the first row,
    each text of `kept` before the row of its index; `lacks_newline` says that the last row has no
    newline.
    """

    rows: bytes
    lines: int | None
    numbers: Sequence[int] | None
    tally: changes.ChangeTally
    left: Sequence[LeftRow] = ()
    mark: bytes = b""
    kept: Sequence[tuple[int, bytes]] = ()
    lacks_newline: bool = False

    def restore_lines(self, rewritten: bytes, left: Sequence[int] = ()) -> bytes:
        """Return rewritten rows, one line for each row, with all that is not to be repaired.

        `left` has the numbers of rows, from 1, whose lines are missing.
        """
        if self.kept:
            pieces = [row + b"\n" for row in rewritten.split(b"\n")[:-1]]
            for index, text in reversed(self.kept):
                pieces.insert(index - bisect_right(left, index), text)
            rewritten = b"".join(pieces)
        if self.lacks_newline and not (left and left[-1] == self.rows.count(b"\n")):
            rewritten = rewritten.removesuffix(b"\n")
        return self.mark + rewritten if self.mark else rewritten


def clean_lines(lines: Lines, longest: int, repairs: LineRepairs) -> CleanLines:
    """Repair the lines of a block, of at most `longest` bytes each, and find its rows."""
    text = lines.data
    if not lines.base and text.startswith(UTF8_MARK):
        return _without_mark(text.removeprefix(UTF8_MARK), lines, longest, repairs)
    if lines.overlong:
        left = LeftRow(1, TOO_LONG.format(longest=longest))
        return CleanLines(b"", 1, None, changes.ChangeTally(), (left,))
    if len(text) <= longest and are_plain_lines(text):
        return CleanLines(text, None, None, changes.ChangeTally())
    return _Cleaner(longest, repairs).clean(text, final=lines.final)


def _without_mark(text: bytes, lines: Lines, longest: int, repairs: LineRepairs) -> CleanLines:
    """Repair the first lines of a file that begins with a byte order mark."""
    rest = Lines(text, base=len(UTF8_MARK), final=lines.final, overlong=lines.overlong)
    cleaned = clean_lines(rest, longest, repairs)
    if not repairs.byte_order_mark:
        return cleaned._replace(mark=UTF8_MARK)
    tally = changes.ChangeTally()
    tally.add(changes.Change(changes.BYTE_ORDER_MARK), lines=(1,))
    tally.merge(cleaned.tally)
    return cleaned._replace(tally=tally)


class _Cleaner:
    """Looks at each line of a block."""

    def __init__(self, longest: int, repairs: LineRepairs) -> None:
        self._longest, self._repairs = longest, repairs
        self._rows: list[bytes] = []
        self._numbers: list[int] = []
        self._kept: list[tuple[int, bytes]] = []
        self._left: list[LeftRow] = []
        self._changed: dict[changes.ChangeKind, list[int]] = {}

    def clean(self, text: bytes, *, final: bool) -> CleanLines:
        """Return the rows of a text; `final` says that the file ends with it."""
        *lines, last = text.split(b"\n")
        for number, line in enumerate(lines, 1):
            self._take(line, number, b"\n")
        count, lacks_newline = len(lines), False
        if last:
            count += 1
            rows = len(self._rows)
            self._take(last, count, b"" if final else b"\n")
            is_row = len(self._rows) > rows
            if is_row and final and self._repairs.final_newline:
                self._note(changes.FINAL_NEWLINE, count)
            lacks_newline = is_row and final and not self._repairs.final_newline
        return CleanLines(
            b"\n".join([*self._rows, b""]),
            count,
            self._numbers,
            self._tally(),
            self._left,
            kept=self._kept,
            lacks_newline=lacks_newline,
        )

    def _take(self, line: bytes, number: int, end: bytes) -> None:
        if len(line) > self._longest:
            self._left.append(LeftRow(number, TOO_LONG.format(longest=self._longest)))
            return
        is_blank = not line.strip(BLANK)
        if is_blank and self._repairs.blank_lines:
            self._note(changes.BLANK_LINES, number)
            return
        if self._repairs.line_ends and line.endswith(b"\r"):
            # More than one carriage return would make the line end in CR LF again.
            line = line.rstrip(b"\r")
            self._note(changes.LINE_ENDS, number)
        if is_blank:
            self._kept.append((len(self._rows), line + end))
        else:
            self._rows.append(line)
            self._numbers.append(number)

    def _note(self, kind: changes.ChangeKind, number: int) -> None:
        self._changed.setdefault(kind, []).append(number)

    def _tally(self) -> changes.ChangeTally:
        tally = changes.ChangeTally()
        for kind, numbers in self._changed.items():
            tally.add(
                changes.Change(kind), lines=numbers[: changes.MOST_PLACES], times=len(numbers)
            )
        return tally


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

        White space may surround a row. A line that cannot be rewritten stays as it is, with the
        reason; a line need not be JSON. Raises nothing.
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
    numbers = clean.numbers if block.places is None else array("Q", block.places)[::2]
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
