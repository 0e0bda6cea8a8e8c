"""Compressed input: unpacked whatever its pieces, and never past a break in silence."""

import bz2
import gzip
import hashlib
import lzma
import re
import resource
import struct
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from depth import examples, some
from each import each
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zstandard_library import zstandard

from evalstream.io.codecs import detect_compression
from evalstream.io.compression import STEP_BYTES, DecompressingReader
from evalstream.model.block import MEBIBYTE
from evalstream.model.errors import BrokenCompression, MissingExtra, install_command

ROWS = b"".join(
    b'{"sample_id":"%d","sample_hash":"%s"}\n'
    % (number, hashlib.sha256(b"%d" % number).hexdigest().encode())
    for number in range(40)
)
HIDDEN_IGZIP = "gzip without isal"
KINDS = ("gzip", HIDDEN_IGZIP, "zstandard", "bzip2", "xz")
SKIPPED_FRAME = struct.pack("<II", 0x184D2A57, 5) + b"hello"
GZIP_FIELDS = {"extra": 4, "name": 8, "comment": 16, "checksum": 2, "text": 1}
LONGEST_MATCH = 258

within_a_test = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=examples(40),
)


class Pieces:
    """A reader of given pieces; exceptions among them are raised."""

    def __init__(self, pieces: Iterable[bytes | Exception]) -> None:
        self._pieces = iter(pieces)
        self.reads = 0
        self.ready = True
        self.closed = False

    def read(self) -> bytes:
        self.reads += 1
        piece = next(self._pieces, b"")
        if isinstance(piece, Exception):
            raise piece
        return piece

    def wait(self, seconds: float) -> bool:
        return self.ready

    def close(self) -> None:
        self.closed = True


def checked_zstandard(data: bytes) -> bytes:
    library = zstandard()
    options = {library.CompressionParameter.checksum_flag: 1}
    packed: bytes = library.compress(data, options=options)
    return packed


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "zstandard": checked_zstandard,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}
LIBRARY: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(31),
    "zstandard": lambda: zstandard().ZstdDecompressor(),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == HIDDEN_IGZIP:
        monkeypatch.setitem(sys.modules, "isal.igzip_lib", None)
        return "gzip"
    if request.param == "zstandard":
        zstandard()
    return str(request.param)


def cut(data: bytes, size: int = MEBIBYTE) -> Pieces:
    return Pieces(data[start : start + size] for start in range(0, len(data), size))


def drained(unpacked: DecompressingReader) -> tuple[bytes, str | None]:
    """Read to the end or to the break; return what came and what the break says."""
    came = bytearray()
    try:
        while piece := unpacked.read():
            assert len(piece) <= STEP_BYTES
            came += piece
    except BrokenCompression as broken:
        said = str(broken)
        with pytest.raises(BrokenCompression, match=f"^{re.escape(said)}$"):
            unpacked.read()
        return bytes(came), said
    assert unpacked.read() == b""
    return bytes(came), None


def unpack(kind: str, data: bytes, size: int = MEBIBYTE) -> tuple[bytes, str | None]:
    return drained(DecompressingReader(cut(data, size), kind))


def sound_part(kind: str, data: bytes) -> bytes:
    """Unpack as much as the library itself can."""
    sound = bytearray()
    while data:
        member = LIBRARY[kind]()
        sound += member.decompress(data)
        data = member.unused_data
    return bytes(sound)


def gzip_with(*fields: str, data: bytes = ROWS) -> bytes:
    header = b"\x1f\x8b\x08" + bytes([sum(GZIP_FIELDS[field] for field in fields)]) + bytes(6)
    if "extra" in fields:
        header += struct.pack("<H", 6) + b"BC\x02\0ab"
    if "name" in fields:
        header += b"rows.jsonl\0"
    if "comment" in fields:
        header += b"all rows\0"
    if "checksum" in fields:
        header += struct.pack("<H", zlib.crc32(header) & 0xFFFF)
    return header + PACK["gzip"](data)[10:]


def test_compressions_are_told_by_their_first_bytes(kind: str) -> None:
    assert detect_compression(PACK[kind](ROWS)[:6]) == kind


@each("low", range(0x50, 0x60))
def test_frame_to_be_skipped_begins_zstandard(low: int) -> None:
    assert detect_compression(bytes([low]) + b"\x2a\x4d\x18\0\0") == "zstandard"


