"""Waiting for a file that another program will write, by a clock that the tests turn."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from turned_clock import Step, TurnedClock

from evalstream.io import file as follow
from evalstream.io.file import wait_for_rows

Wait = Callable[..., tuple[list[str], float]]


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Wait:
    """Wait with steps at some times; return what was said of the wait, and how long it was."""

    def waited(path: Path, seconds: float, *steps: Step) -> tuple[list[str], float]:
        clock, said = TurnedClock(*steps), list[str]()
        monkeypatch.setattr(follow, "time", clock)
        wait_for_rows(str(path), seconds, lambda: said.append("waiting"))
        return said, clock.now

    return waited


def test_a_file_with_bytes_is_not_waited_for(wait: Wait, tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(b"x")
    assert wait(tmp_path / "rows", 30) == ([], 0)
    assert wait(tmp_path, 30) == ([], 0)


def test_a_file_that_never_comes_ends_the_wait(wait: Wait, tmp_path: Path) -> None:
    said, seconds = wait(tmp_path / "folder" / "rows", 3)
    assert (said, seconds) == (["waiting"], pytest.approx(3))


def test_a_wait_ends_with_the_first_byte(wait: Wait, tmp_path: Path) -> None:
    rows = tmp_path / "folder" / "rows"
    said, seconds = wait(
        rows, 30, (10, rows.parent.mkdir), (20, rows.touch), (45, lambda: rows.write_bytes(b"x"))
    )
    assert (said, seconds) == (["waiting"], pytest.approx(45, abs=0.1))


def test_a_file_that_was_replaced_meanwhile_is_seen(wait: Wait, tmp_path: Path) -> None:
    rows, other = tmp_path / "rows", tmp_path / "other"
    rows.touch()
    other.write_bytes(b"x")
    said, seconds = wait(rows, 30, (7, lambda: os.replace(other, rows)))
    assert (said, seconds) == (["waiting"], pytest.approx(7, abs=0.1))
    assert rows.read_bytes() == b"x"


def test_an_empty_file_in_place_of_another_starts_the_time_anew(wait: Wait, tmp_path: Path) -> None:
    rows, other = tmp_path / "rows", tmp_path / "new"
    rows.touch()
    other.touch()
    _, seconds = wait(rows, 10, (6, lambda: os.replace(other, rows)))
    assert seconds == pytest.approx(16, abs=0.1)


@pytest.mark.parametrize(
    ("line", "expected"), [(b"x" * 99 + b"\n", 1 << 20), (b"x" * 9_999 + b"\n", 2 << 20)]
)
def test_a_large_file_of_short_lines_has_a_short_head(
    line: bytes, expected: int, tmp_path: Path
) -> None:
    path, data = tmp_path / "rows.jsonl", line * ((3 << 20) // len(line))
    path.write_bytes(data)
    source = follow.FileSource(str(path), 1 << 20)
    assert source.head(2 << 20) == data[:expected]
    assert b"".join(bytes(block.data) for block in source.blocks(1 << 19)) == data
    assert source.head(1 << 30) == data
    source.close()
