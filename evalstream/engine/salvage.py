"""Save what is whole of a torn file: rows byte for byte, and the rest beside them."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Final

from evalstream.engine.open_rows import ArrayRemainder, OpenRows, Source, open_rows
from evalstream.engine.routing import line_ends
from evalstream.io.names import printable
from evalstream.io.output import Output
from evalstream.io.overwriting import refuse_overwriting
from evalstream.io.stream import StreamSource
from evalstream.model.block import MEBIBYTE, Block
from evalstream.model.errors import CannotCheck
from evalstream.model.exit_codes import ExitCode
from evalstream.model.options import Options
from evalstream.model.text import counted
from evalstream.parsing.json import dumps, fast
from evalstream.parsing.line_recovery import EMPTY, LinePiece, beginning_of, split_line

REST: Final = ".rest.jsonl"
"""What the name of the rest adds to that of the rows."""

BLOCK_BYTES: Final = 2 * MEBIBYTE
TOO_LONG: Final = LinePiece(0, 0, False, "longer than --max-line-bytes")
EXCERPT_BYTES: Final = MEBIBYTE
"""Of how many bytes at most an entry of the rest is; longer stretches make several."""


@dataclass(slots=True)
class Salvage:
    """What was saved of a file, and what was not.

    `rows` counts the whole rows, `lost` the stretches of other bytes and `lost_bytes` their bytes;
    `first` describes the first of them. `incomplete_reason` says what kept the file from being read
    to its end, None if nothing did.
    """

    file: str
    rows: int = 0
    lost: int = 0
    lost_bytes: int = 0
    first: dict[str, Any] | None = field(default=None)
    incomplete_reason: str | None = None

    @property
    def exit_code(self) -> int:
        """Whether every byte was part of a whole row, some were lost, or some were not read."""
        if self.incomplete_reason:
            return ExitCode.UNCHECKED
        return ExitCode.FAILED if self.lost else ExitCode.PASSED


def salvage(
    path: str | os.PathLike[str],
    to: str | os.PathLike[str],
    rest: str | os.PathLike[str] | None = None,
    *,
    max_line_bytes: int = Options().max_line_bytes,
) -> Salvage:
    """Write the whole rows of a file to `to`, and everything else to `rest`.

    `path` may be packed, remote, or `-` for standard input, and is never changed. `rest` (by
    default `to` and `.rest.jsonl`) gets a JSON object for each stretch of bytes that is no whole
    row: its `line`, `offset` and `length` in the unpacked file in bytes, the `reason`, and its
    bytes as `text`, or as `base64` where they are no UTF-8. Rows are not judged, only told from
    what is torn. Raises UsageError where an output is the input, OSError, and CannotCheck.
    """
    source, target = os.fspath(path), os.fspath(to)
    beside = target + REST if rest is None else os.fspath(rest)
    refuse_overwriting([target, beside], [source])
    options = Options(max_line_bytes=max_line_bytes)
    opened = open_rows(source, printable(source), options, (), streamed=True)
    try:
        with Output(target) as rows, Output(beside) as others:
            saving = _Saving(Salvage(printable(source)), rows, others, max_line_bytes)
            try:
                saving.take_all(opened)
            except (OSError, CannotCheck) as error:
                saving.take_unfinished(opened.source)
                saving.outcome.incomplete_reason = str(error)
        return saving.outcome
    finally:
        opened.source.close()


def salvage_lines(saved: Salvage, to: str, rest: str) -> Iterator[str]:
    """Say for people what was saved, and where the rest is."""
    yield f"{saved.file}: {counted(saved.rows, 'whole row')} saved in {to}"
    if saved.first is not None:
        first = saved.first
        lost = f"{counted(saved.lost, 'stretch', 'stretches')} of other bytes"
        yield (
            f"{saved.file}: {lost} ({counted(saved.lost_bytes, 'byte')}) in {rest}, the first on "
            f"line {first['line']:,} at byte {first['offset']:,}: {first['reason']}"
        )
    if saved.incomplete_reason is not None:
        yield f"{saved.file}: what follows could not be read: {saved.incomplete_reason}"


class _Saving:
    """A file on its way into rows and the rest."""

    def __init__(self, outcome: Salvage, rows: Output, rest: Output, longest: int) -> None:
        self.outcome, self._longest = outcome, longest
        self._rows, self._rest = rows, rest
        self._begins: bytes | None = None
        self._line = self._end = 0

    def take_all(self, opened: OpenRows) -> None:
        """Take a whole input, block by block."""
        behind = ArrayRemainder(lambda data, offset: self._lose_behind(opened, data, offset))
        opened.left = behind
        for block in opened.blocks(BLOCK_BYTES, self._longest):
            if block is None or block.data is None:
                continue
            rest = opened.rest(block.offset)
            if rest is not None:
                self._take_overlong(block, rest)
            else:
                self._take(block, block.data)
            self._end = block.offset + block.length

    def take_unfinished(self, source: Source) -> None:
        """Take the line that was being read when reading failed."""
        if isinstance(source, StreamSource) and source.unfinished:
            self._cut(source.unfinished, self._line + 1, self._end)

    def _lose_behind(self, opened: OpenRows, data: bytes, offset: int) -> None:
        """Give up what follows where an array breaks."""
        error = opened.array_error
        if error is not None:
            self._lose(data, error.line, offset, LinePiece(0, 0, False, error.message))

    def _take(self, block: Block, data: bytes) -> None:
        """Take whole lines; those that are surely rows are written together."""
        places = _places(block)
        kept = start = 0
        for stop in line_ends(data):
            self._line += 1
            line = data[start:stop]
            if not line.endswith(b"\n") or not self._is_row(line):
                self._keep(data[kept:start])
                number, offset = next(places, (self._line, block.offset + start))
                if len(line) > self._longest:
                    self._lose(line, number, offset, TOO_LONG)
                else:
                    self._cut(line, number, offset)
                kept = stop
            else:
                next(places, None)
            start = stop
        self._keep(data[kept:start])

    def _is_row(self, line: bytes) -> bool:
        """Tell whether a line is beyond doubt one whole row."""
        if len(line) > self._longest:
            return False
        try:
            row = fast(line)
        except ValueError:
            return False
        if row.__class__ is not dict:
            return False
        if self._begins is None:
            self._begins = beginning_of(line)
        return True

    def _keep(self, lines: bytes) -> None:
        self._rows.write(lines)
        self.outcome.rows += lines.count(b"\n")

    def _cut(self, line: bytes, number: int, offset: int) -> None:
        """Take a line apart, and write each piece where it belongs."""
        bare = line.removesuffix(b"\n")
        for piece in split_line(bare, self._begins):
            text = bare[piece.start : piece.stop]
            if piece.whole:
                self._keep(text + b"\n")
            elif piece.reason != EMPTY:
                self._lose(text, number, offset + piece.start, piece)

    def _take_overlong(self, block: Block, rest: IO[bytes]) -> None:
        """Give up a line that is too long to be looked at, in stretches."""
        self._line += 1
        offset = block.offset
        with rest:
            rest.seek(0)
            data = block.data or b""
            while data:
                self._lose(data, self._line, offset, TOO_LONG)
                offset += len(data)
                data = rest.read(EXCERPT_BYTES)

    def _lose(self, text: bytes, number: int, offset: int, piece: LinePiece) -> None:
        for start in range(0, len(text), EXCERPT_BYTES):
            part = text[start : start + EXCERPT_BYTES]
            place = {"line": number, "offset": offset + start, "length": len(part)}
            said = {**place, "reason": piece.reason}
            self._rest.write(dumps({**said, **_written(part)}) + b"\n")
            self.outcome.first = self.outcome.first or said
            self.outcome.lost += 1
            self.outcome.lost_bytes += len(part)


def _places(block: Block) -> Iterator[tuple[int, int]]:
    """Iterate over the lines and offsets of an array's elements; of nothing for usual rows."""
    words = memoryview(block.places or b"").cast("Q").tolist()
    return zip(words[::2], words[1::2], strict=True)


def _written(text: bytes) -> dict[str, str]:
    try:
        return {"text": text.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(text).decode()}
