"""The splitter of a JSON array: bytes in, the byte spans of whole elements out."""

from __future__ import annotations

import json
import re
from enum import Enum
from typing import Final, NamedTuple

import msgspec

from evalstream.model.block import TOO_LONG_BY

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

SEEN_AFTER_ERROR: Final = 64
"""How many bytes after a fault stay with a malformed element, to be shown with it."""

# Only the end of a value is wanted, so the decoder is to keep as little of it as it can; digits
# that nobody turns into a number may be as many as they like.
DECODER: Final = json.JSONDecoder(parse_int=bool, parse_float=bool, object_hook=bool)

_FAST_DECODER: Final = msgspec.json.Decoder(list[msgspec.Raw])
_BETWEEN = re.compile(rb"[ \t\n\r,]*")
_HEAD = re.compile(rb'(?:\{[ \t\n\r]*"[^"\\]*")?')

_SPACE = re.compile(r"[ \t\n\r]*")
_CUT_ESCAPE = re.compile(r"u[0-9A-Fa-f]{0,4}")
_WORDS: Final = ("null", "true", "false", "NaN", "Infinity", "-Infinity")
_CUT_TOKENS: Final = frozenset(
    {"", ".", "e", "E", "e+", "e-", "E+", "E-"}
    | {word[:length] for word in _WORDS for length in range(1, len(word))}
)
_LONGEST_CUT_TOKEN: Final = max(map(len, _CUT_TOKENS))

_NOT_BEGUN: Final = "the file does not begin with ["
_NOT_CLOSED: Final = "the array is not closed"
_COMMA_MISSING: Final = "a comma is missing between two elements"
_VALUE_MISSING: Final = "a value is missing before a comma"
_TRAILING_COMMA: Final = "a comma stands before the array's end"
_MALFORMED: Final = "an element is no JSON value, so the next one's begin cannot be told"
_TOO_LONG: Final = "an element is longer than is allowed"
_TOO_DEEP: Final = "an element is nested too deep to be read"
_MORE_FOLLOWS: Final = "something follows the array's end"


_RULES: Final = {
    _NOT_CLOSED: "truncated-record",
    _TOO_DEEP: "too-deep-or-too-big",
    _TOO_LONG: "line-too-long",
}
"""The rules that are broken where it is not simply the grammar of JSON."""


class Element(NamedTuple):
    """The bytes of one element as they stand, without white space or comma round them.

    `offset` is the byte offset of the first byte in the input, `line` its line from 1, where
    lines are cut at line feeds alone. An element that is not `whole` is where a broken array
    stops making sense: its text is a bounded part of what stands there.
    """

    text: bytes
    offset: int
    line: int
    whole: bool = True


class ArrayError(NamedTuple):
    """What is wrong with the array itself; `offset` is in bytes and `line` counts from 1.

    `name` is the name of the rule that it breaks.
    """

    message: str
    offset: int
    line: int
    name: str = "invalid-json"


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
    # An element stands for those before: a comma has to follow it, and nothing can prolong it.
    _Expected.COMMA: b'[""',
}


class _Outcome(Enum):
    COMPLETE = "it ends there"
    CUT = "more of it may follow"
    MALFORMED = "nothing that follows can mend it"
    TOO_DEEP = "it cannot be read"


class _Reach(NamedTuple):
    """How far a value could be read: to its end, to its fault or as far as there is text."""

    outcome: _Outcome
    end: int


