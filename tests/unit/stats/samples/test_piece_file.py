"""Pieces on disk: whole after short writes, closed after errors, gone with their owner."""

import errno
import gc
import io
import os
import struct
import tempfile
from pathlib import Path
from typing import Any

import pytest

from evalstream.stats.samples.piece_file import PieceFile
from evalstream.stats.samples.record_sorter import RecordSorter


class ShortFile(io.FileIO):
    """A file that takes a few bytes at a time."""

    def write(self, data: Any, /) -> int:
        return super().write(memoryview(data)[:7]) or 0


class FullFile(io.FileIO):
    """A file on a disk that is full."""

    def write(self, _data: Any, /) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def replace_files(monkeypatch: pytest.MonkeyPatch, folder: Path, kind: type[io.FileIO]) -> None:
    def made(**_: Any) -> io.FileIO:
        return kind(folder / "pieces", "w+")

    monkeypatch.setattr(tempfile, "TemporaryFile", made)


def test_pieces_are_whole_after_short_writes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    replace_files(monkeypatch, tmp_path, ShortFile)
    file = PieceFile()
    pieces = [file.write([b"abc" * 9, b"", b"x"]), file.write([]), file.write([b"yz"])]
    texts = [b"".join(file.read(piece, 5)) for piece in pieces]
    assert texts == [b"abc" * 9 + b"x", b"", b"yz"]
    file.close()


def test_a_full_disk_is_an_error_and_the_file_is_closed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    replace_files(monkeypatch, tmp_path, FullFile)
    sorter = RecordSorter(1, 1)
    with pytest.raises(OSError, match="No space"):
        sorter.add(struct.pack("=Q", 1))
    sorter.close()
    sorter.close()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_the_file_goes_with_its_owner() -> None:
    before = len(os.listdir("/proc/self/fd"))
    file = PieceFile()
    assert len(os.listdir("/proc/self/fd")) == before + 1
    del file
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before
