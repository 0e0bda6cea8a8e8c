"""Compressors of gzip, zstandard, bzip2 and xz, and a writer that compresses what it is given.

The same bytes give the same compressed bytes: no time and no name is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Final, Protocol

from evalstream.io.codecs import zstandard_library
from evalstream.io.parallel_gzip import ParallelGzip
from evalstream.model.block import MEBIBYTE, Bytes

STEP_BYTES: Final = MEBIBYTE
"""Bytes that a library compresses in one call: always as many, so that only they decide the result.
"""

BZIP2_LEVEL: Final = 9
XZ_PRESET: Final = 6
"""The defaults of the programs `bzip2` and `xz`."""

ZSTANDARD_LEVEL: Final = 3
"""The default of the program `zstd`."""


class Compressor(Protocol):
    """Compresses one stream, with the interface of the standard library's compressors."""

    def compress(self, data: Bytes, /) -> bytes:
        """Add bytes and return the compressed bytes that are ready."""

    def flush(self) -> bytes:
        """End the stream and return its last bytes."""


class Target(Protocol):
    """Whatever takes bytes, such as `evalstream.io.output.Output`."""

    def write(self, data: Bytes, /) -> object:
        """Add bytes; those of a view may change after the call."""


class CompressingWriter:
    """Compresses bytes and writes them to a target as one stream. Raises what the target raises."""

    def __init__(self, target: Target, kind: str, threads: int = 1) -> None:
        """Wrap a target; `kind` is a key of COMPRESSORS. Raises MissingExtra.

        With more than one of `threads`, gzip uses them after the first STEP_BYTES.
        """
        self._target = target
        self._compressor = COMPRESSORS[kind](threads)
        self._waiting = bytearray()

    def write(self, data: Bytes) -> None:
        """Compress bytes, and write what is ready."""
        self._waiting += data
        done = len(self._waiting) // STEP_BYTES * STEP_BYTES
        with memoryview(self._waiting) as view:
            for start in range(0, done, STEP_BYTES):
                with view[start : start + STEP_BYTES] as step:
                    self._pass_on(self._compressor.compress(step))
        del self._waiting[:done]

    def finish(self) -> None:
        """Compress the last bytes, and end the stream."""
        self._pass_on(self._compressor.compress(bytes(self._waiting)))
        self._pass_on(self._compressor.flush())

    def close(self) -> None:
        """End the threads."""
        if isinstance(self._compressor, ParallelGzip):
            self._compressor.close()

    def _pass_on(self, packed: bytes) -> None:
        if packed:
            self._target.write(packed)


def _zstandard(_: int) -> Compressor:
    library = zstandard_library()
    parameter = library.CompressionParameter
    options = {parameter.compression_level: ZSTANDARD_LEVEL, parameter.checksum_flag: 1}
    compressor: Compressor = library.ZstdCompressor(options=options)
    return compressor


def _bzip2(_: int) -> Compressor:
    import bz2

    return bz2.BZ2Compressor(BZIP2_LEVEL)


def _xz(_: int) -> Compressor:
    import lzma

    return lzma.LZMACompressor(lzma.FORMAT_XZ, preset=XZ_PRESET)


COMPRESSORS: Final = MappingProxyType[str, Callable[[int], Compressor]](
    {"gzip": ParallelGzip, "zstandard": _zstandard, "bzip2": _bzip2, "xz": _xz}
)
"""What begins a compressed stream, given a number of threads, by the names of
`evalstream.io.codecs.COMPRESSIONS`.
"""
