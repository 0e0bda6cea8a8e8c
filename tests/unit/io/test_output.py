"""What a report or rows are written to: a pipe stays one, and a file is on the disk at its end."""

import os
from pathlib import Path

import pytest

from evalstream.io.output import Output, sync_file


def test_a_named_pipe_gets_the_bytes_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with Output(str(path)) as output:
        output.write("report")
    assert path.is_fifo()
    assert os.read(reader, 10) == b"report"
    os.close(reader)


def test_the_content_of_a_file_goes_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced = tmp_path / "rows", list[int]()
    path.touch()
    monkeypatch.setattr(os, "fsync", lambda one: synced.append(os.fstat(one).st_ino))
    sync_file(str(path))
    assert synced == [path.stat().st_ino]
