"""What a report or rows are written to: a pipe stays one, and a file is on the disk at its end."""

import errno
import os
from pathlib import Path

import pytest

from evalstream.io.output import Output, sync_file, unwritable


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


@pytest.mark.parametrize("is_live", [False, True])
def test_a_new_file_has_the_mode_that_the_user_lets_files_have(
    is_live: bool, tmp_path: Path
) -> None:
    path, before = tmp_path / "rows", os.umask(0o026)
    try:
        with Output(str(path), live=is_live) as output:
            output.write("{}")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES])
def test_room_is_asked_for_where_there_is_none(number: int) -> None:
    told = unwritable("rows", OSError(number, os.strerror(number)))
    assert told.startswith(f"rows cannot be written: {os.strerror(number)}")
    assert ("make room on its disk" in told) is (number != errno.EACCES)
