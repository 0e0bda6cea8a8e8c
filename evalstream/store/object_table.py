"""The files that snapshots list, by UUID: a record of 99 bytes for an aggregate with its rows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Final

from evalstream.model.errors import CannotCheck
from evalstream.store.layout import RECORD, SAMPLES, Content, Entry

LISTED: Final = 1
"""Flag: a kept snapshot lists the file."""
CURRENT: Final = 2
"""Flag: the latest snapshot lists the file."""
SEEN: Final = 4
"""Flag: the listing of the store has the object."""
IN_DATA: Final = 8
"""Flag: the listing of the store has the file of data/ at the entry's path."""
CHOSEN: Final = 16
"""Flag of aggregates: the files of the record are read."""

_DIGESTS: Final = {RECORD: 16, SAMPLES: 48}
_SIZES: Final = {RECORD: 80, SAMPLES: 86}
_FLAGS: Final = {RECORD: 85, SAMPLES: 91}
"""Where the SHA-256, the size and the flags of a file are."""
_MARK, _VERSION, _RECORD = 92, 98, 99
"""Where a mark of the path, and the number of the version, begin; and the length of a record."""
_NO_DIGEST: Final = "0" * 64

_MOST_VERSIONS: Final = 256
_BUCKETS: Final = 1 << 12
_KEY: Final = os.urandom(16)


class ObjectRecord:
    """The entry of a UUID, read and changed in its place in a table."""

    __slots__ = ("_at", "_bucket")

    def __init__(self, bucket: bytearray, at: int) -> None:
        self._bucket, self._at = bucket, at

    @property
    def version_number(self) -> int:
        """The number of the schema version of its entry."""
        return self._bucket[self._at + _VERSION]

    def flags(self, ending: str) -> int:
        """Return the flags of one of its files."""
        return self._bucket[self._at + _FLAGS[ending]]

    def flag(self, ending: str, flags: int) -> None:
        """Set flags of one of its files."""
        self._bucket[self._at + _FLAGS[ending]] |= flags

    def leave_out(self) -> None:
        """Let its files be read no longer."""
        self._bucket[self._at + _FLAGS[RECORD]] &= ~CHOSEN

    def content(self, ending: str) -> Content | None:
        """Return the content that snapshots give one of its files, None if they list none."""
        bucket, at, size = self._bucket, self._at + _DIGESTS[ending], self._at + _SIZES[ending]
        if not bucket[self._at + _FLAGS[ending]]:
            return None
        return Content(bucket[at : at + 32].hex(), int.from_bytes(bucket[size : size + 5]))

    def add_rows(self, content: Content) -> None:
        """Add the rows, which an older snapshot lists alone."""
        at, size = self._at + _DIGESTS[SAMPLES], self._at + _SIZES[SAMPLES]
        self._bucket[at : at + 32] = bytes.fromhex(content.sha256)
        self._bucket[size : size + 6] = (content.size << 8 | LISTED).to_bytes(6)

    def has_path(self, legacy_path: str) -> bool:
        """Tell whether its entry gives it this path in data/."""
        at = self._at + _MARK
        return self._bucket[at : at + 6] == _mark_path(legacy_path)


class ObjectTable:
    """Records in buckets by the first bits of their UUIDs; each is found by a search for it."""

    def __init__(self) -> None:
        self._buckets = [bytearray() for _ in range(_BUCKETS)]
        self._versions: dict[str, int] = {}

    def add(self, entry: Entry, flags: int) -> ObjectRecord | None:
        """Add a record with the flags of its files, or return the one that the table has.

        Raises CannotCheck for more versions of the schema than there are.
        """
        key = pack_uuid(entry.uuid)
        bucket = self._buckets[key[0] << 4 | key[1] >> 4]
        known = _find(bucket, key)
        if known is not None:
            return known
        number = self._versions.setdefault(entry.version, len(self._versions))
        if number >= _MOST_VERSIONS:
            raise CannotCheck(f"its entries have more than {_MOST_VERSIONS} schema versions")
        (digest, size), rows = entry.aggregate, entry.companion
        sizes, rows_digest = (size << 8 | flags) << 48, _NO_DIGEST
        if rows is not None:
            sizes, rows_digest = sizes | rows.size << 8 | flags & ~CHOSEN, rows.sha256
        bucket += (
            key
            + bytes.fromhex(digest + rows_digest)
            + sizes.to_bytes(12)
            + _mark_path(entry.legacy_path)
            + bytes((number,))
        )
        return None

    def find(self, uuid: str) -> ObjectRecord | None:
        """Return the record of a UUID, or None."""
        key = pack_uuid(uuid)
        return _find(self._buckets[key[0] << 4 | key[1] >> 4], key)

    def __iter__(self) -> Iterator[tuple[str, ObjectRecord]]:
        """Iterate over the records, in the same order for the same store."""
        for bucket in self._buckets:
            for at in range(0, len(bucket), _RECORD):
                yield unpack_uuid(bucket[at : at + 16]), ObjectRecord(bucket, at)

    def version(self, record: ObjectRecord) -> str:
        """Return the schema version that the entry of a record gives."""
        return list(self._versions)[record.version_number]

    def count(self, ending: str, having: int, lacking: int = 0) -> int:
        """Return the number of files of an ending that have some flags, and none of others."""
        at, asked = _FLAGS[ending], having | lacking
        return sum(
            found & asked == having for bucket in self._buckets for found in bucket[at::_RECORD]
        )


def _find(bucket: bytearray, key: bytes) -> ObjectRecord | None:
    at = bucket.find(key)
    while at % _RECORD and at >= 0:  # these bytes may also occur within a record
        at = bucket.find(key, at + 1)
    return None if at < 0 else ObjectRecord(bucket, at)


def _mark_path(path: str) -> bytes:
    """Return what stands for a path in a record; its key is secret, so that none can be forged."""
    return hashlib.blake2b(_KEY + path.encode(errors="surrogatepass"), digest_size=6).digest()


def pack_uuid(uuid: str) -> bytes:
    """Return the bytes of a UUID."""
    return bytes.fromhex(uuid.replace("-", ""))


def unpack_uuid(key: bytes | bytearray) -> str:
    """Return a UUID from its bytes."""
    text = key.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
