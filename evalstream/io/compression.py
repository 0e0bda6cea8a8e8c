"""Compressed input: a reader that unpacks another, in pieces of bounded size."""

from __future__ import annotations

import bz2
import lzma
import time
import zlib
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Final, NamedTuple, Protocol

from evalstream.model.block import MEBIBYTE, Bytes, ByteStream
from evalstream.model.errors import BrokenCompression, CannotCheck, MissingExtra

PIECE_BYTES: Final = MEBIBYTE
"""The most that one `read` returns."""

STEP_BYTES: Final = 1 << 15
"""How much is fed to a library, and asked of it, at once: a library that fails keeps to itself
what it unpacked since it was called."""

REPLAY_BYTES: Final = MEBIBYTE
"""Up to which size, packed and unpacked, a member is kept to be unpacked again where it fails."""

XZ_MEMORY_BYTES: Final = 256 * MEBIBYTE
ZSTANDARD_WINDOW_BYTES: Final = 128 * MEBIBYTE
HEAD_BYTES: Final = 4
"""How many bytes of a member are seen before it is begun."""

_MAGIC: Final = {
    "gzip": (b"\x1f\x8b",),
    "zstandard": (
        b"\x28\xb5\x2f\xfd",
        *(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60)),
    ),
    "bzip2": (b"BZh",),
    "xz": (b"\xfd7zXZ\x00",),
}
"""How the members of each compression begin; a frame to be skipped counts as one (RFC 8878)."""

_PADDING_UNIT: Final = {"gzip": 1, "xz": 4}
"""In units of how many zero bytes a member may be padded."""

_GZIP_WINDOW: Final = 31
_FLAGS_AT: Final = 3
_ONE_FIELD_AT_MOST: Final = frozenset({0, 4, 8, 16})
"""Flags of a gzip header with nothing, extra data, a name or a comment in it (RFC 1952)."""


def compression_of(head: bytes) -> str | None:
    """Name the compression of an input by its first bytes, six at least; None if it has none."""
    for kind, magic in _MAGIC.items():
        if head.startswith(magic):
            return kind
    return None


