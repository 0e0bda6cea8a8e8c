"""Find the documents of infereval, read them and detect their kinds."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from typing import IO, Any

from xxhash import xxh3_128

from evalstream.engine.log_reading import begun, copy_to_disk, open_log
from evalstream.formats.infereval.format import EVALUATION, ITEMS, kind_by_members, kind_by_signs
from evalstream.io.beginning import ARRAY, PEEK_BYTES, Peek, peek
from evalstream.io.names import is_remote
from evalstream.io.readers import DescriptorReader, Watch
from evalstream.model.block import ByteStream
from evalstream.model.errors import CannotCheck
from evalstream.model.options import Options
from evalstream.model.run import STDIN
from evalstream.model.signals import STOPPING
from evalstream.parsing.json_values import fast_or_none, object_or_empty, parse_or_none
from evalstream.parsing.limits import MOST_JSON_BYTES, is_device, refuse_many_values, too_many_bytes
from evalstream.parsing.object_splitter import ObjectSplitter


class RereadDocument:
    """A document whose bytes can be read repeatedly.

    Bytes of standard input or a pipe are kept on disk meanwhile. The state of a local file goes to
    `watch`. At most `most` bytes are kept on disk or read from a device, which may be endless. A
    `text` is read in place of the file. Raises OSError if the document cannot be opened, and
    TooLarge.
    """

    def __init__(
        self,
        path: str,
        watch: Watch | None = None,
        most: int | None = None,
        text: bytes | None = None,
    ) -> None:
        self._reads: set[bytes] = set()
        self._path, self._text = path, text
        self._kept: IO[bytes] | None = None
        self._opened: os.stat_result | None = None
        if "\0" in path:
            raise OSError("the name contains a NUL byte")
        if comes_once(path):
            endless = path != STDIN and is_device(os.stat(path))
            with closing(open_log(path)[0]) as reader:
                self._kept = copy_to_disk(reader, MOST_JSON_BYTES if endless else most)
        elif not is_remote(path):
            self._opened = os.stat(path)
            if watch is not None:
                watch.add(path, self._opened)

    @property
    def size(self) -> int:
        """The number of stored bytes, or 0 if it is unknown."""
        return self._opened.st_size if self._opened is not None else 0

    def pieces(self) -> Iterator[bytes]:
        """Iterate over the decompressed bytes. Raises OSError and CannotCheck."""
        if self._text is not None:
            yield self._text
            return
        reader, digest = self._reader(), xxh3_128()
        try:
            _, content = begun(reader)
            while data := content.read():
                digest.update(data)
                yield data
            self._reads.add(digest.digest())
        finally:
            reader.close()

    def whole(self) -> bytes:
        """Return all decompressed bytes. Raises OSError, and CannotCheck if there are too many."""
        held = bytearray()
        for piece in self.pieces():
            STOPPING.check()
            held += piece
            if len(held) > MOST_JSON_BYTES:
                raise too_many_bytes(MOST_JSON_BYTES)
        refuse_many_values(held)
        return bytes(held)

    def difference(self) -> str | None:
        """Return a message if the second reading had other bytes than the first, else None."""
        return "the bytes differed when the file was read again" if len(self._reads) > 1 else None

    def close(self) -> None:
        """Release the kept bytes."""
        if self._kept is not None:
            self._kept.close()

    def _reader(self) -> ByteStream:
        if self._kept is not None:
            self._kept.seek(0)
            return DescriptorReader(self._kept.fileno())
        return open_log(self._path)[0]


def detect_named(path: str) -> str | None:
    """Return the kind of an input; an input of unknown kind counts as an evaluation."""
    try:
        # An input that can be read only once is examined when it is checked.
        return EVALUATION if comes_once(path) else detect_declared(path)
    except (OSError, ValueError, CannotCheck):
        # The check reports why it cannot be read.
        return EVALUATION


def detect_declared(path: str) -> str | None:
    """Return the kind of a file that the user declared as this format's, or None.

    A file that is unreadable or torn counts as an evaluation, whose check reports the reason.
    Raises OSError and CannotCheck.
    """
    seen = peek_file(path)
    if seen.kind == ARRAY:
        return None
    kind = kind_by_signs(seen.keys)
    if kind is None:
        members = outline(path, "benchmark_id")
        kind = kind_by_members(members.keys()) or kind_by_members(seen.keys)
    return kind


def peek_file(path: str) -> Peek:
    """Return the beginning of a document, decompressed."""
    head = b""
    with closing(RereadDocument(path)) as document:
        for piece in document.pieces():
            head += piece
            if len(head) >= PEEK_BYTES:
                break
    return peek(head[:PEEK_BYTES])


def outline(path: str, wanted: str) -> dict[str, Any]:
    """Return the members of a document except its items, up to a wanted one."""
    members = ObjectSplitter(ITEMS, Options().max_line_bytes)
    with closing(RereadDocument(path)) as document:
        for piece in document.pieces():
            had_begun = members.has_begun
            members.feed(piece)
            if members.has_begun and not had_begun:
                found = object_or_empty(fast_or_none(members.envelope().text + b"}"))
                if wanted in found:
                    return found
    members.end()
    return object_or_empty(fast_or_none(members.envelope().text))


def whole_document(path: str) -> Any:
    """Return a document as an object, or an empty one. Raises OSError and CannotCheck."""
    with closing(RereadDocument(path)) as document:
        return object_or_empty(parse_or_none(document.whole()))


def comes_once(path: str) -> bool:
    """Return whether an input can be read only once, such as a named pipe."""
    if path == STDIN or is_remote(path):
        return path == STDIN
    mode = os.stat(path).st_mode
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
