"""Incremental splitter of a JSON array into the byte spans of its elements.

A parser in C finds where they end, many times faster than tokens do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import Final

import msgspec

from evalstream.model.block import TOO_LONG_BY
from evalstream.model.finding import Position
from evalstream.parsing.array_elements import (
    ArrayError,
    Element,
    ListScanner,
    Piece,
    ReadOutcome,
    ReadResult,
    read_value,
)
from evalstream.parsing.json import UTF8_MARK

SHOWN_AFTER_ERROR: Final = 64
"""Number of bytes after an error that are shown with a malformed element."""


_FAST_DECODER: Final = msgspec.json.Decoder(list[msgspec.Raw])
_BETWEEN = re.compile(rb"[ \t\n\r,]*")
_HEAD = re.compile(rb'(?:\{[ \t\n\r]*"[^"\\]*")?')

_WIDE = re.compile(rb"[\x80-\xff]")

_SPACE = re.compile(r"[ \t\n\r]*")

_NOT_BEGUN: Final = "the file does not begin with ["
_NOT_CLOSED: Final = "the array is not closed"
_COMMA_MISSING: Final = "a comma is missing between two elements"
_VALUE_MISSING: Final = "a value is missing before a comma"
_TRAILING_COMMA: Final = "a trailing comma before the end of the array"
_MALFORMED: Final = "an element is not valid JSON, so the start of the next one is unknown"
_TOO_LONG: Final = "an element is longer than the limit of --max-line-bytes"
_TOO_DEEP: Final = "an element is nested too deeply to parse"
_MORE_FOLLOWS: Final = "unexpected data after the end of the array"


_RULES: Final = {
    _NOT_CLOSED: "truncated-record",
    _TOO_DEEP: "too-deep-or-too-big",
    _TOO_LONG: "line-too-long",
}
"""The rules of these errors; all others break the grammar of JSON."""


class _Expected(Enum):
    ARRAY = "["
    FIRST = "a value or ]"
    VALUE = "a value"
    COMMA = ", or ]"
    END = "white space"
    NOTHING = "nothing, as no more is read"


_OPENERS: Final = {
    _Expected.FIRST: b"[",
    _Expected.VALUE: b"[",
    # The empty string stands for the elements before: it requires a comma after it.
    _Expected.COMMA: b'[""',
}


_BEGINNING: Final = Position(1, 1)


class ArraySplitter:
    """Splits an array that arrives in pieces; an element above `longest` bytes ends it.

    `issue` is the error in the array, or None; after an error only lines are counted. At most one
    piece and one element are in memory, as bytes, as text and briefly as a value. Elements are not
    validated: any value that Python's parser accepts is returned, whether it is UTF-8 or not. With
    `inner`, the array is part of another value: data after its end is not an error, `after` holds
    the part of it that was fed, and `closes_at` is the position of its end. It begins `offset`
    bytes into the input, at a position `start`. A `scanner` takes the elements that it knows.
    """

    def __init__(
        self,
        longest: int,
        *,
        inner: bool = False,
        offset: int = 0,
        start: Position = _BEGINNING,
        scanner: ListScanner | None = None,
    ) -> None:
        self.issue: ArrayError | None = None
        self.after: bytes | None = None
        self.closes_at: Position | None = None
        self._inner, self._scanner = inner, scanner
        self._longest, self._kept_bytes = longest, longest + TOO_LONG_BY
        self._expected = _Expected.ARRAY
        self._ended = False
        self._pieces: list[bytes] = []
        self._buffered, self._needed = 0, 0
        self._data, self._text = b"", ""
        self._separator, self._last_end = b"", 0
        self._position = self._counted = self._content_end = 0
        self._offset = self._fed = offset
        self._line, self._in_line = start.line, False
        self._line_start = offset + 1 - (start.column or 1)
        self._first_wide: int | None = None

    @property
    def lines(self) -> int:
        """Number of lines seen; the last need not end in a line feed."""
        pending = sum(piece.count(b"\n") for piece in self._pieces)
        return self._line - 1 + pending + self._in_line

    def feed(self, data: bytes) -> list[Element]:
        """Add bytes; return elements known to be complete, a long one perhaps with later bytes."""
        if data:
            self._in_line = not data.endswith(b"\n")
        if self._first_wide is None and (wide := None if data.isascii() else _WIDE.search(data)):
            self._first_wide = self._fed + wide.start()
        self._fed += len(data)
        if self._expected is _Expected.NOTHING:
            self._line += data.count(b"\n")
            return []
        self._pieces.append(data)
        self._buffered += len(data)
        return self._split_buffer() if self._buffered >= self._needed else []

    def end(self) -> list[Element]:
        """End the input; return the remaining elements, the last cut where the array ends in it."""
        self._ended = True
        found = self._split_buffer()
        if self._expected is _Expected.ARRAY:
            self._fail(_NOT_BEGUN, self._position)
        elif self._expected not in {_Expected.END, _Expected.NOTHING}:
            self._fail(_NOT_CLOSED, self._position)
        self._expected = _Expected.NOTHING
        return found

    def _split_buffer(self) -> list[Element]:
        """Read all buffered bytes, and keep those that are not part of a complete element."""
        self._data = b"".join(self._pieces)
        self._pieces.clear()
        self._needed = 0
        found: list[Element] = []
        # What the scanner does not take may be an element that has not arrived in full.
        if not self._take_plain() or self._ended:
            found += self._split_fast()
            self._drop_consumed()
            if self._split_slowly(found):
                found += self._split_fast()
                self._drop_consumed()
                self._split_slowly(found)
        if self._expected is _Expected.NOTHING:
            self._position = len(self._data)
        self._drop_consumed()
        self._pieces, self._buffered = [self._data], len(self._data)
        self._data, self._text = b"", ""
        return found

    def _drop_consumed(self) -> None:
        self._find_line(self._position)
        self._data = self._data[self._position :]
        self._offset += self._position
        self._position = self._counted = self._last_end = 0

    def _take_plain(self) -> bool:
        """Let the scanner take elements; tell whether it took any."""
        if self._scanner is None:
            return False
        self._text = self._data.decode("latin-1") if self._expected is _Expected.ARRAY else ""
        while self._expected is _Expected.ARRAY and self._advance([]):
            pass
        if self._expected not in _OPENERS:
            return False
        before, is_behind = self._position, self._expected is _Expected.COMMA
        line = self._find_line(before)
        place = self._offset, line, self._line_start
        wide, behind = self._first_wide, self._content_end
        piece = Piece(self._data, before, is_behind, self._longest, *place, wide, behind)
        end = self._scanner.take(piece)
        if end.at == before:
            return False
        self._position = self._counted = end.at
        self._line, self._line_start = end.line, end.line_start
        self._content_end = self._offset + end.at
        self._expected = _Expected.COMMA
        self._drop_consumed()
        return True

    def _split_fast(self) -> list[Element]:
        """Return all elements up to the last position that looks like a separator of two.

        A wrong guess has no effect: only at the end of an element is the text before it a valid
        array. The standard parser accepts all that the fast parser accepts; where the fast one
        refuses, the standard parser decides, which knows NaN and the position of errors.
        """
        cut = self._data.rfind(self._separator) + 1 if self._separator else 0
        if not cut or self._expected not in _OPENERS:
            return []
        opener = _OPENERS[self._expected]
        try:
            values = _FAST_DECODER.decode(b"".join((opener, memoryview(self._data)[:cut], b"]")))
        except (msgspec.DecodeError, RecursionError):
            return []
        lengths = [len(value) for value in values[len(opener) > 1 :]]
        if max(lengths, default=0) > self._longest:
            return []
        self._expected = _Expected.COMMA
        return self._take_next(lengths, has_breaks=self._data.find(b"\n", self._position, cut) >= 0)

    def _take_next(self, lengths: Sequence[int], *, has_breaks: bool = True) -> list[Element]:
        """Return the next elements, of these lengths; without line breaks none is looked for."""
        data, offset, position, found = self._data, self._offset, self._position, []
        line = self._find_line(position)
        for length in lengths:
            between = _BETWEEN.match(data, position)
            start = between.end() if between else position
            position = start + length
            if has_breaks:
                line = self._find_line(start)
            column = self._find_column(start)
            found.append(Element(data[start:position], offset + start, line, True, column))
            self._content_end = offset + position
        self._position = position
        if not has_breaks:
            self._counted = position
        return found

    def _split_slowly(self, found: list[Element]) -> bool:
        """Read element by element; return True if a first separator was seen, which ends it."""
        # In Latin-1 one byte is one character, so positions in the text are byte offsets.
        self._text = self._data.decode("latin-1")
        is_first = not self._separator
        while self._advance(found):
            if is_first and self._separator:
                self._drop_consumed()
                return True
        return False

    def _advance(self, found: list[Element]) -> bool:
        """Read the next punctuation mark or element; return whether to continue."""
        expected, start = self._expected, _space_end(self._text, self._position)
        self._position = start
        if start == len(self._text) or expected is _Expected.NOTHING:
            return False
        mark = self._text[start]
        if expected is _Expected.ARRAY:
            return self._open(mark)
        if mark == "," and expected is _Expected.COMMA:
            return self._expect(_Expected.VALUE)
        if mark == "]" and expected in {_Expected.FIRST, _Expected.COMMA}:
            return self._leave() if self._inner else self._expect(_Expected.END)
        if mark not in ",]" and expected in {_Expected.FIRST, _Expected.VALUE}:
            return self._take_element(found)
        return self._fail(self._describe_mark(mark), start)

    def _expect(self, expected: _Expected) -> bool:
        """Step over the mark at the position."""
        self._position += 1
        self._expected = expected
        return True

    def _leave(self) -> bool:
        """Step over the end of an inner array, and store the bytes after it."""
        end = self._position + 1
        self.closes_at = self._find_position(self._position)
        self.after, self._data = self._data[end:], self._data[:end]
        self._expected = _Expected.NOTHING
        return False

    def _open(self, mark: str) -> bool:
        if mark == "[":
            return self._expect(_Expected.FIRST)
        if self._offset + self._position == 0:
            if self._data.startswith(UTF8_MARK):
                self._position = self._line_start = len(UTF8_MARK)
                return True
            if UTF8_MARK.startswith(self._data) and not self._ended:
                return False
        return self._fail(_NOT_BEGUN, self._position)

    def _describe_mark(self, mark: str) -> str:
        if self._expected is _Expected.END:
            return f"{_MORE_FOLLOWS} at byte {self._offset + self._position}"
        if self._expected is _Expected.COMMA:
            return _COMMA_MISSING
        return _TRAILING_COMMA if mark == "]" else _VALUE_MISSING

    def _take_element(self, found: list[Element]) -> bool:
        start, result = self._position, read_value(self._text, self._position)
        if result.outcome is not ReadOutcome.COMPLETE or result.end - start > self._longest:
            return self._break_off(found, result)
        if self._last_end and (head := _HEAD.match(self._data, start)):
            self._separator = self._data[self._last_end - 1 : max(head.end(), start + 1)]
        found += self._take_next([result.end - start])
        self._last_end = self._position
        self._expected = _Expected.COMMA
        return True

    def _break_off(self, found: list[Element], result: ReadResult) -> bool:
        """Request more bytes of an incomplete element, or end the array with it."""
        start, available = self._position, len(self._text) - self._position
        length = result.end - start
        if result.outcome is ReadOutcome.TOO_DEEP:
            return self._give_up(found, start + self._kept_bytes, _TOO_DEEP, start)
        if result.outcome is ReadOutcome.MALFORMED and length <= self._longest:
            needed = min(length + SHOWN_AFTER_ERROR, self._kept_bytes)
            if available > needed or self._ended:
                end = _character_end(self._data, result.end, start + needed)
                return self._give_up(found, end, _MALFORMED, result.end)
            return self._request(needed + 1)
        if (
            result.outcome is not ReadOutcome.COMPLETE
            and available < self._kept_bytes
            and not self._ended
        ):
            # Retrying only with twice as many bytes keeps the cost of a long element linear.
            return self._request(min(2 * available, self._kept_bytes))
        if length <= self._longest:
            return self._give_up(found, result.end, _NOT_CLOSED, result.end)
        message = _TOO_LONG
        return self._give_up(found, min(result.end, start + self._kept_bytes), message, start)

    def _request(self, size: int) -> bool:
        """Do not retry before this many bytes are buffered."""
        self._needed = size
        return False

    def _give_up(self, found: list[Element], end: int, message: str, error: int) -> bool:
        """Return the bytes up to `end` as the last element, and record the error."""
        start = self._position
        text = self._data[start:end]
        line, column = self._find_position(start)
        found.append(Element(text, self._offset + start, line, whole=False, column=column))
        return self._fail(message, error)

    def _fail(self, message: str, position: int) -> bool:
        name = _RULES.get(message, "invalid-json")
        line, column = self._find_position(position)
        self.issue = ArrayError(message, self._offset + position, line, name, column)
        self._expected = _Expected.NOTHING
        return False

    def _find_line(self, position: int) -> int:
        """Return the line of a buffered position, not before the last one requested."""
        breaks = self._data.count(b"\n", self._counted, position)
        if breaks:
            self._line += breaks
            last = self._data.rfind(b"\n", self._counted, position)
            self._line_start = self._offset + last + 1
        self._counted = position
        return self._line

    def _find_position(self, position: int) -> Position:
        return Position(self._find_line(position), self._find_column(position))

    def _find_column(self, position: int) -> int | None:
        """Return the column on the line that was requested last, None if bytes do not tell it."""
        offset, wide = self._offset + position, self._first_wide
        is_exact = wide is None or offset <= wide or self._line_start >= self._content_end
        return offset - self._line_start + 1 if is_exact else None


def _space_end(text: str, start: int) -> int:
    space = _SPACE.match(text, start)
    return space.end() if space else start


def _character_end(data: bytes, lowest: int, end: int) -> int:
    """Return `end`, or the start of the UTF-8 character that a cut at `end` would split."""
    while lowest < end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    return end
