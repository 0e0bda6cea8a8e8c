"""The records of a ledger: a row per run, with its findings and links in chunks."""

from __future__ import annotations

import weakref
import zlib
from collections.abc import Iterable, Iterator
from typing import IO, Any, Final

from xxhash import xxh3_128_digest

from evalstream.model.block import group_by_size
from evalstream.model.data_class import NamedTuple
from evalstream.model.temporary_file import open_temporary_file
from evalstream.parsing.json import dumps_exactly, loads_exactly

CHUNK: Final = 500
CHUNK_CHARACTERS: Final = 1 << 20
"""Most findings, and characters of JSON, per chunk; a single finding may be longer."""

MOST_TEXT: Final = 256 << 20
"""Most bytes of one value before its compression, which a hostile file could make endless."""

IN_MEMORY_BYTES: Final = 1 << 20

FINDINGS: Final = 0
LINKS: Final = 1
CALL: Final = 2
RUNS: Final = 3
"""The kinds of chunks: the last two, and findings, of a whole call."""

_DIGEST_BYTES: Final = 16


class Damaged(Exception):
    """A part of the ledger changed after it was written; it counts as missing."""


class LedgerRecord(NamedTuple):
    """One run as a row of the table, column by column.

    `settled` is 0 where the run must always be checked again. `settings` is the fingerprint of the
    tool and its options, `state` describes the files. `findings` and `links` count chunks; `links`
    is None where no links were collected. `digest` covers all other columns.
    """

    key: bytes
    name: str
    place: str
    verdict: str
    checked: str
    tool: str
    settled: int
    settings: str
    state: str
    findings: int
    links: int | None
    summary: bytes
    digest: bytes = b""

    def seal(self) -> LedgerRecord:
        """Return the record with its digest."""
        return self._replace(digest=self._digest())

    @property
    def is_whole(self) -> bool:
        """Whether the record is what was written."""
        return self.digest == self._digest()

    def _digest(self) -> bytes:
        fields = [
            field if isinstance(field, bytes) else str(field).encode(errors="replace")
            for field in self[:-1]
        ]
        return xxh3_128_digest(b"".join([b"%d:%b" % (len(field), field) for field in fields]))


COLUMNS: Final = ", ".join(LedgerRecord._fields)


class ByteStore:
    """A sequence of byte strings: in memory while small, then on disk."""

    def __init__(self) -> None:
        self._recent: list[bytes] = []
        self._lengths: list[int] = []
        self._file: IO[bytes] | None = None
        self.size = self._on_disk = 0

    def append(self, data: bytes) -> None:
        """Append a byte string."""
        self._recent.append(data)
        self.size += len(data)
        if self.size - self._on_disk > IN_MEMORY_BYTES:
            if self._file is None:
                self._file = open_temporary_file()
                weakref.finalize(self, self._file.close)
            self._file.seek(self._on_disk)
            self._file.writelines(self._recent)
            self._lengths += map(len, self._recent)
            self._recent, self._on_disk = [], self.size

    def __len__(self) -> int:
        return len(self._lengths) + len(self._recent)

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the byte strings; this can be repeated."""
        place = 0
        for length in self._lengths:
            if self._file is not None:
                self._file.seek(place)
                yield self._file.read(length)
            place += length
        yield from self._recent


def encode(value: Any, bound_to: bytes) -> bytes:
    """Encode a value as compressed JSON, with a digest over the data and its position."""
    return _encode(dumps_exactly(value), bound_to)


def decode(data: Any, bound_to: bytes) -> Any:
    """Decode a value. Raises Damaged, also for one longer than MOST_TEXT."""
    _verify(data, bound_to)
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(data[_DIGEST_BYTES:], MOST_TEXT)
        if unpacker.eof:
            return loads_exactly(text)
    except (ValueError, zlib.error, RecursionError) as error:
        raise Damaged from error
    raise Damaged


def encode_all(values: Iterable[dict[str, Any]], key: bytes, kind: int) -> ByteStore:
    """Encode many values of a run, in chunks."""
    stored = ByteStore()
    for texts in group_by_size(map(dumps_exactly, values), len, CHUNK_CHARACTERS, CHUNK):
        stored.append(_encode(f"[{','.join(texts)}]", _position(key, kind, len(stored))))
    return stored


def copy_verified(chunks: Iterable[tuple[Any]], count: int, key: bytes, kind: int) -> ByteStore:
    """Copy the chunks of a run. Raises Damaged where some are missing or changed."""
    stored = ByteStore()
    for (data,) in chunks:
        if len(stored) == count:
            raise Damaged
        _verify(data, _position(key, kind, len(stored)))
        stored.append(data)
    if len(stored) != count:
        raise Damaged
    return stored


def decode_all(stored: ByteStore, key: bytes, kind: int) -> Iterator[dict[str, Any]]:
    """Iterate over the values in chunks."""
    for number, data in enumerate(stored):
        yield from decode(data, _position(key, kind, number))


def _encode(text: str, bound_to: bytes) -> bytes:
    body = zlib.compress(text.encode("ascii"), 1)
    return xxh3_128_digest(bound_to + body) + body


def _verify(data: Any, bound_to: bytes) -> None:
    if not isinstance(data, bytes):
        raise Damaged
    if data[:_DIGEST_BYTES] != xxh3_128_digest(bound_to + data[_DIGEST_BYTES:]):
        raise Damaged


def _position(key: bytes, kind: int, number: int) -> bytes:
    return b"%b %d %d " % (key, kind, number)
