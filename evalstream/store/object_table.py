"""The files that snapshots list, by UUID, at 60 bytes each."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Final

from evalstream.model.data_class import NamedTuple
from evalstream.store.layout import Content

CURRENT: Final = 1
"""Flag: the latest snapshot lists the file."""
SEEN: Final = 2
"""Flag: the listing of the store has the object."""
IN_DATA: Final = 4
"""Flag: the listing of the store has the file of data/ at the entry's path."""

_UUID, _SHA, _SIZE, _FLAGS, _RECORD = 16, 48, 53, 54, 60
"""Where each part of a record ends: UUID, SHA-256, size, flags, mark of the path."""

_BUCKETS: Final = 1 << 12
_KEY: Final = os.urandom(16)


class ObjectRecord(NamedTuple):
    """A listed file: its content, its flags, and the mark of its entry's legacy_path."""

    content: Content
    flags: int
    mark: bytes


class ObjectTable:
    """Records by UUID, in buckets by its first bits; each is found by a search for its bytes."""

    def __init__(self) -> None:
        self._buckets = [bytearray() for _ in range(_BUCKETS)]
        self.count = 0

    def add(self, uuid: str, content: Content, legacy_path: str, flags: int) -> None:
        """Add a UUID that the table does not have."""
        key = pack_uuid(uuid)
        self._buckets[_bucket(key)] += (
            key
            + bytes.fromhex(content.sha256)
            + content.size.to_bytes(5)
            + bytes((flags,))
            + mark_path(legacy_path)
        )
        self.count += 1

    def find(self, uuid: str) -> ObjectRecord | None:
        """Return the record of a UUID, or None."""
        bucket, at = self._find(pack_uuid(uuid))
        return None if at < 0 else _record(bucket[at : at + _RECORD])

    def __contains__(self, uuid: str) -> bool:
        return self._find(pack_uuid(uuid))[1] >= 0

    def flag(self, uuid: str, flag: int) -> None:
        """Set a flag of a UUID that the table has."""
        bucket, at = self._find(pack_uuid(uuid))
        bucket[at + _FLAGS - 1] |= flag

    def __iter__(self) -> Iterator[tuple[str, ObjectRecord]]:
        """Iterate over the records in the order of their UUIDs."""
        for bucket in self._buckets:
            ends = range(0, len(bucket), _RECORD)
            for record in sorted(bytes(bucket[at : at + _RECORD]) for at in ends):
                yield unpack_uuid(record[:_UUID]), _record(record)

    def _find(self, key: bytes) -> tuple[bytearray, int]:
        bucket = self._buckets[_bucket(key)]
        at = bucket.find(key)
        while at % _RECORD and at >= 0:  # these bytes may also occur within a record
            at = bucket.find(key, at + 1)
        return bucket, at


def mark_path(path: str) -> bytes:
    """Return what stands for a path in a record; its key is secret, so that none can be forged."""
    return hashlib.blake2b(path.encode(errors="surrogatepass"), digest_size=6, key=_KEY).digest()


def pack_uuid(uuid: str) -> bytes:
    """Return the bytes of a UUID."""
    return bytes.fromhex(uuid.replace("-", ""))


def unpack_uuid(key: bytes) -> str:
    """Return a UUID from its bytes."""
    text = key.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _bucket(key: bytes) -> int:
    return key[0] << 4 | key[1] >> 4


def _record(data: bytes | bytearray) -> ObjectRecord:
    content = Content(bytes(data[_UUID:_SHA]).hex(), int.from_bytes(data[_SHA:_SIZE]))
    return ObjectRecord(content, data[_SIZE], bytes(data[_FLAGS:_RECORD]))
