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

_UUID, _MARK, _VERSION = 16, 22, 23
"""Where the parts of a record end: UUID, mark of its path, number of its schema version."""
_FILES: Final = {RECORD: _VERSION, SAMPLES: _VERSION + 38}
"""Where the parts about its files begin: SHA-256, size, flags."""
_SIZE, _FLAGS = 32, 37
_RECORD: Final = _VERSION + 2 * 38
_NO_FILE: Final = bytes(38)

_MOST_VERSIONS: Final = 256
_BUCKETS: Final = 1 << 12
_KEY: Final = os.urandom(16)


class ObjectRecord:
    """What is known of a UUID, read and changed in its place in a table."""

    __slots__ = ("_at", "_bucket")

    def __init__(self, bucket: bytearray, at: int) -> None:
        self._bucket, self._at = bucket, at

    @property
    def version_number(self) -> int:
        """The number of the schema version of its entry."""
        return self._bucket[self._at + _MARK]

    def flags(self, ending: str) -> int:
        """Return the flags of one of its files."""
        return self._bucket[self._at + _FILES[ending] + _FLAGS]

    def flag(self, ending: str, flags: int) -> None:
        """Set flags of one of its files."""
        self._bucket[self._at + _FILES[ending] + _FLAGS] |= flags

    def leave_out(self) -> None:
        """Let its files be read no longer."""
        self._bucket[self._at + _FILES[RECORD] + _FLAGS] &= ~CHOSEN

    def content(self, ending: str) -> Content | None:
        """Return the content that snapshots give one of its files, None if they list none."""
        at = self._at + _FILES[ending]
        part = self._bucket[at : at + len(_NO_FILE)]
        if not part[_FLAGS]:
            return None
        return Content(part[:_SIZE].hex(), int.from_bytes(part[_SIZE:_FLAGS]))

    def add_rows(self, content: Content) -> None:
        """Add the rows, which an older snapshot lists alone."""
        at = self._at + _FILES[SAMPLES]
        self._bucket[at : at + len(_NO_FILE)] = _pack(content, LISTED)

    def has_path(self, legacy_path: str) -> bool:
        """Tell whether its entry gives it this path in data/."""
        at = self._at
        return self._bucket[at + _UUID : at + _MARK] == mark_path(legacy_path)


class ObjectTable:
    """Records in buckets by the first bits of their UUIDs; each is found by a search for it."""

    def __init__(self) -> None:
        self._buckets = [bytearray() for _ in range(_BUCKETS)]
        self._versions: dict[str, int] = {}

    def add(self, entry: Entry, flags: int) -> None:
        """Add a record that the table does not have, with the flags of its files.

        Raises CannotCheck for more versions of the schema than there are.
        """
        key, companion = pack_uuid(entry.uuid), entry.companion
        version = self._versions.setdefault(entry.version, len(self._versions))
        if version >= _MOST_VERSIONS:
            raise CannotCheck(f"its entries have more than {_MOST_VERSIONS} schema versions")
        self._buckets[_bucket(key)] += (
            key
            + mark_path(entry.legacy_path)
            + bytes((version,))
            + _pack(entry.aggregate, flags)
            + (_NO_FILE if companion is None else _pack(companion, flags & ~CHOSEN))
        )

    def find(self, uuid: str) -> ObjectRecord | None:
        """Return the record of a UUID, or None."""
        key = pack_uuid(uuid)
        bucket = self._buckets[_bucket(key)]
        at = bucket.find(key)
        while at % _RECORD and at >= 0:  # these bytes may also occur within a record
            at = bucket.find(key, at + 1)
        return None if at < 0 else ObjectRecord(bucket, at)

    def __iter__(self) -> Iterator[tuple[str, ObjectRecord]]:
        """Iterate over the records, in the same order for the same store."""
        for bucket in self._buckets:
            for at in range(0, len(bucket), _RECORD):
                yield unpack_uuid(bucket[at : at + _UUID]), ObjectRecord(bucket, at)

    def version(self, record: ObjectRecord) -> str:
        """Return the schema version that the entry of a record gives."""
        return list(self._versions)[record.version_number]

    def count(self, ending: str, having: int, lacking: int = 0) -> int:
        """Return the number of files of an ending that have some flags, and none of others."""
        at, asked = _FILES[ending] + _FLAGS, having | lacking
        return sum(
            found & asked == having for bucket in self._buckets for found in bucket[at::_RECORD]
        )


def mark_path(path: str) -> bytes:
    """Return what stands for a path in a record; its key is secret, so that none can be forged."""
    return hashlib.blake2b(path.encode(errors="surrogatepass"), digest_size=6, key=_KEY).digest()


def pack_uuid(uuid: str) -> bytes:
    """Return the bytes of a UUID."""
    return bytes.fromhex(uuid.replace("-", ""))


def unpack_uuid(key: bytes | bytearray) -> str:
    """Return a UUID from its bytes."""
    text = key.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _pack(content: Content, flags: int) -> bytes:
    return bytes.fromhex(content.sha256) + content.size.to_bytes(5) + bytes((flags,))


def _bucket(key: bytes) -> int:
    return key[0] << 4 | key[1] >> 4
