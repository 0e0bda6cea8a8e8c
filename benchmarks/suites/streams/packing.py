"""Packs bytes in every compression that a check reads, and spells what unpacks them alone."""

from __future__ import annotations

import bz2
import lzma
import shutil
import sys
import zlib
from collections.abc import Iterable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from benchmarks.suites.streams.runs import CHUNK_BYTES

LEVELS = {"gz": 6, "zst": 3, "xz": 2, "bz2": 9}
UNPACKERS = {"gz": "gzip", "zst": "zstd", "xz": "xz", "bz2": "bzip2"}
"""The programs that unpack alone with -dc, and say so."""

ZSTANDARD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"


class Packer(Protocol):
    """What packs bytes piece by piece."""

    def compress(self, data: bytes, /) -> bytes:
        """Take a piece and return what is packed by now."""

    def flush(self) -> bytes:
        """Return the rest."""


def packer(kind: str, *, level: int | None = None) -> Packer:
    """Return what packs in a kind, by its ending. Raises ImportError for zst without a library."""
    chosen = LEVELS[kind] if level is None else level
    if kind == "gz":
        return zlib.compressobj(chosen, wbits=31)
    if kind == "xz":
        return lzma.LZMACompressor(preset=chosen)
    if kind == "bz2":
        return bz2.BZ2Compressor(chosen)
    compressor: Packer = zstandard().ZstdCompressor(level=chosen)
    return compressor


def zstandard() -> Any:
    """Return the library of zst. Raises ImportError where there is none."""
    return import_module(ZSTANDARD)


def has_zstandard() -> bool:
    """Tell whether zst can be packed here."""
    try:
        zstandard()
    except ImportError:
        return False
    return True


def pack(path: Path, kind: str, pieces: Iterable[bytes], *, level: int | None = None) -> Path:
    """Write pieces packed, as one member, and return the path."""
    packing = packer(kind, level=level)
    with path.open("wb") as file:
        for piece in pieces:
            file.write(packing.compress(piece))
        file.write(packing.flush())
    return path


def pack_file(rows_path: Path, kind: str) -> Path:
    """Pack a file beside itself."""
    with rows_path.open("rb") as file:
        pieces = iter(partial(file.read, CHUNK_BYTES), b"")
        return pack(rows_path.with_name(f"packed.jsonl.{kind}"), kind, pieces)


def unpacking_alone(path: Path, kind: str) -> list[str]:
    """Spell what unpacks a file and drops it: a program, or Python where there is none."""
    program = UNPACKERS[kind]
    if shutil.which(program):
        return [program, "-dc", str(path)]
    library = {"gz": "gzip", "xz": "lzma", "bz2": "bz2", "zst": ZSTANDARD}[kind]
    code = f"import sys, {library} as library\nwith library.open(sys.argv[1]) as file:\n"
    return [sys.executable, "-c", f"{code} while file.read(1 << 20): pass", str(path)]
