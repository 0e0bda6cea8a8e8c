"""Archives of a few kilobytes that lie about themselves, as logs of Inspect."""

import json
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from struct import Struct
from typing import Final, NamedTuple

from inspect_archive import members_of, sound_log

DEFLATED: Final = 8
STORED: Final = 0
ENCRYPTED: Final = 1
WIDE: Final = 0xFFFFFFFF
FIRST: Final = "samples/q1_epoch_1.json"
MEBIBYTE: Final = 1 << 20

_LOCAL: Final = Struct("<4sHHHHHIIIHH")
_ENTRY: Final = Struct("<4sHHHHHHIIIHHHHHII")
_END: Final = Struct("<4sHHHHIIH")
_WIDE_FIELD: Final = Struct("<HHQ")


class Entry(NamedTuple):
    """A member as the directory describes it; `wide` is the number in its ZIP64 field."""

    name: str
    crc: int
    packed: int
    size: int
    offset: int
    method: int = DEFLATED
    flags: int = 0
    wide: int | None = None

    def directory(self) -> bytes:
        """Return the entry of the central directory."""
        name, extra = self.name.encode(), b""
        if self.wide is not None:
            extra = _WIDE_FIELD.pack(1, 8, self.wide)
        sizes = self.crc, self.packed, self.size, len(name), len(extra), 0, 0, 0, 0, self.offset
        return _ENTRY.pack(b"PK\1\2", 45, 45, self.flags, self.method, 0, 33, *sizes) + name + extra

    def local(self) -> bytes:
        """Return the local header."""
        name = self.name.encode()
        sizes = self.crc, self.packed, self.size, len(name), 0
        return _LOCAL.pack(b"PK\3\4", 45, self.flags, self.method, 0, 33, *sizes) + name


Lie = Callable[[list[Entry]], list[Entry]]
"""Returns what the directory says, given the true entries."""


@lru_cache(maxsize=32)
def deflated(text: bytes) -> bytes:
    """Return bytes as members hold them."""
    library = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return library.compress(text) + library.flush()


def archive(
    lie: Lie = list, more: tuple[tuple[str, bytes], ...] = (), comment: bytes = b""
) -> bytes:
    """Return the sound log with more members, and a directory that lies."""
    body, entries = b"", []
    texts = {name: json.dumps(value).encode() for name, value in members_of(sound_log()).items()}
    for name, text in (*texts.items(), *more):
        data = deflated(text)
        entry = Entry(name, zlib.crc32(text), len(data), len(text), len(body))
        entries.append(entry)
        body += entry.local() + data
    told = lie(entries)
    directory = b"".join(one.directory() for one in told)
    count = len(told)
    end = _END.pack(b"PK\5\6", 0, 0, count, count, len(directory), len(body), len(comment))
    return body + directory + end + comment


def _spaces(size: int) -> bytes:
    return b"[" + b" " * (size - 2) + b"]"


def _changed(**values: int) -> Lie:
    """Return a lie about the last member."""
    return lambda entries: [*entries[:-1], entries[-1]._replace(**values)]


def hostile_archives() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Iterate over functions that make the archives, by name."""
    for number in (1 << 63, (1 << 64) - 1, 1 << 40):
        yield f"size {number}", partial(archive, _changed(size=WIDE, wide=number))
        yield f"packed size {number}", partial(archive, _changed(packed=WIDE, wide=number))
        yield f"offset {number}", partial(archive, _changed(offset=WIDE, wide=number))

    def bomb() -> tuple[tuple[str, bytes], ...]:
        return (("samples/bomb_epoch_1.json", _spaces(32 * MEBIBYTE)),)

    yield (
        "one member, 3,000 times",
        lambda: archive(lambda all_: [*all_, *[all_[-1]] * 3000], bomb()),
    )
    names = [f"samples/{number}_epoch_1.json" for number in range(3000)]
    yield (
        "one member under 3,000 names",
        lambda: archive(
            lambda all_: [*all_, *(all_[-1]._replace(name=name) for name in names)], bomb()
        ),
    )
    yield (
        "a member within another",
        partial(archive, lambda all_: [*all_[:-1], all_[-1]._replace(offset=all_[0].offset + 4)]),
    )
    yield (
        "40 members of 8 MiB",
        lambda: archive(more=tuple(zip(names[:40], [_spaces(8 * MEBIBYTE)] * 40, strict=True))),
    )
    yield "encrypted", partial(archive, _changed(flags=ENCRYPTED))
    yield "unknown method", partial(archive, _changed(method=12))
    yield "another method in the header", partial(archive, _changed(method=STORED))
    yield "another name in the header", partial(archive, lambda all_: [
        *all_[:-1], all_[-1]._replace(name="headex.json")
    ])  # fmt: skip
    yield (
        "an end record in a comment",
        partial(archive, comment=_END.pack(b"PK\5\6", 0, 0, 0, 0, 0, 0, 0)),
    )
    yield "the archive in a comment", lambda: archive(comment=archive()[:60_000])
    yield "too few entries", partial(archive, lambda all_: all_[:-1])
