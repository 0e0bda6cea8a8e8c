"""The elements of a JSON array as lines of blocks."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from evalstream.io.readers import READ_BYTES
from evalstream.io.stream import LineBuffer, StreamSource
from evalstream.model.block import Block
from evalstream.parsing.array_elements import Element
from evalstream.parsing.array_splitter import ArraySplitter

JOINED_BYTES: Final = 1 << 18
"""Bytes of array elements that are joined at once."""

_FLAT: Final = bytes.maketrans(b"\r\n", b"  ")


class ArrayRemainder:
    """The bytes that follow the last whole element of a broken array, for a consumer."""

    def __init__(self, take: Callable[[bytes, int], object]) -> None:
        self._take = take
        self._held = bytearray()
        self._offset = 0

    def follow(self, data: bytes, elements: Sequence[Element], *, breaks: bool) -> None:
        """Keep more bytes of the array, and drop those of elements that are complete."""
        self._held += data
        whole = [element for element in elements if element.whole]
        if whole:
            done = whole[-1].offset + len(whole[-1].text) - self._offset
            del self._held[:done]
            self._offset += done
        if breaks:
            if self._held.strip():
                self._take(bytes(self._held), self._offset)
            self._offset += len(self._held)
            self._held.clear()


class ElementBlocks:
    """Collects elements for a block."""

    def __init__(self, source: StreamSource) -> None:
        self._path, self._buffer = source.path, LineBuffer()
        self._lines: list[bytes] = []
        self._places = array("Q")
        self.size = self._waiting = 0

    def add(self, line: bytes, number: int, offset: int) -> None:
        """Add an element by its line and its offset."""
        self._lines.append(line)
        self._places.extend((number, offset))
        self.size += len(line) + 1
        self._waiting += len(line)
        if self._waiting >= JOINED_BYTES:
            self._join()

    def block(self) -> Block:
        """Return the elements so far as a block, and start the next."""
        self._join()
        offset, places, size = self._places[1], self._places.tobytes(), self.size
        self._places, self.size = array("Q"), 0
        data = self._buffer.take(size)
        return Block(self._path, offset, size, data, places=places)

    def _join(self) -> None:
        """Move lines to the buffer: many at a time, and still in the processor's caches."""
        self._buffer.extend(b"\n".join([*self._lines, b""]))
        self._lines, self._waiting = [], 0


def lines_of_array(head: bytes, longest: int) -> Iterator[bytes]:
    """Iterate over the first elements of an array, several lines at a time."""
    elements = ArraySplitter(longest)
    for start in range(0, len(head), READ_BYTES):
        found = elements.feed(head[start : start + READ_BYTES])
        if found:
            yield b"\n".join(map(flat, found))


def flat(element: Element) -> bytes:
    """Return an element on one line: line ends occur only in white space between its tokens."""
    text = element.text
    # Looking for line ends is fifty times faster than translating.
    return text.translate(_FLAT) if b"\n" in text or b"\r" in text else text
