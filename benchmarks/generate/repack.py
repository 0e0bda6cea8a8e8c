"""Writes the rows of a run in another way: as one JSON array, or compressed."""

from __future__ import annotations

import bz2
import hashlib
import lzma
import sys
import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from benchmarks.generate.runs import Run

CHUNK_BYTES = 1 << 20
SPELLINGS = ("compact", "indented")
ZSTANDARD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
COMPRESSORS: dict[str, tuple[str, int, Callable[[int], Any]]] = {
    "gz": ("gzip", 6, lambda level: zlib.compressobj(level, wbits=31)),
    "zst": ("zstd", 3, lambda level: import_module(ZSTANDARD).ZstdCompressor(level=level)),
    "xz": ("xz", 2, lambda level: lzma.LZMACompressor(preset=level)),
    "bz2": ("bzip2", 9, bz2.BZ2Compressor),
}
"""By ending: the program that decompresses alone with -dc, the usual level, the compressor."""


def write_array(run: Run, path: Path, spelling: str) -> Run:
    """Write the rows of a run as one array, and an aggregate that seals it."""
    with run.rows_path.open("rb") as rows, path.open("wb", buffering=CHUNK_BYTES) as file:
        before = b"["
        for row in rows:
            file.write(before)
            file.write(row.rstrip(b"\n") if spelling == "compact" else indented(row))
            before = b","
        file.write(b"]" if spelling == "compact" else b"\n]\n")
    return resealed(run, path, "json")


def indented(row: bytes) -> bytes:
    """Spell a row over many lines, as an element of an array."""
    text = orjson.dumps(orjson.loads(row), option=orjson.OPT_INDENT_2)
    return b"\n  " + text.replace(b"\n", b"\n  ")


def can_compress(kind: str) -> bool:
    """Tell whether a compression is installed here."""
    package = ZSTANDARD.partition(".")[0]
    return kind != "zst" or (find_spec(package) and find_spec(ZSTANDARD)) is not None


def compress(path: Path, kind: str, pieces: Iterable[bytes], *, level: int | None = None) -> Path:
    """Write pieces compressed, as one member, and return the path."""
    _, usual, compressor_of = COMPRESSORS[kind]
    compressor = compressor_of(usual if level is None else level)
    with path.open("wb") as file:
        file.writelines(map(compressor.compress, pieces))
        file.write(compressor.flush())
    return path


def compress_run(run: Run, kind: str) -> Run:
    """Compress the rows of a run beside themselves; its bytes are still those decompressed."""
    path = compress_file(run.rows_path, kind)
    return replace(resealed(run, path, "jsonl"), bytes=run.bytes)


def compress_file(rows_path: Path, kind: str) -> Path:
    """Compress a file beside itself."""
    with rows_path.open("rb") as file:
        pieces = iter(partial(file.read, CHUNK_BYTES), b"")
        return compress(rows_path.with_name(f"packed.jsonl.{kind}"), kind, pieces)


def resealed(run: Run, path: Path, layout: str) -> Run:
    """Write an aggregate that seals the rows of a run as another file holds them."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for piece in iter(partial(file.read, CHUNK_BYTES), b""):
            digest.update(piece)
    aggregate = orjson.loads(run.aggregate_path.read_bytes())
    aggregate["detailed_evaluation_results"] |= {
        "format": layout,
        "file_path": path.name,
        "checksum": digest.hexdigest(),
        "total_rows": run.rows,
    }
    aggregate_path = path.with_name(f"{path.name}.aggregate.json")
    aggregate_path.write_bytes(orjson.dumps(aggregate))
    return Run(path, aggregate_path, run.rows, path.stat().st_size, run.findings)