class Unpacked:
    """The unpacked bytes of another reader; `members` counts those begun so far.

    Members that follow each other are one stream, be they called members, frames or streams;
    frames to be skipped count. Memory does not grow with what the packed bytes hold.
    """

    def __init__(self, packed: ByteStream, kind: str) -> None:
        """Take over a reader; `kind` is a name that `compression_of` gives. Raises MissingExtra."""
        self.members = 0
        self._packed, self._kind, self._codec = packed, kind, _CODECS[kind]()
        self._member: _Member | None = None
        self._held = memoryview(b"")
        self._start, self._at = 0, 0
        self._padding = 0
        self._pieces: list[bytes] = []
        self._size = 0
        self._fault: Exception | None = None
        self._ended = False

    def read(self) -> bytes:
        """Return the next unpacked bytes, at most `PIECE_BYTES`; nothing at the end.

        Raises BrokenCompression where the packed bytes are damaged, cut off or followed by
        others, and what the packed reader raises; always after all bytes before that, and
        then again and again. Of a damaged member larger than `REPLAY_BYTES`, less than
        `STEP_BYTES` before the damage may be missing.
        """
        while not self._has_something():
            self._take()
        if not self._pieces and self._fault is not None:
            raise self._fault
        piece = b"".join(self._pieces)
        self._pieces, self._size = [], 0
        return piece

    def wait(self, seconds: float) -> bool:
        """Tell whether `read` has something to say, the end included, within some seconds."""
        deadline = time.monotonic() + seconds
        while not self._has_something():
            if not self._packed.wait(max(0.0, deadline - time.monotonic())):
                return False
            self._take()
        return True

    def close(self) -> None:
        """Close the packed reader."""
        self._packed.close()

    def _has_something(self) -> bool:
        """Unpack what is held, a piece at most; tell whether there is anything to return."""
        while self._fault is None and self._size < PIECE_BYTES and self._step():
            pass
        return bool(self._pieces) or self._ended or self._fault is not None

    @property
    def _offset(self) -> int:
        """How many packed bytes are done with."""
        return self._start + self._at

    def _take(self) -> None:
        """Take the next packed bytes, or the end, when all before them are unpacked."""
        try:
            piece = self._packed.read()
        except (OSError, CannotCheck) as error:
            self._fault = error
            return
        # Left over is at most a part of a member's head.
        left = bytes(self._held[self._at :])
        self._held, self._start, self._at = memoryview(left + piece), self._offset, 0
        self._ended = not piece
        if self._ended and (self._member is not None or left):
            self._break(f"is cut off after {self._offset + len(left):,} packed bytes")
        elif self._ended:
            self._check_padding()

    def _step(self) -> bool:
        """Unpack a little of what is held; tell whether that could be done."""
        member = self._member
        if member is None:
            return self._begin()
        fed = self._next(STEP_BYTES if member.needs_input else 0)
        if member.needs_input and not fed:
            return False
        self._at += len(fed)
        try:
            unpacked = member.unpack(fed, min(STEP_BYTES, PIECE_BYTES - self._size))
        except self._codec.faults as error:
            self._fail(member, error)
            return False
        self._add(unpacked)
        if member.ended:
            self._at -= len(member.unused)
            self._member = None
        return True

    def _begin(self) -> bool:
        """Begin the next member, or skip padding; tell whether enough is held for that."""
        head = bytes(self._next(HEAD_BYTES))
        if self.members and head[:1] == b"\0" and self._kind in _PADDING_UNIT:
            self._skip_padding()
            return True
        if self.members and not _may_begin(head, self._kind):
            self._break_behind(self._offset)
        if self._fault is not None or len(head) < HEAD_BYTES or not self._check_padding():
            return False
        self._member = _Member(self._codec, head, self._offset)
        self.members += 1
        self._padding = 0
        return True

    def _next(self, count: int) -> memoryview:
        return self._held[self._at : self._at + count]

    def _skip_padding(self) -> None:
        ahead = bytes(self._next(STEP_BYTES))
        count = len(ahead) - len(ahead.lstrip(b"\0"))
        self._padding += count
        self._at += count

    def _check_padding(self) -> bool:
        """Tell whether the padding is whole; break off if not."""
        if self._padding % _PADDING_UNIT.get(self._kind, 1):
            self._break_behind(self._offset - self._padding)
        return self._fault is None

    def _add(self, unpacked: bytes) -> None:
        if unpacked:
            self._pieces.append(unpacked)
            self._size += len(unpacked)

    def _fail(self, member: _Member, error: Exception) -> None:
        """Return what the failed step unpacked, if that can be found out, then break off."""
        unpacked, offset = member.salvaged() or (b"", self._offset)
        self._add(unpacked)
        # The libraries tell this from damage in their words only.
        if "memory" in str(error).lower():
            limit = self._codec.limit_bytes // MEBIBYTE
            self._break(f"needs more than {limit} MiB of memory to be unpacked")
        else:
            self._break(f"is damaged near byte {offset:,} of the packed bytes: {error}")

    def _break_behind(self, offset: int) -> None:
        self._break(
            f"is followed by bytes, from byte {offset:,} of the packed bytes on, "
            f"that belong to no {self._kind} member"
        )

    def _break(self, reason: str) -> None:
        self._fault = BrokenCompression(f"the {self._kind} stream {reason}")


class _Decompressor(Protocol):
    """What unpacks one member, in the way of the standard library's decompressors."""

    def decompress(self, data: Bytes, max_length: int) -> bytes: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...


class _Codec(NamedTuple):
    """How one compression is unpacked: `begin` takes the head of a member.

    `faults` are what its library raises, `limit_bytes` is what it may use to look back.
    """

    begin: Callable[[bytes], _Decompressor]
    faults: tuple[type[Exception], ...]
    limit_bytes: int


