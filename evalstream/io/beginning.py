"""The first bytes of a file, decompressed, and the members in them, which show its format.

They are not read by tokens: the members behind a string that is not closed show the format, too.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, Final

from evalstream.io.codecs import detect_compression
from evalstream.io.names import is_rows_name
from evalstream.io.readers import PrefixedReader, split_lines
from evalstream.model.block import ByteStream
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck
from evalstream.parsing.json import UTF8_MARK, fast_with_nan
from evalstream.parsing.lazy_regex import LazyPattern

PEEK_BYTES: Final = 1 << 18
"""Bytes of a file to peek at: the members that identify a format are near the start."""

OBJECT: Final = "object"
ARRAY: Final = "array"
LINES: Final = "lines"
OTHER: Final = "other"

_TOKEN: Final = LazyPattern(rb'"((?:[^"\\]|\\.)*+)"([ \t\r\n]*+:)?|[{}\[\]]|(?P<open>")', re.DOTALL)
_BRACKET: Final = LazyPattern(
    rb'(?:[^{}\[\]"]++|"(?:[^"\\]|\\.)*+")*+(?:[{}\[\]]|(?P<open>"))', re.DOTALL
)
_BLANK: Final = b" \t\r\n"


class Peek(NamedTuple):
    """The first JSON value of a file, as far as its first bytes show it.

    `kind` says what contains the value: it is a single `object`, the first of an `array` or of
    several `lines`, or `other` where there is no JSON object. `keys` are the members seen in it,
    and `inner` those of objects among them, such as `eval/task`. `is_whole` means that the value
    was seen to its end.
    """

    kind: str
    keys: frozenset[str]
    inner: frozenset[str] = frozenset()
    is_whole: bool = False


NOTHING: Final = Peek(OTHER, frozenset())


def peek(head: bytes) -> Peek:
    """Return what the first bytes of a file contain."""
    head = head.removeprefix(UTF8_MARK).lstrip(_BLANK)
    if head[:1] not in (b"{", b"["):
        return NOTHING
    kind = OBJECT if head.startswith(b"{") else ARRAY
    depth, member_depth = 0, 1 if kind == OBJECT else 2
    keys: set[str] = set()
    inner: set[str] = set()
    above, is_whole, at = "", False, 0
    # Deep inside a value only brackets matter.
    while token := (_BRACKET.match if depth > member_depth + 1 else _TOKEN.search)(head, at):
        at = token.end()
        sign = head[at - 1 : at]
        if token["open"]:
            break  # Where one string is not closed, none behind it is.
        if sign in (b"{", b"["):
            depth += 1
        elif sign in (b"}", b"]"):
            depth -= 1
            if depth < member_depth:
                is_whole = True
                if kind == OBJECT and _are_lines(head, at):
                    kind = LINES
                break
        elif depth in (member_depth, member_depth + 1) and token.group(2) is not None:
            name = token.group(1).decode(errors="replace")
            if depth == member_depth:
                keys.add(name)
                above = name
            else:
                inner.add(f"{above}/{name}")
    return Peek(kind, frozenset(keys), frozenset(inner), is_whole)


def _are_lines(head: bytes, end: int) -> bool:
    """Tell whether an object that ends there is the first of several lines.

    It is a document with a slip behind it where only closing signs follow, or where it has line
    breaks and no object follows.
    """
    rest = head[end:].lstrip(_BLANK)
    if not rest.strip(_BLANK + b"}],"):
        return False
    return rest.startswith(b"{") or b"\n" not in head[:end]


class Beginning:
    """The first bytes of a file, decompressed, from which formats detect whether it is theirs.

    `name` is the file's name, "" for a stream. `whole` returns all of its bytes, or None where they
    cannot be read or are too many to hold in memory.
    """

    def __init__(
        self, name: str, head: bytes, whole: Callable[[], bytes | None] = lambda: None
    ) -> None:
        self.name, self.head = name, head
        self.whole = whole

    @cached_property
    def seen(self) -> Peek:
        """Return what the first bytes contain."""
        seen = peek(self.head)
        if is_rows_name(self.name):
            return seen._replace(kind=LINES)
        # A vocabulary has the words of every format.
        is_vocabulary = seen.kind == OBJECT and len(seen.keys) > _MOST_WORDS and not seen.inner
        return seen._replace(kind=OTHER) if is_vocabulary else seen

    @cached_property
    def document(self) -> Any:
        """Return the whole file from a fast parser, which takes NaN; None if it is not JSON."""
        text = self.whole()
        try:
            return None if text is None else fast_with_nan(text.removeprefix(UTF8_MARK))
        except ValueError:
            return None


_MOST_WORDS: Final = 200
"""More members than any document has, but for those of which each is an object."""

MOST_DOCUMENT_BYTES: Final = 64 << 20
"""Most bytes of a document that are parsed to detect its format."""


class Outlined(NamedTuple):
    """A JSON document without most items of its lists, empty if not valid, and its size."""

    text: bytes
    size: int
    is_valid: bool


def outline_document(pieces: Iterable[bytes]) -> Outlined | None:
    """Outline a JSON document that arrives in pieces, in constant memory.

    All members of the outermost object are kept. None means that the document must be read as a
    whole: the compiled scanner is missing, or the outline has no room. Pieces after an error are
    not read.
    """
    from evalstream.parsing.native.binding import library
    from evalstream.parsing.native.outline import DocumentProgress, Outline

    loaded = library()
    if loaded is None:
        return None
    outline, size, result = Outline(loaded), 0, DocumentProgress.UNFINISHED
    for piece in pieces:
        result = outline.add(piece if size else piece.removeprefix(UTF8_MARK))
        size += len(piece)
        if result in (DocumentProgress.INVALID, DocumentProgress.TOO_LARGE):
            break
    # A number ends with the character after it.
    result = outline.add(b"\n")
    if result is DocumentProgress.TOO_LARGE:
        return None
    is_valid = result is DocumentProgress.WHOLE
    return Outlined(outline.text() if is_valid else b"", size, is_valid)


def read_outlined_beginning(path: str) -> Beginning:
    """Return the beginning of a local file as `read_beginning` does, and its document outlined."""
    file = read_beginning(path)

    def whole() -> bytes | None:
        found = outline_document(_pieces(path, MOST_DOCUMENT_BYTES + 1))
        if found is None:
            return file.whole()
        return found.text if found.is_valid and found.size <= MOST_DOCUMENT_BYTES else None

    return Beginning(path, file.head, whole)


def read_beginning(path: str) -> Beginning:
    """Return the beginning of a local file, decompressed; empty where it cannot be read.

    A FIFO or a device yields no bytes, and the call does not wait for it. Of rows it is at least
    the first one, however long its texts are.
    """
    head, are_rows, is_line = bytearray(), is_rows_name(path), False
    for piece in _pieces(path, MOST_DOCUMENT_BYTES if are_rows else PEEK_BYTES):
        head += piece
        is_line = is_line or b"\n" in piece
        if is_line and len(head) >= PEEK_BYTES:
            break
    end = max(PEEK_BYTES, head.find(b"\n") if are_rows else 0)
    return Beginning(path, bytes(head[:end]), _whole(partial(_pieces, path)))


def stored_beginning(name: str, stored: bytes) -> Beginning:
    """Return the beginning of a document whose stored bytes are known, decompressed."""

    def pieces(most: int) -> Iterator[bytes]:
        with suppress(OSError, CannotCheck):
            yield from _read_pieces(_Stored(stored), most)

    return Beginning(name, b"".join(pieces(PEEK_BYTES))[:PEEK_BYTES], _whole(pieces))


def iterate_lines(path: str) -> Iterator[bytes]:
    """Iterate over unpacked lines, up to MOST_DOCUMENT_BYTES each. Raises OSError, CannotCheck."""
    return split_lines(_decompress_head(path, sys.maxsize), MOST_DOCUMENT_BYTES)


def _whole(pieces: Callable[[int], Iterable[bytes]]) -> Callable[[], bytes | None]:
    def whole() -> bytes | None:
        text = b"".join(pieces(MOST_DOCUMENT_BYTES + 1))
        return text if len(text) <= MOST_DOCUMENT_BYTES else None

    return whole


def _pieces(path: str, most: int) -> Iterator[bytes]:
    """Iterate over the first `most` bytes of a local file, decompressed, or up to an error."""
    with suppress(OSError, ValueError, CannotCheck):
        yield from _decompress_head(path, most)


def _decompress_head(path: str, most: int) -> Iterator[bytes]:
    """Iterate over the first bytes of a local file, decompressed, until there are `most`.

    Raises OSError, CannotCheck, and ValueError for an invalid path.
    """
    # A named pipe is not even opened: its writer would take this process for its reader, and die of
    # the close.
    if not stat.S_ISREG(os.stat(path).st_mode):
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            yield from _read_pieces(_Plain(descriptor), most)
    finally:
        os.close(descriptor)


def _read_pieces(reader: ByteStream, most: int) -> Iterator[bytes]:
    start = reader.read()
    packed = detect_compression(start)
    reader = PrefixedReader(start, reader)
    if packed is not None:
        from evalstream.io.compression import DecompressingReader

        reader = DecompressingReader(reader, packed)
    size = 0
    while size < most and (piece := reader.read()):
        size += len(piece)
        yield piece


class _Plain(ByteStream):
    """The bytes of a regular file, in small pieces; the caller closes its descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self) -> bytes:
        return os.read(self._descriptor, PEEK_BYTES)


class _Stored(ByteStream):
    """Bytes that are in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self) -> bytes:
        data, self._data = self._data, b""
        return data