class ArraySplitter:
    """Splits an array that comes in pieces; an element longer than `longest` bytes ends it.

    `issue` is None, or what is wrong with the array once that is known; from there on lines
    are counted and nothing else. Held are at most a piece and an element, as bytes, as text and
    for a moment as a value. Elements are not judged: all that Python's own parser takes as a
    value is taken, be it UTF-8 or not. An array that is `inner` stands inside another value:
    what follows its end is no trouble, and `after` holds what was fed of it.
    """

    def __init__(self, longest: int, *, inner: bool = False) -> None:
        self.issue: ArrayError | None = None
        self.after: bytes | None = None
        self._inner = inner
        self._longest, self._kept = longest, longest + TOO_LONG_BY
        self._expected = _Expected.ARRAY
        self._ended = False
        self._pieces: list[bytes] = []
        self._held, self._wanted = 0, 0
        self._data, self._text = b"", ""
        self._seam, self._last_end = b"", 0
        self._offset = self._position = self._counted = 0
        self._line, self._in_line = 1, False

    @property
    def lines(self) -> int:
        """How many lines were seen; the last need not end in a line feed."""
        pending = sum(piece.count(b"\n") for piece in self._pieces)
        return self._line - 1 + pending + self._in_line

    def feed(self, data: bytes) -> list[Element]:
        """Take the next bytes and return the elements that are known to be complete by now.

        One that was long in coming may be returned only with a later piece or at the end.
        """
        if data:
            self._in_line = not data.endswith(b"\n")
        if self._expected is _Expected.NOTHING:
            self._line += data.count(b"\n")
            return []
        self._pieces.append(data)
        self._held += len(data)
        return self._split() if self._held >= self._wanted else []

    def end(self) -> list[Element]:
        """Take note that the input has ended and return the elements that are left.

        The last one is not whole if the array breaks off inside it.
        """
        self._ended = True
        found = self._split()
        if self._expected is _Expected.ARRAY:
            self._stop(_NOT_BEGUN, self._position)
        elif self._expected not in {_Expected.END, _Expected.NOTHING}:
            self._stop(_NOT_CLOSED, self._position)
        self._expected = _Expected.NOTHING
        return found

    def _split(self) -> list[Element]:
        """Read on in all that is held, and keep what is not understood yet."""
        self._data = b"".join(self._pieces)
        self._pieces.clear()
        self._wanted = 0
        found = self._leap()
        self._forget()
        # One byte, one character: positions in the text are offsets, whatever strings hold.
        self._text = self._data.decode("latin-1")
        while self._advance(found):
            pass
        if self._expected is _Expected.NOTHING:
            self._position = len(self._data)
        self._forget()
        self._pieces, self._held = [self._data], len(self._data)
        self._data, self._text = b"", ""
        return found

    def _forget(self) -> None:
        """Let go of all that stands before the position."""
        self._line_of(self._position)
        self._data = self._data[self._position :]
        self._offset += self._position
        self._position = self._counted = self._last_end = 0

    def _leap(self) -> list[Element]:
        """Take all elements up to the last place that looks like a seam between two.

        The guess is proved: only where an element ends can the text before be a whole array.
        What the fast parser takes the standard one takes too; where it refuses, the other,
        which knows NaN and says where a fault is, has the last word.
        """
        cut = self._data.rfind(self._seam) + 1 if self._seam else 0
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
        return [self._next(length) for length in lengths]

    def _next(self, length: int) -> Element:
        """Step over what separates elements and over the next one."""
        between = _BETWEEN.match(self._data, self._position)
        start = between.end() if between else self._position
        self._position = start + length
        text = self._data[start : self._position]
        return Element(text, self._offset + start, self._line_of(start))

    def _advance(self, found: list[Element]) -> bool:
        """Take the next mark or element; return whether there may be another at hand."""
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
            return self._take(found)
        return self._stop(self._misplaced(mark), start)

    def _expect(self, expected: _Expected) -> bool:
        """Step over the mark that stands here."""
        self._position += 1
        self._expected = expected
        return True

    def _leave(self) -> bool:
        """Step over the end of an inner array, and give back what follows it."""
        end = self._position + 1
        self.after, self._data = self._data[end:], self._data[:end]
        self._expected = _Expected.NOTHING
        return False

    def _open(self, mark: str) -> bool:
        if mark == "[":
            return self._expect(_Expected.FIRST)
        if self._offset + self._position == 0:
            if self._data.startswith(BYTE_ORDER_MARK):
                self._position = len(BYTE_ORDER_MARK)
                return True
            if BYTE_ORDER_MARK.startswith(self._data) and not self._ended:
                return False
        return self._stop(_NOT_BEGUN, self._position)

    def _misplaced(self, mark: str) -> str:
        """Say what is wrong with a mark that is not expected here."""
        if self._expected is _Expected.END:
            return f"{_MORE_FOLLOWS} at byte {self._offset + self._position}"
        if self._expected is _Expected.COMMA:
            return _COMMA_MISSING
        return _TRAILING_COMMA if mark == "]" else _VALUE_MISSING

    def _take(self, found: list[Element]) -> bool:
        """Take the element that begins here, or what there is of it."""
        start, reach = self._position, _reach(self._text, self._position)
        if reach.outcome is not _Outcome.COMPLETE or reach.end - start > self._longest:
            return self._break_off(found, reach)
        if self._last_end and (head := _HEAD.match(self._data, start)):
            self._seam = self._data[self._last_end - 1 : max(head.end(), start + 1)]
        found.append(self._next(reach.end - start))
        self._last_end = self._position
        self._expected = _Expected.COMMA
        return True

    def _break_off(self, found: list[Element], reach: _Reach) -> bool:
        """Ask for more of an element that cannot be taken yet, or give up on it."""
        start, there = self._position, len(self._text) - self._position
        length = reach.end - start
        if reach.outcome is _Outcome.TOO_DEEP:
            return self._give_up(found, start + self._kept, _TOO_DEEP, start)
        if reach.outcome is _Outcome.MALFORMED and length <= self._longest:
            needed = min(length + SEEN_AFTER_ERROR, self._kept)
            if there > needed or self._ended:
                end = _character_end(self._data, reach.end, start + needed)
                return self._give_up(found, end, _MALFORMED, reach.end)
            return self._ask_for(needed + 1)
        if reach.outcome is not _Outcome.COMPLETE and there < self._kept and not self._ended:
            # To try again only with twice as much keeps the cost of a long element linear.
            return self._ask_for(min(2 * there, self._kept))
        if length <= self._longest:
            return self._give_up(found, reach.end, _NOT_CLOSED, reach.end)
        message = _TOO_LONG
        return self._give_up(found, min(reach.end, start + self._kept), message, start)

    def _ask_for(self, size: int) -> bool:
        """Let nothing be tried before so many bytes are held."""
        self._wanted = size
        return False

    def _give_up(self, found: list[Element], end: int, message: str, error: int) -> bool:
        """Return what stands here up to `end` as the last element, and why it is the last."""
        start = self._position
        text = self._data[start:end]
        found.append(Element(text, self._offset + start, self._line_of(start), whole=False))
        return self._stop(message, error)

    def _stop(self, message: str, position: int) -> bool:
        """Note what is wrong and read no more."""
        name = _RULES.get(message, "invalid-json")
        line = self._line_of(position)
        self.issue = ArrayError(message, self._offset + position, line, name)
        self._expected = _Expected.NOTHING
        return False

    def _line_of(self, position: int) -> int:
        """Return the line of a position in what is held, not before the last asked for."""
        self._line += self._data.count(b"\n", self._counted, position)
        self._counted = position
        return self._line


