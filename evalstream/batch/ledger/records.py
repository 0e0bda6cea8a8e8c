"""What a ledger keeps of a run: a record, and its findings and links in chunks."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile
from typing import Any, Final, NamedTuple

from xxhash import xxh3_128_digest

CHUNK: Final = 500
CHUNK_CHARACTERS: Final = 1 << 20
"""How many findings, and characters of JSON, a chunk holds at most, but for a single finding."""

IN_MEMORY_BYTES: Final = 1 << 20

FINDINGS: Final = 0
LINKS: Final = 1
"""The kinds of chunks."""

_DIGEST_BYTES: Final = 16


class Damaged(Exception):
    """Something in the ledger is not what was written; it counts as not there."""


class LedgerRecord(NamedTuple):
    """One run as the table keeps it, column by column.

    `settled` is 0 where the run is to be checked again in any case. `settings` is the
    fingerprint of what decides besides the files, which `standing` describes. `findings` and
    `links` count chunks; without links that were gathered the latter is None. `digest` is of
    everything else.
    """

    key: bytes
    name: str
    place: str
    verdict: str
    checked: str
    tool: str
    settled: int
    settings: str
    standing: str
    findings: int
    links: int | None
    summary: bytes
    digest: bytes = b""

    def sealed(self) -> LedgerRecord:
        """Return the record with its digest."""
        return self._replace(digest=self._digest())

    @property
    def is_whole(self) -> bool:
        """Whether the record is what was written."""
        return self.digest == self._digest()

    def _digest(self) -> bytes:
        fields = (
            field if isinstance(field, bytes) else str(field).encode(errors="replace")
            for field in self[:-1]
        )
        return xxh3_128_digest(b"".join(b"%d:%b" % (len(field), field) for field in fields))


COLUMNS: Final = ", ".join(LedgerRecord._fields)


class Kept:
    """Pieces of bytes that are kept in order: in memory while they are few, then on disk."""

    def __init__(self) -> None:
        self._file: SpooledTemporaryFile[bytes] | None = None
        self._lengths: list[int] = []
        self.size = 0

    def append(self, data: bytes) -> None:
        """Take one more piece."""
        if self._file is None:
            self._file = SpooledTemporaryFile(IN_MEMORY_BYTES, prefix="evalstream-")  # noqa: SIM115 - lives as long as this
        self._file.seek(self.size)
        self._file.write(data)
        self._lengths.append(len(data))
        self.size += len(data)

    def __len__(self) -> int:
        """Return the number of pieces."""
        return len(self._lengths)

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the pieces, again and again."""
        place = 0
        for length in self._lengths:
            if self._file is not None:
                self._file.seek(place)
                yield self._file.read(length)
            place += length

    def __del__(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()


def packed(value: Any, bound_to: bytes) -> bytes:
    """Write a value as compressed JSON with a digest, which it shares with where it belongs."""
    return _packed(_text(value), bound_to)


def unpacked(data: Any, bound_to: bytes) -> Any:
    """Return the value that was packed. Raises Damaged."""
    _verify(data, bound_to)
    try:
        return json.loads(zlib.decompress(data[_DIGEST_BYTES:]))
    except (ValueError, zlib.error, RecursionError) as error:
        raise Damaged from error


def packed_all(values: Iterable[dict[str, Any]], key: bytes, kind: int) -> Kept:
    """Pack many values of a run, some together."""
    kept, texts, characters = Kept(), [], 0
    for value in values:
        texts.append(_text(value))
        characters += len(texts[-1])
        if len(texts) == CHUNK or characters >= CHUNK_CHARACTERS:
            kept.append(_packed(f"[{','.join(texts)}]", _place(key, kind, len(kept))))
            texts, characters = [], 0
    if texts:
        kept.append(_packed(f"[{','.join(texts)}]", _place(key, kind, len(kept))))
    return kept


def verified(chunks: Iterable[tuple[Any]], count: int, key: bytes, kind: int) -> Kept:
    """Keep the chunks of a run for later. Raises Damaged where not all are there and whole."""
    kept = Kept()
    for (data,) in chunks:
        _verify(data, _place(key, kind, len(kept)))
        kept.append(data)
    if len(kept) != count:
        raise Damaged
    return kept


def unpacked_all(kept: Kept, key: bytes, kind: int) -> Iterator[dict[str, Any]]:
    """Iterate over the values in chunks."""
    for number, data in enumerate(kept):
        yield from unpacked(data, _place(key, kind, number))


def _packed(text: str, bound_to: bytes) -> bytes:
    body = zlib.compress(text.encode("ascii"), 1)
    return xxh3_128_digest(bound_to + body) + body


def _verify(data: Any, bound_to: bytes) -> None:
    if not isinstance(data, bytes):
        raise Damaged
    if data[:_DIGEST_BYTES] != xxh3_128_digest(bound_to + data[_DIGEST_BYTES:]):
        raise Damaged


def _place(key: bytes, kind: int, number: int) -> bytes:
    return b"%b %d %d " % (key, kind, number)


def _text(value: Any) -> str:
    """Write JSON from which the very same value comes back: lone surrogates and infinities too."""
    return _ENCODER.encode(value)


_ENCODER: Final = json.JSONEncoder(separators=(",", ":"))
