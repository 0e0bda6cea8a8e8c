"""Salvage of a torn file: copy whole rows byte for byte, and all other bytes to a second file."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import IO, Any, Final

from evalstream.engine.array_rows import ArrayRemainder
from evalstream.engine.layout import WIDE
from evalstream.engine.open_rows import OpenRows, open_rows
from evalstream.engine.routing import line_ends
from evalstream.io.names import printable
from evalstream.io.output import PackedOutput
from evalstream.io.overwriting import UNMARKED, OutputKind, refuse_overwriting
from evalstream.io.stream import StreamSource
from evalstream.model.block import MEBIBYTE, Block
from evalstream.model.data_class import DataClass, field
from evalstream.model.errors import CannotCheck
from evalstream.model.exit_codes import ExitCode
from evalstream.model.options import Options
from evalstream.model.text import count_noun
from evalstream.parsing.json import UTF8_MARK, dumps
from evalstream.parsing.json_values import fast_or_none
from evalstream.parsing.limits import refuse_long_lines
from evalstream.parsing.line_recovery import EMPTY, LinePiece, find_row_start, split_line

REST: Final = ".rest.jsonl"
"""The suffix of the file of other bytes, added to the name of the rows file."""

RESTS: Final = OutputKind(
    "a file of other bytes of a salvage",
    lambda head: re.match(rb'\{"line":\d+,"offset":\d+,"length":\d+,"reason":"', head) is not None,
)

BLOCK_BYTES: Final = 2 * MEBIBYTE
TOO_LONG: Final = LinePiece(0, 0, False, "line is longer than --max-line-bytes")
EXCERPT_BYTES: Final = MEBIBYTE
"""Most bytes of one entry in the file of other bytes; a longer part makes several entries."""


class Salvage(DataClass):
    """The outcome of a salvage.

    Attributes:
        file: The file that was read.
        rows: The number of whole rows.
        lost: The number of parts between them.
        lost_bytes: The size of these parts, in bytes.
        first: A description of the first of these parts, None without one.
        incomplete_reason: Why the file was not read to its end, None if it was.

    """

    file: str
    rows: int = 0
    lost: int = 0
    lost_bytes: int = 0
    first: dict[str, Any] | None = field(default=None)
    incomplete_reason: str | None = None

    @property
    def exit_code(self) -> int:
        """FAILED if some bytes are not part of a whole row, UNCHECKED if some were not read."""
        if self.incomplete_reason:
            return ExitCode.UNCHECKED
        return ExitCode.FAILED if self.lost else ExitCode.PASSED


def salvage(
    path: str | os.PathLike[str],
    to: str | os.PathLike[str],
    rest: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
    max_line_bytes: int = Options().max_line_bytes,
) -> Salvage:
    """Write the whole rows of a file to `to`, and all other bytes but white space to `rest`.

    `path` may be compressed, remote, or `-` for standard input, and is never changed. `rest`
    (default: `to` and `.rest.jsonl`, made only where there are such parts) gets a JSON object for
    each part that is not a whole row: its `line`, `offset` and `length` in bytes of the unpacked
    file, the `reason`, and its bytes as `text`, or as `base64` where they are not valid UTF-8. Both
    files are compressed as their names say. Rows are not checked. Raises UsageError where
    `max_line_bytes` is above 256 MiB, or an output is the input or would replace a file that
    evalstream did not write without `overwrite`; CannotWrite, OSError, MissingExtra and
    CannotCheck, also for rows in UTF-16 or UTF-32.
    """
    refuse_long_lines(max_line_bytes)
    source, target = os.fspath(path), os.fspath(to)
    rest_path = target + REST if rest is None else os.fspath(rest)
    refuse_overwriting([target, rest_path], [source])
    kinds = (None, None) if overwrite else (UNMARKED, RESTS)
    for output, kind in zip((target, rest_path), kinds, strict=True):
        if kind is not None:
            kind.refuse_foreign(output)
    options = Options(max_line_bytes=max_line_bytes)
    opened = open_rows(source, printable(source), options, (), streamed=True)
    try:
        with _Target(target, kinds[0]) as rows, _Target(rest_path, kinds[1]) as rest_file:
            rows.open()
            if rest is not None or os.path.lexists(rest_path):
                rest_file.open()
            salvager = _Salvager(Salvage(printable(source)), rows, rest_file, max_line_bytes)
            try:
                salvager.take_all(opened)
            except (OSError, CannotCheck) as error:
                salvager.take_unfinished(opened.stream)
                salvager.outcome.incomplete_reason = str(error)
            if opened.layout.kind == WIDE and not salvager.outcome.rows:
                encoding = opened.layout.detail
                raise CannotCheck(f"{printable(source)} is in {encoding}: write it again in UTF-8")
            # One file gets its name only where the other has room.
            rows.finish()
            rest_file.finish()
        return salvager.outcome
    finally:
        opened.source.close()


def salvage_lines(saved: Salvage, to: str, rest: str) -> Iterator[str]:
    """Yield the lines that report a salvage to the user."""
    yield f"{saved.file}: {count_noun(saved.rows, 'whole row')} saved in {to}"
    if saved.first is not None:
        first = saved.first
        lost = count_noun(saved.lost, "damaged part")
        yield (
            f"{saved.file}: {lost} ({count_noun(saved.lost_bytes, 'byte')}) in {rest}, the first "
            f"on line {first['line']:,} at byte {first['offset']:,}: {first['reason']}"
        )
    if saved.incomplete_reason is not None:
        yield f"{saved.file}: the rest could not be read: {saved.incomplete_reason}"


class _Target(AbstractContextManager["_Target"]):
    """A file that salvaged bytes go to, opened by its first bytes. Raises CannotWrite."""

    def __init__(self, path: str, kind: OutputKind | None) -> None:
        self._path, self._kind = path, kind
        self._output: PackedOutput | None = None

    def __exit__(self, *error: Any) -> None:
        """Put the file in its place, or remove it after an error."""
        if self._output is not None:
            self._output.__exit__(*error)

    def open(self) -> PackedOutput:
        """Open the file, also before there are bytes for it, and return it."""
        if self._output is None:
            self._output = PackedOutput(self._path, kind=self._kind)
        return self._output

    def write(self, data: bytes) -> None:
        self.open().write(data)

    def finish(self) -> None:
        """Write all bytes to the disk."""
        if self._output is not None:
            self._output.finish()
            self._output.flush()


class _Salvager:
    """A file in the course of a salvage."""

    def __init__(self, outcome: Salvage, rows: _Target, rest: _Target, longest: int) -> None:
        self.outcome, self._longest = outcome, longest
        self._rows, self._rest = rows, rest
        self._row_start: bytes | None = None
        self._line = self._read_to = 0

    def take_all(self, opened: OpenRows) -> None:
        """Read a whole input, block by block."""
        remainder = ArrayRemainder(lambda data, offset: self._lose_remainder(opened, data, offset))
        opened.left = remainder
        for block in opened.blocks(BLOCK_BYTES, self._longest):
            if block is None or block.data is None:
                continue
            rest = None if opened.stream is None else opened.stream.rest(block.offset)
            if rest is not None:
                self._take_overlong(block, rest)
            else:
                self._take(block, block.data)
            self._read_to = block.offset + block.length

    def take_unfinished(self, stream: StreamSource | None) -> None:
        """Add the line that was incomplete when reading failed."""
        if stream is not None and stream.unfinished:
            self._split_line(stream.unfinished, self._line + 1, self._read_to)

    def _lose_remainder(self, opened: OpenRows, data: bytes, offset: int) -> None:
        """Write the bytes after a broken array to the file of other bytes."""
        error = opened.array_error
        if error is not None:
            self._lose(data, error.line, offset, LinePiece(0, 0, False, error.message))

    def _take(self, block: Block, data: bytes) -> None:
        """Split a block into lines; consecutive whole rows are written together."""
        places = _places(block)
        kept = start = 0
        for stop in line_ends(data):
            self._line += 1
            line = data[start:stop]
            is_long = self._is_too_long(line, block.offset + start)
            if is_long or not line.endswith(b"\n") or not self._is_row(line):
                self._keep(data[kept:start])
                number, offset = next(places, (self._line, block.offset + start))
                if is_long:
                    self._lose(line, number, offset, TOO_LONG)
                else:
                    self._split_line(line, number, offset)
                kept = stop
            else:
                next(places, None)
            start = stop
        self._keep(data[kept:start])

    def _is_too_long(self, line: bytes, offset: int) -> bool:
        """Tell whether a line is above the limit, for which its end and a mark do not count."""
        content = line.removesuffix(b"\n")
        return len(content if offset else content.removeprefix(UTF8_MARK)) > self._longest

    def _is_row(self, line: bytes) -> bool:
        """Tell whether a line is certainly one whole row."""
        if fast_or_none(line).__class__ is not dict:
            return False
        if self._row_start is None:
            self._row_start = find_row_start(line)
        return True

    def _keep(self, lines: bytes) -> None:
        self._rows.write(lines)
        self.outcome.rows += lines.count(b"\n")

    def _split_line(self, line: bytes, number: int, offset: int) -> None:
        """Split a damaged line, and write each piece to its file."""
        content = line.removesuffix(b"\n")
        for piece in split_line(content, self._row_start):
            text = content[piece.start : piece.stop]
            if piece.whole:
                self._keep(text + b"\n")
            elif piece.reason != EMPTY:
                self._lose(text, number, offset + piece.start, piece)

    def _take_overlong(self, block: Block, rest: IO[bytes]) -> None:
        """Write a line above the length limit to the file of other bytes, in parts."""
        self._line += 1
        offset = block.offset
        with rest:
            rest.seek(0)
            data = block.data
            while data:
                self._lose(data, self._line, offset, TOO_LONG)
                offset += len(data)
                data = rest.read(EXCERPT_BYTES)

    def _lose(self, text: bytes, number: int, offset: int, piece: LinePiece) -> None:
        for start in range(0, len(text), EXCERPT_BYTES):
            part = text[start : start + EXCERPT_BYTES]
            place = {"line": number, "offset": offset + start, "length": len(part)}
            entry = {**place, "reason": piece.reason}
            self._rest.write(dumps({**entry, **_encode(part)}) + b"\n")
            self.outcome.first = self.outcome.first or entry
            self.outcome.lost += 1
            self.outcome.lost_bytes += len(part)


def _places(block: Block) -> Iterator[tuple[int, int]]:
    """Iterate over the lines and offsets of an array's elements; empty for usual rows."""
    words = memoryview(block.places or b"").cast("Q").tolist()
    return zip(words[::2], words[1::2], strict=True)


def _encode(text: bytes) -> dict[str, str]:
    try:
        return {"text": text.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(text).decode()}
