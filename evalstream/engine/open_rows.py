"""Open the rows of a run, at any place and in any compression."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine import layout
from evalstream.engine.layout import Layout
from evalstream.engine.routing import Sink
from evalstream.io import readers
from evalstream.io.codecs import MAGIC_BYTES, detect_stored
from evalstream.io.digest import RunningDigest
from evalstream.io.file import FileSource, FollowedFile
from evalstream.io.inputs import is_regular, open_stored
from evalstream.io.names import is_remote
from evalstream.model.block import Block, ByteStream
from evalstream.model.data_class import DataClass
from evalstream.model.errors import CannotCheck
from evalstream.model.options import Options
from evalstream.model.run import STDIN, HeldInput
from evalstream.model.signals import Stopped
from evalstream.model.text import ALGORITHM_OF_LENGTH

if TYPE_CHECKING:
    from evalstream.engine.array_rows import ArrayRemainder
    from evalstream.io.held_rows import RowLines
    from evalstream.io.stream import StreamSource
    from evalstream.parsing.array_elements import ArrayError, Element

    Source = FileSource | StreamSource

LayoutOf = Callable[[bytes, int, str | None], Layout]
"""Recognises the layout of a file by its first bytes, its size in bytes and its path."""

SAMPLE_BYTES: Final = 1 << 16
"""Size of a sample of rows; it has the first row in any case."""

SORTING_IDLE_SECONDS: Final = 0.005
"""Pause in the input after which rows are checked if a consumer waits for them."""


class OpenRows(DataClass):
    """The opened rows of a run: their source, and what was recognised.

    `head` holds the first rows, line by line, until `take_head`, and `sample` the first bytes of
    them then, which show what kind of work they are; `packed` names their compression;
    `stored` digests the stored bytes, if they are not the bytes of the rows, and `sealed` is their
    digest, if a seal has it: those of the rows are not digested then. `array_error` is the
    error in an array of rows, set after all blocks are read; `left` takes the bytes that follow it.
    `origin` is the source of the stored bytes.
    """

    source: Source
    head: bytes
    layout: Layout
    packed: str | None = None
    stored: RunningDigest | None = None
    sealed: str | None = None
    array_error: ArrayError | None = None
    left: ArrayRemainder | None = None
    origin: Any = None
    sample: bytes = b""

    def describe_change(self) -> str | None:
        """Return what changed since the rows were opened, if that is known."""
        changed: Callable[[], str | None] | None = getattr(self.origin, "describe_change", None)
        return None if changed is None else changed()

    def take_head(self) -> bytes:
        """Return the head, and keep only its first line, and a sample."""
        head, end = self.head, self.head.find(b"\n")
        self.head, self.sample = head if end < 0 else head[:end], head[: max(SAMPLE_BYTES, end + 1)]
        return head

    @property
    def stream(self) -> StreamSource | None:
        """The source, unless it is a plain file."""
        return None if isinstance(self.source, FileSource) else self.source

    @property
    def is_packed_file(self) -> bool:
        """Whether blocks take time to unpack, and come from a file, not from a writer."""
        return self.packed is not None and isinstance(self.origin, readers.FileReader)

    @property
    def total(self) -> int:
        """The total number of bytes of rows, 0 if it is not known."""
        return self.source.size if self.stream is None else 0

    def digests(self) -> dict[str, dict[str, str]]:
        """Return the digests of all bytes read, by what they cover and by algorithm.

        Raises CannotCheck for a file that had the digest of its seal, and has another one.
        """
        read = self.source.checksums()
        if self.stored is not None:
            stored = self.stored.result()
            if self.sealed not in (None, *stored.values()):
                raise CannotCheck("the file changed while it was read")
            return {"stored": stored, "unpacked": read}
        if self.has_mappings:
            return {}
        digests = {"stored": read}
        if self.stream is not None and self.held_lines and self.held_lines.ends_unknown:
            digests["unended"] = self.stream.checksums(without_newline=True)
        return digests

    @property
    def held_lines(self) -> RowLines | None:
        """The rows that the calling program holds; None for others."""
        lines: RowLines | None = getattr(self.origin, "lines", None)
        return lines

    @property
    def has_mappings(self) -> bool:
        """Whether rows came as mappings, which have no bytes."""
        return self.held_lines is not None and self.held_lines.has_mappings

    def blocks(self, length: int, longest: int) -> Iterator[Block | None]:
        """Iterate over blocks of rows of about `length` bytes; None stands for a pause."""
        if self.layout.kind == layout.JSON_ARRAY and self.stream is not None:
            return self._elements(self.stream, length, longest)
        return self.source.blocks(length)

    def _elements(self, source: StreamSource, length: int, longest: int) -> Iterator[Block]:
        """Iterate over the elements of an array as if they were lines."""
        from evalstream.engine.array_rows import ElementBlocks, flat
        from evalstream.parsing.array_elements import ArrayError
        from evalstream.parsing.array_splitter import ArraySplitter

        elements, gathered = ArraySplitter(longest), ElementBlocks(source)
        try:
            for data in chain(source.pieces(), [b""]):
                found = elements.feed(data) if data else elements.end()
                for element in found:
                    if element.whole:
                        gathered.add(flat(element), element.line, element.offset)
                        if gathered.size >= length:
                            yield gathered.block()
                self.array_error = elements.issue
                self._follow(data, found)
        except (OSError, CannotCheck):
            place = source.size, elements.lines
            self.array_error = self.array_error or ArrayError("the array breaks off", *place)
            if gathered.size:
                yield gathered.block()
            self._follow(b"", [])
            raise
        except Stopped:
            if gathered.size:
                yield gathered.block()
            raise
        if gathered.size:
            yield gathered.block()

    def _follow(self, data: bytes, elements: Sequence[Element]) -> None:
        if self.left is not None:
            self.left.follow(data, elements, breaks=self.array_error is not None)


def open_rows(
    path: str,
    name: str,
    options: Options,
    algorithms: Sequence[str],
    taps: Sequence[Sink] = (),
    *,
    streamed: bool = False,
    of_aggregates: Collection[str] = (),
    any_rows: bool = False,
    sealed: str | None = None,
    describe_other: Callable[[bytes], str | None] | None = None,
) -> OpenRows:
    """Open the rows of a run and recognise their layout; reports call them `name`.

    All stored bytes pass `taps` as they are read. With `streamed` the bytes of rows pass through
    this process, even if workers could read them, and the bytes cut off long lines are kept on
    disk. `of_aggregates` are members that show an aggregate. With `any_rows` logs of harnesses are
    rows, too. `sealed` is the digest of a seal, by one of `algorithms`: where it is
    that of a compressed file, the unpacked bytes are not digested. `describe_other` describes files
    of other formats by their first bytes. Raises OSError if they cannot be
    opened, and MissingExtra if a required library is not installed.
    """
    layout_of = partial(
        layout.detect_layout,
        any_rows=any_rows or options.schema is not None,
        of_aggregates=of_aggregates,
        describe_other=describe_other,
    )
    if not (streamed or taps or _must_stream(path, options)):
        opened = _opened_file(path, layout_of, options)
        if opened is not None:
            return opened
    keep_rests = streamed or options.routing.rejected is not None or options.skip_noise
    reader = open_bytes(path, options)
    try:
        origin = path.origin if isinstance(path, HeldInput) else reader
        opened = _open_stream(
            reader, origin, name, options, algorithms, taps, keep_rests, layout_of
        )
        if sealed is not None and opened.stored is not None and _has_digest(origin, sealed):
            opened.sealed = sealed
        return opened
    except BaseException:
        reader.close()
        raise


def _has_digest(origin: ByteStream, wanted: str) -> bool:
    """Tell whether a file that is small enough to be read twice has a digest."""
    from evalstream.io.stream import REREAD_BYTES

    if not isinstance(origin, readers.FileReader) or origin.size > REREAD_BYTES:
        return False
    digest = RunningDigest([ALGORITHM_OF_LENGTH[len(wanted)]])
    reader = readers.TappedReader(readers.StoppableReader(origin.reopen()), digest.update)
    try:
        while reader.read():
            pass
    finally:
        reader.close()
    return wanted in digest.result().values()


def _opened_file(path: str, layout_of: LayoutOf, options: Options) -> OpenRows | None:
    """Open a file of plain lines, or return None. Raises OSError."""
    source = FileSource(path, options.max_line_bytes)
    try:
        head = _head(source)
        found = layout_of(head, source.size, path)
        packed = detect_stored(head)
    except BaseException:
        source.close()
        raise
    if packed is None and found.kind != layout.JSON_ARRAY:
        return OpenRows(source, head, found, origin=source)
    source.close()
    return None


def _must_stream(path: str, options: Options) -> bool:
    """Tell whether rows are not read as those of a plain file."""
    routing = options.routing
    wanted = routing.splits_rows or routing.follow or options.skip_noise
    return wanted or path == STDIN or is_remote(path) or not is_regular(path)


def open_bytes(path: str, options: Options) -> ByteStream:
    """Open the stored bytes of a file, which may grow. Raises OSError and MissingExtra."""
    if options.routing.follow and path != STDIN and not is_remote(path):
        return FollowedFile(path, options.routing.idle_timeout)
    return open_stored(path)


def _open_stream(
    reader: ByteStream,
    origin: ByteStream,
    name: str,
    options: Options,
    algorithms: Sequence[str],
    taps: Sequence[Sink],
    keep_rests: bool,
    layout_of: LayoutOf,
) -> OpenRows:
    from evalstream.io.stream import StreamSource

    reader = readers.StoppableReader(reader)
    for tap in taps:
        reader = readers.TappedReader(reader, tap)
    # Who feeds rows waits for the findings of each, and cannot wait for more bytes.
    is_fed = hasattr(origin, "answer")
    # A reader that stops raises again when the rows are read; the bytes before count.
    start = b"" if is_fed else readers.read_start(reader, MAGIC_BYTES, Stopped)
    packed, stored = detect_stored(start), None
    reader = readers.PrefixedReader(start, reader)
    if packed is not None:
        from evalstream.io.compression import DecompressingReader

        stored = RunningDigest(algorithms)
        reader = DecompressingReader(readers.TappedReader(reader, stored.update), packed)
    source = StreamSource(
        reader,
        name,
        options.max_line_bytes,
        **({"idle_seconds": SORTING_IDLE_SECONDS} if options.routing.splits_rows else {}),
        keep_rests=keep_rests,
        reopen=getattr(origin, "reopen", None) if packed is None else None,
    )
    head = _head(source)
    shown = None if name == STDIN else name
    found = layout_of(head, source.size if source.is_at_end else sys.maxsize, shown)
    if found.kind == layout.JSON_ARRAY:
        from evalstream.engine.array_rows import lines_of_array

        lines = list(lines_of_array(head, options.max_line_bytes))
        head = b""  # released before the lines are joined: it may have 8 MiB
        head = b"\n".join(lines)
    return OpenRows(source, head, found, packed, stored, origin=origin)


def _head(source: Source) -> bytes:
    """Return the first bytes; a read error is reported when the rows are read."""
    try:
        return source.head()
    except OSError:
        return b""
