"""Read some rows of a file again, by their lines and offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from evalstream.engine import layout
from evalstream.engine.open_rows import OpenRows, open_rows
from evalstream.engine.routing import line_ends
from evalstream.model.block import MEBIBYTE
from evalstream.model.errors import CannotCheck
from evalstream.model.options import Options
from evalstream.model.run import STDIN
from evalstream.parsing.array_elements import Element
from evalstream.parsing.json_values import parse_or_none

BLOCK_BYTES: Final = 4 * MEBIBYTE

RowPlaces = Iterable[tuple[int, int]]
"""Lines and byte offsets of rows, in their order."""


def find_rows(path: str, options: Options, places: RowPlaces) -> Iterator[bytes | None]:
    """Iterate over rows at places, which are lines (from 1) with byte offsets, in their order.

    A row of an array counts as a line. Rows that are not there any more are None, and so are all
    rows of standard input. Raises OSError and CannotCheck where the file cannot be read.
    """
    if path == STDIN:
        yield from (None for _ in places)
        return
    opened = open_rows(path, path, options, (), any_rows=True)
    try:
        if opened.stream is None:
            yield from _seek(path, options.max_line_bytes, places)
        elif opened.layout.kind in (layout.JSONL, layout.JSON_ARRAY):
            yield from _pass_over(opened, options.max_line_bytes, places)
        else:
            raise CannotCheck(f"{path}: the file does not hold rows any more")
    finally:
        opened.source.close()


def find_objects(path: str, options: Options, places: RowPlaces) -> Iterator[dict[str, Any] | None]:
    """Iterate over the objects in rows at places; see `find_rows`. Other values are None."""
    for line in find_rows(path, options, places):
        value = None if line is None else parse_or_none(line)
        yield value if isinstance(value, dict) else None


def pick_elements(elements: Iterable[Element], places: RowPlaces) -> Iterator[Element | None]:
    """Iterate over the elements of a list at some places, in their order; None where none begins.

    A place is the number of an element and its byte offset.
    """
    following = iter(elements)
    element = next(following, None)
    for _, offset in places:
        while element and element.offset < offset:
            element = next(following, None)
        yield element if element and element.offset == offset else None


def every_row(
    path: str, options: Options, digests: dict[str, str] | None = None
) -> Iterator[tuple[int, int, bytes]]:
    """Iterate over all rows of a file: line, byte offset, and the row; blank lines are left out.

    The offset is that in the unpacked bytes. A row of an array counts as a line. Lines above
    `max_line_bytes` raise CannotCheck, as do files that hold no rows; files that cannot be read
    raise OSError. After the last row, `digests` has those of the stored bytes by its algorithms.
    """
    algorithms = tuple(digests or ())
    opened = open_rows(path, path, options, algorithms, any_rows=True)
    try:
        if opened.layout.kind not in (layout.JSONL, layout.JSON_ARRAY):
            raise CannotCheck(f"{path}: the file does not hold rows")
        number = 0
        if algorithms:
            opened.source.start_digest(algorithms)
        for block in opened.blocks(BLOCK_BYTES, options.max_line_bytes):
            if block is None:
                continue
            if block.overlong:
                raise CannotCheck(f"{path}: line {number + 1:,} is too long")
            start = 0
            for stop in line_ends(block.data):
                line = block.data[start:stop]
                number += 1
                if line.strip():
                    yield number, block.offset + start, line.rstrip(b"\r\n")
                start = stop
        if digests:
            digests |= opened.digests()["stored"]
    finally:
        opened.source.close()


def _seek(path: str, longest: int, places: RowPlaces) -> Iterator[bytes | None]:
    """Read lines of a file that is not compressed."""
    with open(path, "rb") as file:
        for _, offset in places:
            file.seek(offset)
            line = file.readline(longest + 1)
            yield line.rstrip(b"\r\n") if line else None


def _pass_over(opened: OpenRows, longest: int, places: RowPlaces) -> Iterator[bytes | None]:
    """Read lines of a stream, all of which passes by up to the last one that is wanted."""
    blocks = filter(None, opened.blocks(BLOCK_BYTES, longest))
    before = reached = 0
    content: list[bytes] = []
    for line, _ in places:
        if line > reached:
            while line > reached and (block := next(blocks, None)):
                before, data = reached, block.data
                reached += data.count(b"\n") + (data[-1:] not in (b"", b"\n"))
            content = data.split(b"\n") if line <= reached else []
        yield content[line - before - 1].rstrip(b"\r") if content else None
