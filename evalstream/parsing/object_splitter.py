"""Incremental splitter of a JSON object with one large array: its elements, and the rest."""

from __future__ import annotations

import json

from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Position
from evalstream.parsing.array_elements import ArrayError, Element, ListScanner
from evalstream.parsing.array_splitter import ArraySplitter
from evalstream.parsing.json import UTF8_MARK
from evalstream.parsing.json_positions import count_characters
from evalstream.parsing.json_tokens import TOKEN_BYTES


class Envelope(NamedTuple):
    """The text of an object without the elements of its large array, and the mapping of positions.

    `cut` is the offset in `text` after the array's opening bracket; `left_out` bytes with `lines`
    line feeds are missing there. Without such an array the text is that of the whole object.
    `is_whole` is False where the text was above the length limit and is truncated. `column` is that
    of the array's closing bracket in the input, if it is known.
    """

    text: bytes
    cut: int | None = None
    left_out: int = 0
    lines: int = 0
    is_whole: bool = True
    column: int | None = None

    def offset(self, place: int) -> int:
        """Return the byte offset in the input of a position in the text."""
        return place + self.left_out if self.is_behind(place) else place

    def is_behind(self, place: int) -> bool:
        """Tell whether a position in the text is after the array."""
        return self.cut is not None and place >= self.cut


class ObjectSplitter:
    """Splits an object that arrives in pieces into the elements of one array member and the rest.

    The array is the first member called `name` whose value is an array. `issue` is the error in
    that array, or None; after an error nothing after it is parsed. At most one piece, one element,
    and `longest` bytes of the rest of the object are in memory. A `scanner` takes the elements
    that it knows.
    """

    def __init__(self, name: str, longest: int, scanner: ListScanner | None = None) -> None:
        self._name, self._longest, self._scanner = name, longest, scanner
        self._before, self._behind = bytearray(), bytearray()
        self._scan = _ArrayFinder(name)
        self._elements: ArraySplitter | None = None
        self._inside = self._begin_line = 0
        self._is_whole = True
        self._is_behind = False

    @property
    def issue(self) -> ArrayError | None:
        """The error in the array, with its position in the input."""
        return None if self._elements is None else self._elements.issue

    @property
    def has_begun(self) -> bool:
        """Whether the array has begun, so that all members before it are available."""
        return self._elements is not None

    def feed(self, data: bytes) -> list[Element]:
        """Add the next bytes, and return the elements that are now known to be complete."""
        if self._is_behind:
            self._store(self._behind, data)
            return []
        if self._elements is not None:
            return self._feed_array(self._elements, data)
        self._store(self._before, data)
        return self._begin(at_end=False)

    def end(self) -> list[Element]:
        """End the input, and return the remaining elements."""
        found = self._begin(at_end=True) if self._elements is None else []
        if self._elements is not None and not self._is_behind:
            found += self._elements.end()
            self._leave(self._elements)
        return found

    def envelope(self) -> Envelope:
        """Return the object without the elements, once the input has ended."""
        if self._elements is None:
            return Envelope(bytes(self._before), is_whole=self._is_whole)
        cut = len(self._before)
        text = bytes(self._before) + b"]" + bytes(self._behind)
        end = self._elements.closes_at or Position(self._begin_line, None)
        lines = end.line - self._begin_line
        # The two brackets of the array are part of the text.
        return Envelope(text, cut, self._inside - 2, lines, self._is_whole, end.column)

    def _begin(self, *, at_end: bool) -> list[Element]:
        """Check whether the array has begun, and read the part of it that is there."""
        start = self._scan.find_array(self._before, at_end=at_end) if self._is_whole else None
        if start is None:
            return []
        data = bytes(self._before[start:])
        del self._before[start + 1 :]
        before = bytes(self._before[self._before.rfind(b"\n") + 1 : start])
        columns = count_characters(before.removeprefix(UTF8_MARK))
        begin = Position(self._before.count(b"\n") + 1, columns + 1)
        self._begin_line = begin.line
        self._elements = ArraySplitter(
            self._longest, inner=True, offset=start, start=begin, scanner=self._scanner
        )
        return self._feed_array(self._elements, data)

    def _feed_array(self, elements: ArraySplitter, data: bytes) -> list[Element]:
        self._inside += len(data)
        found = elements.feed(data)
        self._leave(elements)
        return found

    def _leave(self, elements: ArraySplitter) -> None:
        """Store the bytes after the array, if it has ended."""
        if elements.after is not None:
            self._is_behind = True
            self._inside -= len(elements.after)
            self._store(self._behind, elements.after)

    def _store(self, target: bytearray, data: bytes) -> None:
        room = self._longest - len(self._before) - len(self._behind)
        # The start of the array may be among the bytes before it.
        room += self._longest if target is self._before else 0
        self._is_whole = self._is_whole and len(data) <= room
        target += data[: max(0, room)]


class _ArrayFinder:
    """Finds a member's array in the growing beginning of an object."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._outermost = self._before = self._latest = b""
        self._depth = 0
        self._place, self._needed = 0, 0

    def find_array(self, text: bytearray, *, at_end: bool) -> int | None:
        """Return the position of the array, or None if it has not begun."""
        if len(text) < self._needed and not at_end:
            return None
        view = bytes(text[self._place :])
        for token in TOKEN_BYTES.finditer(view):
            sign = token.group()
            if sign == b'"':
                # Retrying only with twice as many bytes keeps the cost of a long string linear.
                self._place += token.start()
                self._needed = self._place + 2 * (len(view) - token.start())
                return None
            if sign == b"[" and self._depth == 1 and self._is_named():
                return self._place + token.start()
            self._take(sign)
        self._place += len(view)
        return None

    def _take(self, sign: bytes) -> None:
        """Update the state with a token that opens, closes or names a value."""
        if sign in (b"{", b"["):
            self._depth += 1
            self._outermost = self._outermost or sign
        elif sign in (b"}", b"]"):
            self._depth -= 1
            if self._depth <= 0:
                # Data after the end of the object is not a member of it.
                self._depth, self._outermost = 1, sign
        self._before, self._latest = self._latest, sign

    def _is_named(self) -> bool:
        if (self._outermost, self._latest, self._before[:1]) != (b"{", b":", b'"'):
            return False
        try:
            named: bool = json.loads(self._before, strict=False) == self._name
        except ValueError:
            return False
        return named