class _Member:
    """A member that is being unpacked, kept while it is small, so that it can be again."""

    def __init__(self, codec: _Codec, head: bytes, offset: int) -> None:
        self._codec, self._head, self._offset = codec, head, offset
        self._unpacking = codec.begin(head)
        self._kept: bytearray | None = bytearray()
        self._given = 0

    @property
    def needs_input(self) -> bool:
        return self._unpacking.needs_input

    @property
    def ended(self) -> bool:
        return self._unpacking.eof

    @property
    def unused(self) -> bytes:
        return self._unpacking.unused_data

    def unpack(self, data: Bytes, most: int) -> bytes:
        """Return what the next bytes unpack to, at most so much. Raises the codec's faults."""
        if self._kept is not None:
            self._kept += data
        unpacked = self._unpacking.decompress(data, most)
        self._given += len(unpacked)
        if self._kept is not None and max(self._given, len(self._kept)) > REPLAY_BYTES:
            self._kept = None
        return unpacked

    def salvaged(self) -> tuple[bytes, int] | None:
        """Return what a failed `unpack` had unpacked, and the packed offset where it failed."""
        if self._kept is None:
            return None
        again, unpacked = self._codec.begin(self._head), bytearray()
        for place in range(len(self._kept)):
            fed = bytes(self._kept[place : place + 1])
            try:
                while not again.eof and (fed or not again.needs_input):
                    unpacked += again.decompress(fed, 1)
                    fed = b""
            except self._codec.faults:
                return bytes(unpacked[self._given :]), self._offset + place
        return None


class _Inflating:
    """The standard library's gzip, in the way of its other decompressors."""

    def __init__(self) -> None:
        self.needs_input = True
        self._inflating = zlib.decompressobj(_GZIP_WINDOW)

    @property
    def eof(self) -> bool:
        return self._inflating.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflating.unused_data

    def decompress(self, data: Bytes, max_length: int) -> bytes:
        waiting = data or self._inflating.unconsumed_tail
        unpacked = self._inflating.decompress(waiting, max_length)
        self.needs_input = len(unpacked) < max_length
        return unpacked


def _may_begin(head: bytes, kind: str) -> bool:
    """Tell whether the first bytes of a member may be these, of which there may be few."""
    return any(magic.startswith(head[: len(magic)]) for magic in _MAGIC[kind])


def _gzip() -> _Codec:
    library = _first_of("isal.igzip_lib")
    if library is None:
        return _Codec(lambda _: _Inflating(), (zlib.error,), 0)

    def begin(head: bytes) -> _Decompressor:
        # Between two pieces of a header, igzip forgets which fields are still to come.
        if head[_FLAGS_AT] not in _ONE_FIELD_AT_MOST:
            return _Inflating()
        decompressor: _Decompressor = library.IgzipDecompressor(flag=library.DECOMP_GZIP)
        return decompressor

    return _Codec(begin, (library.error, zlib.error), 0)


def _zstandard() -> _Codec:
    library = _first_of("compression.zstd", "backports.zstd")
    if library is None:
        raise MissingExtra(
            "zstandard is not installed; install it with: pip install 'evalstream[compressed]'"
        )
    window_log = ZSTANDARD_WINDOW_BYTES.bit_length() - 1
    options = {library.DecompressionParameter.window_log_max: window_log}

    def begin(_: bytes) -> _Decompressor:
        decompressor: _Decompressor = library.ZstdDecompressor(options=options)
        return decompressor

    return _Codec(begin, (library.ZstdError,), ZSTANDARD_WINDOW_BYTES)


def _bzip2() -> _Codec:
    return _Codec(lambda _: bz2.BZ2Decompressor(), (OSError, ValueError), 0)


def _xz() -> _Codec:
    def begin(_: bytes) -> _Decompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY_BYTES)

    return _Codec(begin, (lzma.LZMAError,), XZ_MEMORY_BYTES)


_CODECS: Final[dict[str, Callable[[], _Codec]]] = {
    "gzip": _gzip,
    "zstandard": _zstandard,
    "bzip2": _bzip2,
    "xz": _xz,
}


def _first_of(*modules: str) -> ModuleType | None:
    """Return the first of these modules that is installed."""
    for name in modules:
        try:
            return import_module(name)
        except ImportError:
            continue
    return None
