"""Read the zip archive of a log: its central directory, and its members in pieces.

The structures are those of APPNOTE.TXT of PKWARE, version 6.3.10. Memory does not grow with the
archive: its directory is kept on disk, and members are unpacked piece by piece. The standard
`zipfile` does not serve: it holds the directory in memory, reads nothing where one entry of it is
damaged, and accepts headers that differ from it and members that are cut off.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from struct import Struct
from typing import Any, Final

from evalstream.formats.inspect.zip_format import (
    METHODS,
    ArchiveEnd,
    DamagedMember,
    find_end,
    unpack,
)
from evalstream.io.spill_table import SpillTable, decode_name, encode_name
from evalstream.model.block import MEBIBYTE
from evalstream.model.data_class import NamedTuple
from evalstream.model.signals import STOPPING
from evalstream.model.text import count_noun

MOST_RATIO: Final = 2_000
"""Most bytes that a packed byte may stand for, in members of more than RATIO_FROM bytes."""

RATIO_FROM: Final = MEBIBYTE

MOST_UNPACKED_RATIO: Final = 300
"""Most bytes that a byte of the archive may stand for, over all members."""

UNPACKED_ANYWAY: Final = 64 * MEBIBYTE
"""So many bytes may be unpacked from an archive of any size."""

_MOST: Final = (1 << 63) - 1
"""The largest number that is kept; no file is so long."""

_DIRECTORY: Final = Struct("<4sHHHHHHIIIHHHHHII")
_LOCAL: Final = Struct("<4sHHHHHIIIHH")
_EXTRA: Final = Struct("<HH")
_USUAL_NAMES: Final = 256
"""How many bytes the name and the further fields of most members have at most."""

_ENTRY_SIGN: Final = b"PK\x01\x02"
_LOCAL_SIGN: Final = b"PK\x03\x04"
_ENCRYPTED: Final = 0x2041
_DESCRIPTOR: Final = 0x8
_UTF8: Final = 0x800
_HEADER_FIELDS: Final = ("name", "method", "CRC-32", "packed size", "size")
"""Values of the directory that a member's header repeats; the last three may follow the bytes."""

_DESCRIPTOR_SIZES: Final = (0, 12, 16, 20, 24)
_FULL: Final = 0xFFFFFFFF

_TABLES: Final = """
    CREATE TABLE member (
        number INTEGER PRIMARY KEY, name BLOB, method INTEGER, flags INTEGER, crc INTEGER,
        packed INTEGER, size INTEGER, offset INTEGER
    );
    CREATE INDEX by_name ON member (name);
    CREATE INDEX by_offset ON member (offset, number);
"""


class ArchiveMember(NamedTuple):
    """A member as the central directory describes it; sizes and the offset are in bytes."""

    number: int
    name: str
    method: int
    flags: int
    crc: int
    packed: int
    size: int
    offset: int


Report = Callable[[str, str | None], None]
"""Receives a defect of the archive: a message, and the name of the member, if it has one."""


