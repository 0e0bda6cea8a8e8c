"""Compressed targets: what is written can be read, and is the same each time."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import random
import threading
import zlib
from collections.abc import Sequence
from itertools import pairwise

import pytest
from depth import examples
from each import each
from hypothesis import given
from hypothesis import strategies as st
from paths import REPOSITORY
from rows import bounded

from evalstream.io import compressors
from evalstream.io.codecs import COMPRESSIONS, detect_compression
from evalstream.io.compression import DecompressingReader
from evalstream.io.compressors import COMPRESSORS, CompressingWriter, DigestedTarget
from evalstream.model.block import Bytes, ByteStream
from evalstream.model.errors import CannotWrite

KINDS = sorted(COMPRESSORS)
DATA = bytes(range(256)) * 100 + b"row\n" * 5000


class _Bytes(ByteStream):
    """A stream of given bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self) -> bytes:
        data, self._data = self._data, b""
        return data

    def wait(self, _seconds: float) -> bool:
        return True

    def close(self) -> None:
        pass


def compressed(kind: str, pieces: Sequence[bytes], threads: int = 1) -> bytes:
    """Compress bytes that come in pieces."""
    target = io.BytesIO()
    writer = CompressingWriter(target, kind, threads)
    for piece in pieces:
        writer.write(memoryview(piece))
    writer.finish()
    writer.close()
    return target.getvalue()


def unpacked(kind: str, data: bytes) -> bytes:
    """Decompress as a check does, which refuses damaged bytes and bytes that follow."""
    reader, pieces = DecompressingReader(_Bytes(data), kind), []
    while piece := reader.read():
        pieces.append(piece)
    assert reader.members == 1
    return b"".join(pieces)


def test_there_is_a_compressor_of_each_compression() -> None:
    assert set(COMPRESSORS) == set(COMPRESSIONS), "see io/compressors.py"


def test_hooks_and_documentation_know_each_compression() -> None:
    hooks = (REPOSITORY / ".pre-commit-hooks.yaml").read_text()
    page = (REPOSITORY / "docs" / "how-to" / "storage.md").read_text()
    endings = "|".join(one.ending.removeprefix(".") for one in COMPRESSIONS.values())
    assert hooks.count(f"({endings})") == 2, f".pre-commit-hooks.yaml: files end with {endings}"
    for name in COMPRESSIONS:
        assert name in page, f"docs/how-to/storage.md does not name {name}"


@each("kind", KINDS)
@pytest.mark.parametrize("data", [b"", b"x", DATA])
def test_what_is_compressed_can_be_read(kind: str, data: bytes) -> None:
    packed = compressed(kind, [data])
    assert detect_compression(packed) == kind
    assert unpacked(kind, packed) == data


def test_other_programs_can_read_it() -> None:
    assert gzip.decompress(compressed("gzip", [DATA])) == DATA
    assert bz2.decompress(compressed("bzip2", [DATA])) == DATA
    assert lzma.decompress(compressed("xz", [DATA])) == DATA


def test_every_compression_has_a_checksum() -> None:
    """A flag tells it of Zstandard, and its kind of xz; the others have one always."""
    assert compressed("zstandard", [DATA])[4] & 4
    assert compressed("xz", [DATA])[7] in {lzma.CHECK_CRC32, lzma.CHECK_CRC64}


@pytest.mark.parametrize("kind", KINDS)
@bounded(max_examples=examples(10))
@given(cuts=st.lists(st.integers(0, len(DATA)), max_size=5), step=st.sampled_from([100, 7000]))
def test_how_the_bytes_come_does_not_matter(kind: str, cuts: list[int], step: int) -> None:
    places = [0, *sorted(cuts), len(DATA)]
    pieces = [DATA[start:stop] for start, stop in pairwise(places)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compressors, "STEP_BYTES", step)
        assert compressed(kind, pieces) == compressed(kind, [DATA])


def test_gzip_has_no_time_and_no_name() -> None:
    head = compressed("gzip", [DATA])[:10]
    assert head[3] == 0
    assert head[4:8] == bytes(4)


@each("size", [0, 1, 99, 100, 101, 250_000])
def test_threads_do_not_change_what_gzip_gives(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    data = (DATA * 10)[:size]
    monkeypatch.setattr(compressors, "STEP_BYTES", 100 if size < 1000 else 10_000)
    alone = compressed("gzip", [data])
    for threads in (2, 5):
        assert compressed("gzip", [data], threads) == alone
    assert gzip.decompress(alone) == zlib.decompress(alone, 31) == data
    assert unpacked("gzip", alone) == data
    assert not [one for one in threading.enumerate() if one.name.startswith("evalstream")]


def test_pieces_of_gzip_refer_to_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressors, "STEP_BYTES", 20_000)
    once = random.Random(1).randbytes(20_000)
    assert len(compressed("gzip", [once * 10], 2)) < 2 * len(once)


@each("threads", [1, 2])
def test_gzip_is_written_before_its_end(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(compressors, "STEP_BYTES", 100)
    target = io.BytesIO()
    writer = CompressingWriter(target, "gzip", threads)
    writer.write(DATA)
    written = len(target.getvalue())
    writer.finish()
    writer.close()
    assert written > len(target.getvalue()) / 2


def test_threads_end_where_a_target_fails() -> None:
    writer = CompressingWriter(io.BytesIO(), "gzip", 3)
    for _ in range(4):
        writer.write(bytes(compressors.STEP_BYTES))
    assert [one for one in threading.enumerate() if one.name.startswith("evalstream-gzip")]
    writer.close()
    assert not [one for one in threading.enumerate() if one.name.startswith("evalstream")]


PIECES = [b"first\n", b"", b"second\n" * 1000, b"third\n"]


class _Full:
    """A disk without space."""

    def write(self, data: Bytes, /) -> object:
        raise OSError(28, "No space left on device", len(data))


@pytest.mark.parametrize("codec", [None, "gzip"])
@pytest.mark.parametrize("threaded", [False, True])
def test_digests_are_those_of_the_stored_bytes(codec: str | None, *, threaded: bool) -> None:
    stored = io.BytesIO()
    target = DigestedTarget(stored, codec, ("sha256", "md5"))
    if threaded:
        target.use_thread()
    for piece in PIECES:
        target.write(piece)
    digests = target.finish()
    target.close()
    data = stored.getvalue()
    expected = {name: hashlib.new(name, data).hexdigest() for name in ("sha256", "md5")}
    assert digests == expected
    assert (data if codec is None else gzip.decompress(data)) == b"".join(PIECES)
    assert "evalstream-digest" not in {thread.name for thread in threading.enumerate()}


def test_the_bytes_of_a_view_may_change_after_they_were_written() -> None:
    target, expected = DigestedTarget(None, None, ("sha256",)), hashlib.sha256()
    target.use_thread()
    memory = bytearray(1 << 18)
    for number in range(40):
        memory[:] = bytes([number]) * len(memory)
        expected.update(memory)
        target.write(memoryview(memory))
    assert target.finish() == {"sha256": expected.hexdigest()}
    target.close()


def test_bytes_that_cannot_be_written_are_an_error() -> None:
    target = DigestedTarget(_Full(), None, ("sha256",))
    with pytest.raises(CannotWrite, match="No space left on device"):
        target.write(b"row\n")
    target = DigestedTarget(_Full(), "xz", ("sha256",))
    target.write(b"row\n")
    with pytest.raises(CannotWrite, match="No space left on device"):
        target.finish()
