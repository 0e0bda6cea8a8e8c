"""The pieces of a line: the whole rows in it and whatever stands round them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from evalstream.parsing.json import UTF8_MARK

TORN_CANDIDATES: Final = 64
"""How many objects of one line may turn out to be torn before no more are looked for."""

READ_IN_VAIN: Final = 8
"""How many times a line's length may be read in objects that turn out to be torn."""

READ_IN_VAIN_BYTES: Final = 1 << 20
"""What may be read in vain of a line however short it is."""

MOST_PIECES: Final = 1 << 18
"""Into how many pieces a line is cut; what follows them is one piece more."""

BREAKS_OFF: Final = "breaks off"
BYTE_ORDER_MARK: Final = "byte order mark"
CONTROL_BYTES: Final = "raw control bytes"
EMPTY: Final = "empty"
NO_JSON: Final = "no JSON"
NO_UTF8: Final = "no UTF-8"
NOT_AN_OBJECT: Final = "not an object"
NUL_BYTES: Final = "NUL bytes"
TOO_DEEP: Final = "too deep"
TOO_MANY: Final = "not looked at behind too many faults"

# Only a value's end is wanted, so as little as can be is kept of what it holds; that digits
# make too large a number or a key stands twice tears nothing.
DECODER: Final = json.JSONDecoder(parse_int=bool, parse_float=bool, object_hook=bool)

_WHITE: Final = " \t\r\n"
_MARK: Final = UTF8_MARK.decode("latin-1")
_SPACE = re.compile(r"[ \t\r\n]*")
_RAW_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]+")
_GOES_ON = re.compile(r"[ \t\r\n]*([,\]}])")
_FIRST_KEY = re.compile(
    rb'[ \t\r\n]*\{[ \t\r\n]*("[^"\\\x00-\x1f]*+(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*+)*+")[ \t\r\n]*:'
)
_CUT_SHORT = re.compile(
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+\\?|\\?u[0-9A-Fa-f]{0,4}|\.|[eE][+-]?'
    r"|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|Na?|-?I(?:n(?:f(?:i(?:n(?:it?)?)?)?)?)?|-|",
    re.DOTALL,
)


class LinePiece(NamedTuple):
    """A part of a line: a whole row, or something else and the reason why it is none.

    `start` and `stop` are byte offsets within the line. The bytes of a `whole` row are valid
    UTF-8 and one JSON object; whether its keys are unique and its numbers finite is left to
    the check. `reason` is empty for a whole row.
    """

    start: int
    stop: int
    whole: bool
    reason: str = ""


def beginning_of(line: bytes) -> bytes | None:
    """Return how a row begins: brace, first key and colon, without white space between them.

    None where the line does not begin as an object that has a key.
    """
    found = _FIRST_KEY.match(line)
    return b"{%b:" % found[1] if found else None


def split_line(line: bytes, begins: bytes | None) -> list[LinePiece]:
    """Cut a line (without its newline) into whole rows and the rest, in order.

    `begins` is how the file's rows begin as a rule, see `beginning_of`; without it the line's
    first brace shows how. The pieces cover every byte but the white space round them; a line
    of nothing else is one empty piece. No bytes raise an error.

    An object counts as a row where it stands at the line's beginning or right behind a whole
    value, a byte order mark or raw control bytes; yet one that begins otherwise than rows do
    and goes on with a comma or a closing bracket is what is left of a row without its head.
    Behind or inside other text it counts if it begins as rows do, unless a torn row reads on
    past it: then it is that row's. A torn row's last value, if it begins as rows do, is taken
    for a row, since the bytes are the same.

    The work is bounded: behind `TORN_CANDIDATES` torn objects, `READ_IN_VAIN` times the
    line's bytes read for them, or `MOST_PIECES` pieces, all that is left of the line is one
    piece that is not whole. So is what follows an object that is nested too deep to be read,
    up to the next raw control byte.
    """
    cut = _Cut(line, begins)
    pieces: list[LinePiece] = []
    for piece in cut.pieces():
        if cut.gave_up or len(pieces) == MOST_PIECES:
            pieces.append(
                LinePiece(piece.start, len(line.rstrip(_WHITE.encode())), False, TOO_MANY)
            )
            break
        pieces.append(piece)
    return pieces or [LinePiece(0, len(line), False, EMPTY)]