@each("head", [b"", b"{", b"\x1f", b"BZ", b"\x4f\x2a\x4d\x18", ROWS])
def test_other_bytes_are_no_compression(head: bytes) -> None:
    assert detect_compression(head) is None


@within_a_test
@given(data=st.data())
def test_members_are_one_stream_wherever_they_are_cut(kind: str, data: st.DataObject) -> None:
    contents = data.draw(st.lists(st.sampled_from([b"", b"{}\n", ROWS, b"\0" * 70_000])))
    packed = b"".join(map(PACK[kind], contents))
    inner = st.integers(1, max(1, len(packed) - 1))
    cuts = sorted({0, len(packed), *data.draw(st.lists(inner, max_size=20))})
    pieces = [packed[start:end] for start, end in pairwise(cuts)]
    unpacked = DecompressingReader(Pieces(filter(None, pieces)), kind)
    assert drained(unpacked) == (b"".join(contents), None)
    assert unpacked.members == len(contents)


@each("size", [1, 2, 3, 5, 64, 4096])
def test_pieces_may_be_tiny(kind: str, size: int) -> None:
    packed = PACK[kind](ROWS) + PACK[kind](b"") + PACK[kind](ROWS)
    assert unpack(kind, packed, size) == (ROWS * 2, None)


@within_a_test
@given(fields=st.sets(st.sampled_from(sorted(GZIP_FIELDS))), size=st.integers(1, 40))
@pytest.mark.parametrize("hidden", [False, True])
def test_gzip_header_may_be_cut_anywhere(
    hidden: bool, fields: set[str], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if hidden:
        monkeypatch.setitem(sys.modules, "isal.igzip_lib", None)
    packed = gzip_with(*fields) + gzip_with(*fields)
    assert unpack("gzip", packed, size) == (ROWS * 2, None)


def test_members_longer_than_a_piece(kind: str) -> None:
    content = ROWS * (3 * MEBIBYTE // 2 // len(ROWS))
    assert unpack(kind, PACK[kind](content) * 2, 70_000) == (content * 2, None)


def test_many_small_members(kind: str) -> None:
    unpacked = DecompressingReader(cut(PACK[kind](b"{}\n") * 2000), kind)
    assert drained(unpacked) == (b"{}\n" * 2000, None)
    assert unpacked.members == 2000


@each("size", [1, 3, MEBIBYTE])
def test_skipped_frames_between_frames(size: int) -> None:
    frame = PACK["zstandard"](ROWS)
    packed = SKIPPED_FRAME + frame + SKIPPED_FRAME * 2 + frame + SKIPPED_FRAME
    assert unpack("zstandard", packed, size) == (ROWS * 2, None)


@pytest.mark.parametrize("size", [1, 3, MEBIBYTE])
@each(("kind", "zeros"), [("gzip", 1), ("gzip", 511), ("xz", 4), ("xz", 16), ("gzip", 100_000)])
def test_padding(kind: str, zeros: int, size: int) -> None:
    size = max(size, zeros // 100)
    packed = PACK[kind](ROWS) + bytes(zeros)
    assert unpack(kind, packed, size) == (ROWS, None)
    assert unpack(kind, packed + PACK[kind](ROWS), size) == (ROWS * 2, None)


@each("size", [1, 3, MEBIBYTE])
@pytest.mark.parametrize("behind", [b"", PACK["xz"](ROWS)])
def test_broken_xz_padding(behind: bytes, size: int) -> None:
    member = PACK["xz"](ROWS)
    came, broken = unpack("xz", member + bytes(6) + behind, size)
    assert came == ROWS
    assert broken == (
        f"the xz stream is followed by bytes outside any xz member, from byte {len(member):,} "
        "of the compressed bytes"
    )


@pytest.mark.parametrize("size", [1, MEBIBYTE])
@each("rest", [b"x", b"{}\n" * 9, b"\x1e\x8b", b"B\0", b"\0\0\0\0x"])
def test_other_bytes_behind(kind: str, rest: bytes, size: int) -> None:
    member = PACK[kind](ROWS)
    came, broken = unpack(kind, member + rest, size)
    assert came == ROWS
    assert broken is not None
    assert f"the {kind} stream is followed by bytes outside any {kind} member, from byte " in broken
    padding = 4 if rest.startswith(bytes(4)) and kind in ("gzip", "xz") else 0
    assert f" {len(member) + padding:,} of the compressed bytes" in broken


@pytest.mark.parametrize("size", [7, MEBIBYTE])
def test_cut_off_anywhere(kind: str, size: int) -> None:
    members = PACK[kind](ROWS[:400]), PACK[kind](b""), PACK[kind](ROWS[400:800])
    packed = b"".join(members)
    whole = {sum(map(len, members[:count])) for count in range(4)}
    igzip = kind == "gzip" and sys.modules.get("isal.igzip_lib", kind) is not None
    for end in sorted({*some(range(4, len(packed) + 1), 80), *(whole - {0})}):
        came, broken = unpack(kind, packed[:end], size)
        sound = sound_part(kind, packed[:end])
        assert sound.startswith(came)
        # Of an unfinished member igzip keeps the last symbol to itself.
        assert len(sound) - len(came) <= (LONGEST_MATCH if igzip and end not in whole else 0)
        said = f"the {kind} stream is truncated after {end:,} compressed bytes"
        assert broken == (None if end in whole else said)


def test_cut_off_within_the_first_head(kind: str) -> None:
    for end in range(1, 4):
        said = f"the {kind} stream is truncated after {end} compressed bytes"
        assert unpack(kind, PACK[kind](ROWS)[:end]) == (b"", said)


@pytest.mark.parametrize("bit", [0, 5])
def test_no_flipped_bit_gives_other_bytes_in_silence(kind: str, bit: int) -> None:
    member = PACK[kind](ROWS[:400])
    # Bits without a meaning: time and system, size of blocks, and those that fill the last byte.
    # In zstandard they may stand anywhere.
    harmless = {
        "gzip": {*range(3, 10), len(member) - 9},
        "zstandard": set(range(4, len(member))),
        "bzip2": {3, len(member) - 1},
        "xz": set(),
    }[kind]
    for place in some(range(len(member)), 60):
        damaged = bytearray(member * 2)
        damaged[len(member) + place] ^= 1 << bit
        came, broken = unpack(kind, bytes(damaged))
        assert came.startswith(ROWS[:400])
        if broken is None:
            assert place in harmless
            assert came == ROWS[:400] * 2


@each("size", [1, 50, MEBIBYTE])
def test_damage_is_told_with_its_place_whatever_the_pieces(kind: str, size: int) -> None:
    packed = bytearray(PACK[kind](ROWS))
    packed[-6] ^= 1
    came, broken = unpack(kind, bytes(packed), size)
    assert (came, broken) == unpack(kind, bytes(packed))
    assert broken is not None
    assert broken.startswith(f"the {kind} stream is damaged near byte ")


def test_small_damaged_members_give_all_that_their_library_can(kind: str) -> None:
    packed = bytearray(PACK[kind](ROWS))
    packed[len(packed) // 2] ^= 0x10
    library, expected = LIBRARY[kind](), bytearray()
    with suppress(Exception):
        for byte in packed:
            for piece in one_by_one(library, bytes([byte])):
                expected += piece
    came, broken = unpack(kind, bytes(packed))
    assert broken is not None
    assert came[: len(expected)] == expected[: len(came)]
    assert len(came) >= len(expected) - LONGEST_MATCH


def one_by_one(library: Any, fed: bytes) -> Iterator[bytes]:
    """Unpack one byte, asking for so little at a time that a failure loses nothing."""
    while piece := library.decompress(fed, 1):
        yield piece
        fed = getattr(library, "unconsumed_tail", b"")


def test_large_damaged_members_give_all_but_a_step(kind: str) -> None:
    content = ROWS * (2 * MEBIBYTE // len(ROWS))
    packed = PACK[kind](content)
    # The last bits of the last byte of bzip2 belong to nothing.
    place = len(packed) - (2 if kind == "bzip2" else 1)
    damaged = bytes([packed[place] ^ 0x80])
    came, broken = unpack(kind, packed[:place] + damaged + packed[place + 1 :])
    assert broken is not None
    assert "is damaged near byte" in broken
    assert content.startswith(came)
    assert len(content) - len(came) < STEP_BYTES


def test_violation_of_the_packed_reader_comes_after_all_before_it(kind: str) -> None:
    packed = PACK[kind](ROWS)
    unpacked = DecompressingReader(Pieces([packed[:-1], OSError("the line is dead")]), kind)
    came = unpacked.read() if (sound := sound_part(kind, packed[:-1])) else b""
    assert came == sound
    for _ in range(3):
        with pytest.raises(OSError, match="the line is dead"):
            unpacked.read()


def test_break_of_an_inner_stream_passes_through(kind: str) -> None:
    inner = PACK[kind](PACK[kind](ROWS)[:-1])
    came, broken = drained(DecompressingReader(DecompressingReader(cut(inner), kind), kind))
    assert ROWS.startswith(came)
    assert broken is not None
    assert "is truncated after" in broken


def test_waiting(kind: str) -> None:
    packed = PACK[kind](bytes(3 * STEP_BYTES))
    source = Pieces([packed[:3], packed[3:]])
    source.ready = False
    unpacked = DecompressingReader(source, kind)
    assert not unpacked.wait(0)
    assert source.reads == 0
    source.ready = True
    assert unpacked.wait(0)
    size, reads = len(unpacked.read()), source.reads
    source.ready = False
    while size < 3 * STEP_BYTES:
        assert unpacked.wait(0)
        size += len(unpacked.read())
    assert size == 3 * STEP_BYTES
    assert source.reads == reads
    assert not unpacked.wait(0)
    source.ready = True
    assert unpacked.wait(0)
    assert unpacked.read() == b""
    source.ready = False
    assert unpacked.wait(0)


def test_waiting_tells_of_a_break(kind: str) -> None:
    unpacked = DecompressingReader(cut(PACK[kind](b"")[:-1]), kind)
    assert unpacked.wait(0)
    with pytest.raises(BrokenCompression):
        unpacked.read()


def test_closing(kind: str) -> None:
    source = Pieces([])
    DecompressingReader(source, kind).close()
    assert source.closed


def test_bombs_take_no_memory(kind: str) -> None:
    packed = PACK[kind](bytes(8 * MEBIBYTE)) * 5
    unpacked, total = DecompressingReader(cut(packed), kind), 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    try:
        while piece := unpacked.read():
            assert len(piece) <= STEP_BYTES
            total += len(piece)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total == 5 * 8 * MEBIBYTE
    assert peak < 16 * MEBIBYTE
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024


def test_xz_that_needs_much_memory() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 4 * MEBIBYTE}]
    packed = bytearray(lzma.compress(ROWS, filters=filters))
    # The size of the dictionary (512 MiB) and the checksum of the header that holds it.
    packed[16] = 34
    packed[20:24] = struct.pack("<I", zlib.crc32(packed[12:20]))
    said = "the xz stream needs more than 256 MiB of memory to decompress"
    assert unpack("xz", PACK["xz"](ROWS) + packed) == (ROWS, said)


@pytest.mark.parametrize(("window_log", "allowed"), [(27, True), (28, False)])
def test_zstandard_with_a_large_window(window_log: int, allowed: bool) -> None:
    library = zstandard()
    compressor = library.ZstdCompressor()
    packed = compressor.compress(ROWS) + compressor.flush()
    assert packed[4] & 0x23 == 0
    packed = packed[:5] + bytes([(window_log - 10) << 3]) + packed[6:]
    said = "the zstandard stream needs more than 128 MiB of memory to decompress"
    assert unpack("zstandard", packed) == ((ROWS, None) if allowed else (b"", said))


def test_missing_zstandard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    with pytest.raises(MissingExtra, match=re.escape(install_command("compressed"))):
        DecompressingReader(Pieces([]), "zstandard")


def test_isal_is_used_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    library = pytest.importorskip("isal.igzip_lib")
    begun: list[int] = []

    def decompressor(flag: int) -> Any:
        begun.append(flag)
        return made(flag=flag)

    made = library.IgzipDecompressor
    monkeypatch.setattr(library, "IgzipDecompressor", decompressor)
    assert unpack("gzip", PACK["gzip"](ROWS)) == (ROWS, None)
    assert begun == [library.DECOMP_GZIP]
    monkeypatch.setitem(sys.modules, "isal.igzip_lib", None)
    assert unpack("gzip", PACK["gzip"](ROWS)) == (ROWS, None)
    assert len(begun) == 1
