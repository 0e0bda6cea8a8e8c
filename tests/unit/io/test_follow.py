"""Waiting for a file that another program will write."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from evalstream.io.follow import wait_for_rows

LONG = 30.0


def waited(path: Path, seconds: float, *steps: Callable[[], object]) -> list[str]:
    """Take steps with pauses during a wait; return what was said of the wait."""
    said: list[str] = []

    def act() -> None:
        for step in steps:
            time.sleep(0.1)
            step()

    thread = threading.Thread(target=act)
    thread.start()
    wait_for_rows(str(path), seconds, lambda: said.append("waiting"))
    thread.join()
    return said


def test_a_file_with_bytes_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(b"x")
    assert waited(tmp_path / "rows", LONG) == []
    assert waited(tmp_path, LONG) == []


def test_a_file_that_never_comes_ends_the_wait(tmp_path: Path) -> None:
    assert waited(tmp_path / "folder" / "rows", 0.05) == ["waiting"]


def test_a_wait_ends_with_the_first_byte(tmp_path: Path) -> None:
    rows = tmp_path / "folder" / "rows"
    steps = (rows.parent.mkdir, rows.touch, lambda: rows.write_bytes(b"x"))
    assert waited(rows, LONG, *steps) == ["waiting"]


def test_a_file_that_was_replaced_meanwhile_is_seen(tmp_path: Path) -> None:
    rows, other = tmp_path / "rows", tmp_path / "other"
    rows.touch()
    other.write_bytes(b"x")
    assert waited(rows, LONG, lambda: os.replace(other, rows)) == ["waiting"]
    assert rows.read_bytes() == b"x"


def test_an_empty_file_in_place_of_another_starts_the_time_anew(tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    begun = time.monotonic()

    def replaced() -> None:
        time.sleep(0.4)
        (tmp_path / "new").touch()
        os.replace(tmp_path / "new", rows)

    rows.touch()
    waited(rows, 1.0, replaced)
    assert time.monotonic() - begun > 1.4