class _Cut:
    """One line while it is cut; `gave_up` says that too much of it was read in vain."""

    def __init__(self, line: bytes, begins: bytes | None) -> None:
        self.gave_up = False
        self._line, self._begins = line, begins
        # In Latin-1 every byte is one character, so that indices are byte offsets.
        self._text = line.decode("latin-1")
        self._candidates_left = TORN_CANDIDATES
        self._bytes_left = max(READ_IN_VAIN * len(line), READ_IN_VAIN_BYTES)
        self._reach = -1

    def pieces(self) -> Iterator[LinePiece]:
        """Cut the line at its raw control bytes, which no row can hold, and each part further."""
        position = 0
        for run in _RAW_CONTROL.finditer(self._text):
            yield from self._stretch(position, run.start())
            reason = CONTROL_BYTES if run.group().strip("\0") else NUL_BYTES
            yield LinePiece(run.start(), run.end(), False, reason)
            position = run.end()
        yield from self._stretch(position, len(self._text))

    @cached_property
    def _row_head(self) -> re.Pattern[str] | None:
        """What rows begin with, be there white space in it or not; None if that is not known."""
        begins = beginning_of(self._begins or b"")
        if begins is None:
            brace = self._line.find(b"{")
            found = _FIRST_KEY.match(self._line, brace) if brace >= 0 else None
            begins = b"{%b:" % found[1] if found else None
        if begins is None:
            return None
        key = re.escape(begins[1:-1].decode("latin-1"))
        return re.compile(rf"\{{[ \t\r\n]*{key}[ \t\r\n]*:")

    def _stretch(self, start: int, end: int) -> Iterator[LinePiece]:
        """Cut a part of the line that has no raw control bytes in it."""
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
                if self._begins_anew(candidate, reach):
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
        """Find where a row may begin next; `outside` says that no other text stands before."""
        if outside and self._text.startswith(("{", "["), position, end):
            return position
        found = self._row_head.search(self._text, position, end) if self._row_head else None
        return found.start() if found else None

    def _begins_anew(self, candidate: int, reach: int) -> bool:
        """Tell whether no torn row before, read as far as `reach`, goes on in what begins here."""
        # A text that is not closed ends at the first quote behind the place of the tear.
        quote = self._text.find('"', candidate)
        return reach <= (candidate if quote < 0 else quote + 1)

    def _read(self, start: int, end: int) -> LinePiece | None:
        """Read the value that begins at `start`; None if it is torn."""
        try:
            _, stop = DECODER.raw_decode(self._text, start)
        except json.JSONDecodeError as error:
            self._note_torn(start, error.pos)
            return None
        except RecursionError:
            stop = start + len(self._text[start:end].rstrip(_WHITE))
            return LinePiece(start, stop, False, TOO_DEEP)
        if self._text[start] == "[":
            return LinePiece(start, stop, False, NOT_AN_OBJECT)
        whole = _is_utf8(self._line[start:stop])
        return LinePiece(start, stop, whole, "" if whole else NO_UTF8)

    def _note_torn(self, start: int, error: int) -> None:
        self._candidates_left -= 1
        self._bytes_left -= error - start
        self.gave_up = self._candidates_left <= 0 or self._bytes_left < 0
        # A list is no row that objects could belong to.
        if self._text[start] == "{":
            self._reach = max(self._reach, error)

    def _is_part(self, piece: LinePiece, *, outside: bool) -> bool:
        """Tell whether a value is part of a row that is torn or has lost its head."""
        mark = _GOES_ON.match(self._text, piece.stop)
        if mark is None:
            return False
        if outside:
            return bool(self._row_head and not self._row_head.match(self._text, piece.start))
        return mark.start(1) <= self._reach

    def _left_over(self, start: int, end: int) -> Iterator[LinePiece]:
        fragment = self._text[start:end].rstrip(_WHITE)
        if fragment:
            yield LinePiece(start, start + len(fragment), False, _error_of(fragment))


def _error_of(fragment: str) -> str:
    """Say in a few words why a text, one character for each byte, is no row."""
    try:
        _, stop = DECODER.raw_decode(fragment)
    except json.JSONDecodeError as error:
        if fragment[0] in "{[" and _CUT_SHORT.fullmatch(fragment, error.pos):
            return BREAKS_OFF
        described = error.msg[0].lower() + error.msg[1:]
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