def _space_end(text: str, start: int) -> int:
    """Return where white space that begins at `start` ends."""
    space = _SPACE.match(text, start)
    return space.end() if space else start


def _character_end(data: bytes, lowest: int, end: int) -> int:
    """Return `end`, or where the UTF-8 character begins that a cut at `end` would halve."""
    while lowest < end < len(data) and data[end] & 0xC0 == 0x80:
        end -= 1
    return end


def _reach(text: str, start: int) -> _Reach:
    """Read the value that begins at `start` as far as it goes."""
    try:
        end = DECODER.raw_decode(text, start)[1]
    except json.JSONDecodeError as error:
        if _is_cut(text, error.pos):
            return _Reach(_Outcome.CUT, len(text))
        return _Reach(_Outcome.MALFORMED, error.pos)
    except RecursionError:
        return _Reach(_Outcome.TOO_DEEP, len(text))
    if text[start] not in '{["' and _is_cut_token(text, end):
        return _Reach(_Outcome.CUT, len(text))
    return _Reach(_Outcome.COMPLETE, end)


def _is_cut(text: str, error: int) -> bool:
    """Tell whether a fault may be only that the text ends; False is certain."""
    if text.startswith('"', error):
        return not _is_judged(text, error)
    return _is_cut_token(text, error) or _CUT_ESCAPE.fullmatch(text, error) is not None


def _is_cut_token(text: str, start: int) -> bool:
    """Tell whether the text ends so soon that a number or a word may go on after it."""
    return len(text) - start <= _LONGEST_CUT_TOKEN and text[start:] in _CUT_TOKENS


def _is_judged(text: str, quote: int) -> bool:
    """Tell whether a string is closed or faulty: of one that is cut, its quote is the fault."""
    try:
        DECODER.raw_decode(text, quote)
    except json.JSONDecodeError as error:
        return error.pos != quote
    return True
