"""The compressions of files, and their decompressors behind one interface."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Final, Protocol

from evalstream.model.block import MEBIBYTE, Bytes
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck, MissingExtra, install_command

XZ_MEMORY_BYTES: Final = 256 * MEBIBYTE
ZSTANDARD_WINDOW_BYTES: Final = 128 * MEBIBYTE
_GZIP_WINDOW: Final = 31
_FLAGS_AT: Final = 3
_ONE_FIELD_AT_MOST: Final = frozenset({0, 4, 8, 16})
"""Flags of a gzip header with at most one of extra data, name and comment (RFC 1952)."""


class Decompressor(Protocol):
    """Decompresses one member, with the interface of the standard library's decompressors."""

    def decompress(self, data: Bytes, max_length: int) -> bytes:
        """Return at most `max_length` bytes decompressed from `data` and earlier input."""

    @property
    def needs_input(self) -> bool:
        """Whether the next call needs more input."""

    @property
    def eof(self) -> bool:
        """Whether the end of the member was reached."""

    @property
    def unused_data(self) -> bytes:
        """The input after the end of the member."""


class Codec(NamedTuple):
    """A compression: `begin` creates a decompressor from the head of a member.

    `errors` are the exceptions of its library, `limit_bytes` is its limit of window memory.
    """

    begin: Callable[[bytes], Decompressor]
    errors: tuple[type[Exception], ...]
    limit_bytes: int


class _ZlibDecompressor:
    """Adapts the standard library's zlib to the interface of its other decompressors."""

    def __init__(self, window: int) -> None:
        import zlib

        self.needs_input = True
        self._decompressor = zlib.decompressobj(window)

    @property
    def eof(self) -> bool:
        return self._decompressor.eof

    @property
    def unused_data(self) -> bytes:
        return self._decompressor.unused_data

    def decompress(self, data: Bytes, max_length: int) -> bytes:
        waiting = data or self._decompressor.unconsumed_tail
        output = self._decompressor.decompress(waiting, max_length)
        self.needs_input = len(output) < max_length
        return output


def _gzip() -> Codec:
    import zlib

    library = _import_first("isal.igzip_lib")
    if library is None:
        return Codec(lambda _: _ZlibDecompressor(_GZIP_WINDOW), (zlib.error,), 0)

    def begin(head: bytes) -> Decompressor:
        # igzip loses track of the header fields between two pieces of a header.
        if head[_FLAGS_AT] not in _ONE_FIELD_AT_MOST:
            return _ZlibDecompressor(_GZIP_WINDOW)
        decompressor: Decompressor = library.IgzipDecompressor(flag=library.DECOMP_GZIP)
        return decompressor

    return Codec(begin, (library.error, zlib.error), 0)


def deflate() -> Codec:
    """Return the codec of what is deflated without a header, as in zip archives."""
    import zlib

    return Codec(lambda _: _ZlibDecompressor(-zlib.MAX_WBITS), (zlib.error,), 0)


def zstandard_library() -> ModuleType:
    """Return the library of zstandard. Raises MissingExtra if none is installed."""
    library = _import_first("compression.zstd", "backports.zstd")
    if library is None:
        raise MissingExtra(
            f"zstandard is not installed; install it with: {install_command('compressed')}"
        )
    return library


def _zstandard() -> Codec:
    library = zstandard_library()
    window_log = ZSTANDARD_WINDOW_BYTES.bit_length() - 1
    options = {library.DecompressionParameter.window_log_max: window_log}

    def begin(_: bytes) -> Decompressor:
        decompressor: Decompressor = library.ZstdDecompressor(options=options)
        return decompressor

    return Codec(begin, (library.ZstdError,), ZSTANDARD_WINDOW_BYTES)


def _bzip2() -> Codec:
    import bz2

    return Codec(lambda _: bz2.BZ2Decompressor(), (OSError, ValueError), 0)


def _xz() -> Codec:
    import lzma

    def begin(_: bytes) -> Decompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY_BYTES)

    return Codec(begin, (lzma.LZMAError,), XZ_MEMORY_BYTES)


class Compression(NamedTuple):
    """The marks of a compression, and the function that loads its library.

    `magic` are the bytes that a member may begin with. `ending` is the extension of its files.
    `padding_unit` counts the zero bytes that may follow a member, 0 where none may.
    """

    load: Callable[[], Codec]
    ending: str
    magic: tuple[bytes, ...]
    padding_unit: int = 0


_SKIPPABLE_FRAMES: Final = tuple(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60))
"""A skippable frame counts as a member (RFC 8878)."""

COMPRESSIONS: Final = MappingProxyType(
    {
        "gzip": Compression(_gzip, ".gz", (b"\x1f\x8b",), padding_unit=1),
        "zstandard": Compression(_zstandard, ".zst", (b"\x28\xb5\x2f\xfd", *_SKIPPABLE_FRAMES)),
        "bzip2": Compression(_bzip2, ".bz2", (b"BZh",)),
        "xz": Compression(_xz, ".xz", (b"\xfd7zXZ\x00",), padding_unit=4),
    }
)
"""The compressions by name. No `magic` is longer than six bytes."""


_POINTERS: Final = {
    b"version https://git-lfs.github.com/spec/": ("Git LFS", "git lfs pull"),
    b"/annex/objects/": ("git-annex", "git annex get"),
}
"""How files begin that stand for others in a clone without these: who reads them, and how."""

_POINTER_BYTES: Final = 1024
"""A pointer has fewer bytes."""


def refuse_pointer(head: bytes) -> None:
    """Raise CannotCheck for a file that only says which file belongs in its place."""
    for mark, (owner, command) in _POINTERS.items():
        if head.startswith(mark) and len(head) < _POINTER_BYTES:
            raise CannotCheck(f"a pointer of {owner} is in its place; {command} fetches the file")


MAGIC_BYTES: Final = 6
"""How many first bytes show a compression; the longest signature is that of xz."""


def detect_stored(head: bytes) -> str | None:
    """Return the compression of a stored file as below. Raises CannotCheck for a pointer."""
    refuse_pointer(head)
    return detect_compression(head)


def detect_compression(head: bytes) -> str | None:
    """Return the compression of an input from its first six bytes or more, or None."""
    for kind, compression in COMPRESSIONS.items():
        if head.startswith(compression.magic):
            return kind
    return None


def _import_first(*modules: str) -> ModuleType | None:
    for name in modules:
        try:
            return import_module(name)
        except ImportError:
            continue
    return None
