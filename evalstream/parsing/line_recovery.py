"""Recovery of whole rows from damaged lines: split a line into rows and other pieces.

The standard parser reads them: tokens do not tell where a torn row stops being JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from evalstream.model.data_class import NamedTuple
from evalstream.parsing.array_elements import DECODER, is_cut
from evalstream.parsing.json import UTF8_MARK
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.parsing.strict_json import describe_json_error

TORN_CANDIDATES: Final = 64
"""Most torn objects in one line before the search ends."""

READ_IN_VAIN: Final = 8
"""Most bytes read in torn objects, as a multiple of the length of the line."""

READ_IN_VAIN_BYTES: Final = 1 << 20
"""Lower bound of the bytes that may be read in torn objects of a line."""

MOST_PIECES: Final = 1 << 18
"""Most pieces of a line; the remainder is one more piece."""

BREAKS_OFF: Final = "breaks off"
BYTE_ORDER_MARK: Final = "byte order mark"
CONTROL_BYTES: Final = "raw control bytes"
EMPTY: Final = "empty"
NO_JSON: Final = "not JSON"
NO_UTF8: Final = "not UTF-8"
NOT_AN_OBJECT: Final = "not an object"
NUL_BYTES: Final = "NUL bytes"
TOO_DEEP: Final = "too deep"
TOO_MANY: Final = "not read after too many errors"

_WHITE: Final = " \t\r\n"
_MARK: Final = UTF8_MARK.decode("latin-1")
_SPACE = LazyPattern(r"[ \t\r\n]*")
_RAW_CONTROL = LazyPattern("[\x00-\x08\x0b\x0c\x0e-\x1f]+")
_GOES_ON = LazyPattern(r"[ \t\r\n]*([,\]}])")
_FIRST_KEY = LazyPattern(
    rb'[ \t\r\n]*\{[ \t\r\n]*("[^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*+")[ \t\r\n]*:'
)


class LinePiece(NamedTuple):
    """A part of a line: a whole row, or other bytes with the reason why they are not a row.

    `start` and `stop` are byte offsets within the line. The bytes of a `whole` row are valid UTF-8
    and one JSON object; the check tests whether its keys are unique and its numbers finite.
    `reason` is empty for a whole row.
    """

    start: int
    stop: int
    whole: bool
    reason: str = ""


def find_row_start(line: bytes) -> bytes | None:
    """Return the brace, first key and colon of a row without spaces, None without a key."""
    found = _FIRST_KEY.match(line)
    return b"{%b:" % found[1] if found else None


def split_line(line: bytes, begins: bytes | None) -> list[LinePiece]:
    """Split a line (without its newline) into whole rows and other pieces, in order.

    `begins` is the usual start of the file's rows, see `find_row_start`; without it the first brace
    of the line provides it. The pieces cover every byte but the white space around them; a line of
    white space is one empty piece. No input raises an error.

    An object counts as a row at the beginning of the line or directly after a whole value, a byte
    order mark or raw control bytes. But if it has another start than rows have, and a comma or a
    closing bracket follows it, it is the end of a row whose start is lost. After or inside other
    text it counts if it has the start of rows, unless a torn row before it continues past it: then
    it belongs to that row. The last value of a torn row with the start of rows counts as a row,
    because the bytes are the same.

    The work is bounded: after `TORN_CANDIDATES` torn objects, `READ_IN_VAIN` times the bytes of the
    line read in them, or `MOST_PIECES` pieces, the rest of the line is one piece that is not whole.
    So is the text after an object that is nested too deeply, up to the next raw control byte.
    """
    splitter = _LineSplitter(line, begins)
    pieces: list[LinePiece] = []
    for piece in splitter.pieces():
        if splitter.gave_up or len(pieces) == MOST_PIECES:
            pieces.append(
                LinePiece(piece.start, len(line.rstrip(_WHITE.encode())), False, TOO_MANY)
            )
            break
        pieces.append(piece)
    return pieces or [LinePiece(0, len(line), False, EMPTY)]


class _LineSplitter:
    """The split of one line; `gave_up` means that too many torn bytes were read."""

    def __init__(self, line: bytes, begins: bytes | None) -> None:
        self.gave_up = False
        self._line, self._begins = line, begins
        # In Latin-1 one byte is one character, so indices are byte offsets.
        self._text = line.decode("latin-1")
        self._candidates_left = TORN_CANDIDATES
        self._bytes_left = max(READ_IN_VAIN * len(line), READ_IN_VAIN_BYTES)
        self._reach = -1

    def pieces(self) -> Iterator[LinePiece]:
        """Split the line at raw control bytes, which no row can contain, and then each part."""
        position = 0
        for run in _RAW_CONTROL.finditer(self._text):
            yield from self._split_part(position, run.start())
            reason = CONTROL_BYTES if run.group().strip("\0") else NUL_BYTES
            yield LinePiece(run.start(), run.end(), False, reason)
            position = run.end()
        yield from self._split_part(position, len(self._text))

    @cached_property
    def _row_head(self) -> re.Pattern[str] | None:
        """Pattern of the start of rows, with any white space; None if it is not known."""
        line = self._line
        begins = find_row_start(self._begins or b"") or find_row_start(line[line.find(b"{") :])
        if begins is None:
            return None
        key = re.escape(begins[1:-1].decode("latin-1"))
        return re.compile(rf"\{{[ \t\r\n]*{key}[ \t\r\n]*:")

    def _split_part(self, start: int, end: int) -> Iterator[LinePiece]:
        position = rest = self._skip(start)
        if self._text.startswith(_MARK, rest):
            yield LinePiece(rest, rest + len(_MARK), False, BYTE_ORDER_MARK)
            position = rest = self._skip(rest + len(_MARK))
        while not self.gave_up:
            candidate = self._candidate(position, end, outside=position == rest)
            if candidate is None:
                break
            reach = self._reach
            piece = self._read(candidate, end)
            if piece is None:
                if self._is_independent(candidate, reach):
                    yield from self._left_over(rest, candidate)
                    rest = candidate
                position = candidate + 1
            elif self._is_part(piece, outside=candidate == rest):
                position = piece.stop
            else:
                yield from self._left_over(rest, candidate)
                yield piece
                position = rest = self._skip(piece.stop)
        yield from self._left_over(rest, end)

    def _skip(self, position: int) -> int:
        found = _SPACE.match(self._text, position)
        return found.end() if found else position

    def _candidate(self, position: int, end: int, *, outside: bool) -> int | None:
        """Return the next possible start of a row; `outside`: no other text is before it."""
        if outside and self._text.startswith(("{", "["), position, end):
            return position
        found = self._row_head.search(self._text, position, end) if self._row_head else None
        return found.start() if found else None

    def _is_independent(self, candidate: int, reach: int) -> bool:
        """Tell whether no torn row before, read up to `reach`, contains the text at `candidate`."""
        # A string that is not closed ends at the first quote after the tear.
        quote = self._text.find('"', candidate)
        return reach <= (candidate if quote < 0 else quote + 1)

    def _read(self, start: int, end: int) -> LinePiece | None:
        """Read the value that begins at `start`; None if it is torn."""
        try:
            _, stop = DECODER.raw_decode(self._text, start)
        except json.JSONDecodeError as error:
            self._record_torn(start, error.pos)
            return None
        except RecursionError:
            stop = start + len(self._text[start:end].rstrip(_WHITE))
            return LinePiece(start, stop, False, TOO_DEEP)
        if self._text[start] == "[":
            return LinePiece(start, stop, False, NOT_AN_OBJECT)
        whole = _is_utf8(self._line[start:stop])
        return LinePiece(start, stop, whole, "" if whole else NO_UTF8)

    def _record_torn(self, start: int, error: int) -> None:
        self._candidates_left -= 1
        self._bytes_left -= error - start
        self.gave_up = self._candidates_left <= 0 or self._bytes_left < 0
        # A list is not a row, so objects cannot belong to it.
        if self._text[start] == "{":
            self._reach = max(self._reach, error)

    def _is_part(self, piece: LinePiece, *, outside: bool) -> bool:
        """Tell whether a value is part of a row that is torn or has lost its start."""
        mark = _GOES_ON.match(self._text, piece.stop)
        if mark is None:
            return False
        if outside:
            return bool(self._row_head and not self._row_head.match(self._text, piece.start))
        return mark.start(1) <= self._reach

    def _left_over(self, start: int, end: int) -> Iterator[LinePiece]:
        fragment = self._text[start:end].rstrip(_WHITE)
        if fragment:
            yield LinePiece(start, start + len(fragment), False, _describe_error(fragment))


def _describe_error(fragment: str) -> str:
    """Return a short reason why a text, one character per byte, is not a row."""
    try:
        _, stop = DECODER.raw_decode(fragment)
    except json.JSONDecodeError as error:
        if fragment[0] in "{[" and is_cut(fragment, error.pos):
            return BREAKS_OFF
        described = describe_json_error(error)
    except RecursionError:
        return TOO_DEEP
    else:
        if stop == len(fragment):
            return NOT_AN_OBJECT
        described = "extra data"
    return f"{NO_JSON}: {described}" if _is_utf8(fragment.encode("latin-1")) else NO_UTF8


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
