"""Decompresses files with the libraries that evalstream prefers: python DRIVER FILES..."""

from __future__ import annotations

import sys
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any

PIECE_BYTES = 1 << 17
GZIP_WINDOW = 31


def decompressor_of(path: Path) -> Any:
    """Return a decompressor of one member: the first library that is installed."""
    libraries = ("compression.zstd", "backports.zstd")
    if path.suffix == ".gz":
        libraries = ("isal.igzip_lib", "zlib")
    for name in libraries:
        try:
            library = import_module(name)
        except ImportError:
            continue
        if library is zlib:
            return zlib.decompressobj(GZIP_WINDOW)
        if path.suffix == ".gz":
            return library.IgzipDecompressor(flag=library.DECOMP_GZIP)
        return library.ZstdDecompressor()
    raise SystemExit(f"no library for {path.suffix} is installed")


def main() -> None:
    """Print how many bytes the files have when decompressed."""
    size = 0
    for path in map(Path, sys.argv[1:]):
        decompressor = decompressor_of(path)
        with path.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                size += len(decompressor.decompress(piece))
    print(size)


if __name__ == "__main__":
    main()
