"""Read the parts of a log: JSON in which NaN and infinite numbers are allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import IO, TYPE_CHECKING, Any, Final

from evalstream.engine.positions import move_behind, place_in_part
from evalstream.engine.row_pass import BREAKS
from evalstream.io.codecs import MAGIC_BYTES, detect_stored
from evalstream.io.compression import DecompressingReader
from evalstream.io.inputs import open_stored
from evalstream.io.readers import FileReader, PrefixedReader, Watch, read_start
from evalstream.model.block import ByteStream
from evalstream.model.finding import Position, Violation
from evalstream.model.signals import STOPPING
from evalstream.model.temporary_file import open_temporary_file
from evalstream.parsing.json import fast_with_nan
from evalstream.parsing.limits import too_many_bytes
from evalstream.parsing.strict_json import parse_exactly
from evalstream.rules.syntax import ES108, explain

if TYPE_CHECKING:
    from evalstream.engine.documents import DocumentCheck
    from evalstream.parsing.array_elements import ArrayError, Element
    from evalstream.parsing.array_splitter import ArraySplitter
    from evalstream.parsing.object_splitter import ObjectSplitter

Note = Callable[[Violation, Position | None], None]
"""Receives a violation and its position in the text, if it is known."""

UNREADABLE: Final = object()
"""The value of a text that is not JSON."""


def parse_text(text: bytes, most_depth: int, note: Note | None = None) -> Any:
    """Return the value of a text, or UNREADABLE; violations of JSON go to `note`, if it is given.

    NaN and infinite numbers are not violations here: the harness writes them.
    """
    value = parse_plain(text)
    if value is not UNREADABLE:
        return value
    found = parse_exactly(text, most_depth)
    if note is not None:
        for violation, issue in zip(explain(found.issues, torn=False), found.issues, strict=True):
            if violation.code != ES108.code:
                note(violation, None if issue.line is None else Position(issue.line, issue.column))
    return found.value if found.readable else UNREADABLE


def parse_part(
    documents: DocumentCheck,
    text: bytes,
    place: str = "",
    move: Callable[[Position], Position] | None = None,
    file: str | None = None,
) -> Any:
    """Return the value of a part of a document, or UNREADABLE; its violations are noted.

    `place` is its JSON Pointer, and `move` returns the position in the document of one in the part,
    if it has one.
    """

    def note(violation: Violation, at: Position | None) -> None:
        line, column = (None, None) if move is None or at is None else move(at)
        where = place + (violation.pointer or "")
        documents.note(violation._replace(pointer=where or None), file, line, column)

    return parse_text(text, documents.options.max_depth, note)


def parse_element(
    documents: DocumentCheck, element: Element, place: str, file: str | None = None
) -> Any:
    """Return the value of an element of a list, or UNREADABLE; its violations are noted."""

    def note(violation: Violation, at: Position | None) -> None:
        violation = violation._replace(pointer=place + (violation.pointer or ""))
        if at is None:
            note_element(documents, element, place, [violation], file)
        else:
            line, column = move_behind(Position(element.line, element.column), at)
            documents.note(violation, file, line, column)

    return parse_text(element.text, documents.options.max_depth, note)


def note_element(
    documents: DocumentCheck,
    element: Element,
    place: str,
    violations: Iterable[Violation],
    file: str | None = None,
) -> None:
    """Note violations in an element of a list, whose JSON Pointer is `place`."""
    found = list(violations)
    if found:
        start = Position(element.line, element.column)
        for violation, line, column in place_in_part(found, element.text, place, start):
            documents.note(violation, file, line, column)


def note_broken_list(
    documents: DocumentCheck, issue: ArrayError, place: str, file: str | None = None
) -> None:
    """Note why the list of a document cannot be read behind a place."""
    message = f"{issue.message} (byte {issue.offset:,} of the file)"
    violation = BREAKS[issue.name].violation(message, pointer=place)
    documents.note(violation, file, issue.line, issue.column)


def iterate_elements(path: str, splitter: ArraySplitter | ObjectSplitter) -> Iterator[Element]:
    """Iterate over the elements of the list in a document; one at its end may not be cut off.

    Raises OSError and CannotCheck.
    """
    with closing(open_log(path)[0]) as reader:
        for piece in pieces(begun(reader)[1]):
            yield from splitter.feed(piece)
        yield from (element for element in splitter.end() if element.whole)


def parse_plain(text: bytes) -> Any:
    """Return the value of a text in which nothing is wrong or too deep, or else UNREADABLE."""
    try:
        return fast_with_nan(text)
    except ValueError:
        return UNREADABLE


def open_log(path: str, watch: Watch | None = None) -> tuple[ByteStream, int]:
    """Open a log, and return its bytes as they are stored, and their number (0 if unknown).

    `watch` is to notice whether a file changes. Raises OSError and CannotCheck.
    """
    reader = open_stored(path)
    if watch is not None and isinstance(reader, FileReader):
        watch.add(path, reader.opened)
    return reader, getattr(reader, "size", 0)


def begun(reader: ByteStream) -> tuple[bytes, ByteStream]:
    """Return the first bytes of a stream, decompressed if it is compressed, and the whole of it."""
    start = read_start(reader, MAGIC_BYTES)
    whole: ByteStream = PrefixedReader(start, reader)
    packed = detect_stored(start)
    if packed is None:
        return start, whole
    content = DecompressingReader(whole, packed)
    start = read_start(content, MAGIC_BYTES)
    return start, PrefixedReader(start, content)


def pieces(reader: ByteStream, most: int | None = None) -> Iterator[bytes]:
    """Iterate over the bytes of a stream. Raises TooLarge for more than `most`."""
    size = 0
    while data := reader.read():
        STOPPING.check()
        size += len(data)
        if most is not None and size > most:
            raise too_many_bytes(most)
        yield data


def copy_to_disk(reader: ByteStream, most: int | None = None) -> IO[bytes]:
    """Copy a stream to disk, to read it again or in another order.

    Raises TooLarge for more than `most` bytes.
    """
    copy = open_temporary_file()
    try:
        for piece in pieces(reader, most):
            copy.write(piece)
        copy.flush()
    except BaseException:
        copy.close()
        raise
    return copy