class Archive:
    """An open zip archive; `close` deletes its stored directory.

    `damage` and `danger` receive defects as they are found: the former contradict the archive's own
    structure, the latter make it unsafe to unpack. `unexplained` counts the bytes between members
    that belong to none, `unpacked` those of all members as they are declared. `end` says where the
    directory lies. Raises OSError.
    """

    def __init__(self, descriptor: int, size: int, damage: Report, danger: Report) -> None:
        self._descriptor, self._size = descriptor, size
        self._damage, self._danger = damage, danger
        self.unexplained = self.unpacked = 0
        self.count = 0
        self._table = SpillTable(_TABLES)
        self.close = self._table.close
        self.end: ArchiveEnd | None = None

    def open(self) -> bool:
        """Read the central directory, and tell whether there is one."""
        found = find_end(self._descriptor, self._size, self._damage)
        self.end = found
        if found is None:
            return False
        self._table.change(
            "INSERT INTO member VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            ((*one[:1], encode_name(one.name), *one[2:]) for one in self._entries(found)),
        )
        if self.count != found.entries:
            listed = count_noun(self.count, "member")
            self._damage(f"the directory lists {listed}, but declares {found.entries:,}", None)
        return True

    def find_member(self, name: str) -> ArchiveMember | None:
        """Return the member of a name, the last one of several, or None."""
        return self._find(
            "SELECT * FROM member WHERE name = ? ORDER BY number DESC LIMIT 1", encode_name(name)
        )

    def at(self, offset: int) -> ArchiveMember | None:
        """Return the member whose header begins at an offset, or None."""
        return self._find("SELECT * FROM member WHERE offset = ? LIMIT 1", offset)

    def _find(self, query: str, value: bytes | int) -> ArchiveMember | None:
        found = self._table.rows(query, value)
        return _member(found[0]) if found else None

    def is_last(self, member: ArchiveMember) -> bool:
        """Tell whether a member is the last one of its name: the one that readers return."""
        found = self.find_member(member.name)
        return found is not None and found.number == member.number

    def iterate_repeated(self) -> Iterator[tuple[str, int, bool]]:
        """Iterate over repeated names, with their number and whether their bytes are equal."""
        for name, number, kinds in self._table.rows(
            "SELECT name, COUNT(*), COUNT(DISTINCT crc || ' ' || size) FROM member "
            "GROUP BY name HAVING COUNT(*) > 1 ORDER BY MIN(number) LIMIT 10000"
        ):
            yield decode_name(name), number, kinds == 1

    def members(self, folder: str = "") -> Iterator[ArchiveMember]:
        """Iterate over the members in the order of their bytes; their names begin with a folder."""
        start = encode_name(folder)
        query = "SELECT * FROM member WHERE substr(name, 1, ?) = ? ORDER BY offset, number"
        return map(_member, self._table.iterate(query, len(start), start))

    def unsafe(self) -> str | None:
        """Return why nothing of the archive must be unpacked, or None; call it first.

        Each member is unpacked, so that a small archive whose members share bytes may unpack to
        terabytes.
        """
        ((total,),) = self._table.rows("SELECT TOTAL(size) FROM member")
        self.unpacked = int(total)
        most = UNPACKED_ANYWAY + MOST_UNPACKED_RATIO * self._size
        if total > most:
            reason = (
                f"the members declare {total:,.0f} bytes, and an archive of {self._size:,} bytes "
                f"may hold {most:,}"
            )
            self._danger(reason, None)
            return reason
        before: ArchiveMember | None = None
        end = 0
        for member in self.members():
            STOPPING.check()
            if before is not None and member.offset < end:
                self._danger(f"the member shares bytes with the member {before.name}", member.name)
                return "two members share bytes"
            before, end = member, self._data_start(member) + member.packed
        return None

    def laid_out(self) -> Iterator[ArchiveMember]:
        """Iterate over the members as `members` does, and check that they lie one behind another.

        Bytes between them are counted as unexplained: a harness that edits a log in place leaves
        such bytes behind.
        """
        before, slack = 0, False
        for member in self.members():
            gap = min(member.offset, self._size) - before
            if gap > 0 and not (slack and gap in _DESCRIPTOR_SIZES):
                self.unexplained += gap
            yield member
            before = max(before, self._data_start(member) + member.packed)
            slack = bool(member.flags & _DESCRIPTOR)
        if self.end is not None:
            rest = self.end.directory - before
            if rest < 0:
                self._damage("the members reach into the directory", None)
            elif not (slack and rest in _DESCRIPTOR_SIZES):
                self.unexplained += rest

    def pieces(self, member: ArchiveMember) -> Iterator[bytes]:
        """Iterate over the unpacked bytes of a member, and check its sizes and its CRC.

        Raises DamagedMember where they are wrong, after all bytes before it, and MissingExtra.
        """
        start = self._checked_start(member)
        crc = size = 0
        for piece in unpack(self._descriptor, start, member.packed, member.method):
            size += len(piece)
            if size > member.size:
                raise DamagedMember(f"unpacks to more than its declared {member.size:,} bytes")
            crc = zlib.crc32(piece, crc)
            yield piece
        if size != member.size:
            raise DamagedMember(f"unpacks to {size:,} bytes, but {member.size:,} are declared")
        if crc != member.crc:
            raise DamagedMember(f"has the CRC-32 {crc:08x}, but {member.crc:08x} is declared")

    def refusal(self, member: ArchiveMember) -> str | None:
        """Return why a member must not be unpacked, or None."""
        if member.flags & _ENCRYPTED:
            return "is encrypted"
        if member.method not in METHODS:
            return f"is packed with method {member.method}, which logs do not use"
        if member.size > RATIO_FROM and member.size > MOST_RATIO * max(1, member.packed):
            return f"declares {member.size:,} bytes, packed in {member.packed:,}"
        return None

    def _entries(self, end: ArchiveEnd) -> Iterator[ArchiveMember]:
        """Iterate over the entries of the central directory, which must fill its bytes."""
        place, stop = end.directory, end.directory + end.size
        while place < stop:
            head = self._read_header(_DIRECTORY, _ENTRY_SIGN, place)
            if head is None:
                self._damage(f"the directory is damaged at byte {place:,}", None)
                return
            fields = _DIRECTORY.unpack_from(head)
            lengths = fields[10], fields[11], fields[12]
            rest = self._read_rest(_DIRECTORY, head, place, sum(lengths))
            name = self._decode_name(rest[: lengths[0]], fields[3])
            extra = rest[lengths[0] : lengths[0] + lengths[1]]
            packed, size, offset = _wide(extra, fields[9], fields[8], fields[16])
            bounded = (min(number, _MOST) for number in (packed, size, offset + end.shift))
            self.count += 1
            yield ArchiveMember(self.count, name, fields[4], fields[3], fields[7], *bounded)
            place += _DIRECTORY.size + sum(lengths)
        if place != stop:
            self._damage("the directory ends within an entry", None)

    def _decode_name(self, raw: bytes, flags: int) -> str:
        encoding = "utf-8" if flags & _UTF8 else "cp437"
        try:
            name = raw.decode(encoding)
        except UnicodeDecodeError:
            name = raw.decode("utf-8", errors="surrogateescape")
            self._damage("the name of a member is not valid UTF-8", name)
        if _leads_out(name):
            self._danger("the name of the member leads out of the archive", name)
        return name

    def _data_start(self, member: ArchiveMember) -> int:
        """Return where the packed bytes of a member begin, by its local header."""
        head = self._local_header(member)
        return member.offset + (_LOCAL.size + sum(_LOCAL.unpack_from(head)[-2:]) if head else 0)

    def _local_header(self, member: ArchiveMember) -> bytes | None:
        """Return a member's local header and what follows it, None if there is none."""
        if member.offset > self._size:
            return None
        return self._read_header(_LOCAL, _LOCAL_SIGN, member.offset)

    def _read_header(self, kind: Struct, sign: bytes, place: int) -> bytes | None:
        """Return a header of the archive and the bytes behind it, None if there is none."""
        head = os.pread(self._descriptor, kind.size + _USUAL_NAMES, place)
        return head if len(head) >= kind.size and head.startswith(sign) else None

    def _read_rest(self, kind: Struct, head: bytes, place: int, length: int) -> bytes:
        """Return so many bytes behind a header; most of them were read with it."""
        if length <= _USUAL_NAMES:
            return head[kind.size : kind.size + length]
        return os.pread(self._descriptor, length, place + kind.size)

    def _checked_start(self, member: ArchiveMember) -> int:
        """Return where the packed bytes begin. Raises DamagedMember for another local header."""
        head = self._local_header(member)
        if head is None:
            raise DamagedMember(f"has no header at byte {member.offset:,}")
        fields = _LOCAL.unpack_from(head)
        _, _, flags, method, _, _, crc, packed, size, name_size, extra_size = fields
        rest = self._read_rest(_LOCAL, head, member.offset, name_size + extra_size)
        raw, extra = rest[:name_size], rest[name_size:]
        packed, size, _ = _wide(extra, size, packed, 0)
        encoding = "utf-8" if flags & _UTF8 else "cp437"
        name = raw.decode(encoding, errors="surrogateescape" if flags & _UTF8 else "strict")
        told = [(name, member.name), (method, member.method)]
        if not flags & _DESCRIPTOR:
            told += [(crc, member.crc), (packed, member.packed), (size, member.size)]
        elif not member.flags & _DESCRIPTOR:
            raise DamagedMember("has a header that differs from the directory (flags)")
        for what, (here, there) in zip(_HEADER_FIELDS, told, strict=False):
            if here != there:
                raise DamagedMember(f"has a header that differs from the directory ({what})")
        start: int = member.offset + _LOCAL.size + name_size + extra_size
        stop = self.end.directory if self.end is not None else self._size
        if start + member.packed > stop:
            raise DamagedMember("reaches beyond the members' part of the archive")
        return start


def _member(row: tuple[Any, ...]) -> ArchiveMember:
    return ArchiveMember(row[0], decode_name(row[1]), *row[2:])


def _wide(extra: bytes, size: int, packed: int, offset: int) -> tuple[int, int, int]:
    """Return packed size, size and offset, read from the ZIP64 field where they do not fit."""
    values = [size, packed, offset]
    place = 0
    while place + 4 <= len(extra):
        kind, length = _EXTRA.unpack_from(extra, place)
        field = extra[place + 4 : place + 4 + length]
        if kind == 1:
            for index, value in enumerate(values):
                if value == _FULL and len(field) >= 8:
                    values[index] = int.from_bytes(field[:8], "little")
                    field = field[8:]
        place += 4 + length
    return values[1], values[0], values[2]


def _leads_out(name: str) -> bool:
    """Tell whether a name is not that of a file below the folder it is unpacked to."""
    parts = name.replace("\\", "/").split("/")
    return (
        not name
        or name.startswith(("/", "\\"))
        or ".." in parts
        or "\0" in name
        or (len(name) > 1 and name[1] == ":")
    )
