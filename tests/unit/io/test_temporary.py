"""Temporary files: whole or not at all, and what a killed call leaves is cleaned up by the next."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import SECONDS, environment, started, wait_for
from each import each
from rows import bytes_of, sound_rows, write_run

from evalstream.io.output import Output
from evalstream.io.temporary import MOST, TemporaryFile, move_to_free_name

LEFT = """
import os, signal, sys, time
from evalstream.io.temporary import TemporaryFile

made = TemporaryFile(sys.argv[1])
os.write(made.descriptor, b"left")
if os.fork():
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(float(sys.argv[2]))
"""


def left_behind(path: Path, *, by_child: float = 0) -> str:
    """Have a process killed that had a temporary file; its child may outlive it some seconds."""
    before = set(os.listdir(path.parent))
    arguments = [sys.executable, "-c", LEFT, str(path), str(by_child)]
    done = subprocess.run(arguments, env=environment(), timeout=SECONDS, check=False)
    assert done.returncode == -signal.SIGKILL
    (name,) = set(os.listdir(path.parent)) - before
    assert (path.parent / name).read_bytes() == b"left"
    return name


def test_what_a_killed_process_left_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "report"
    for by_child in (0.0, 5.0):
        name = left_behind(path, by_child=by_child)
        with Output(str(path)) as output:
            output.write("new")
            assert name in os.listdir(tmp_path)
        assert os.listdir(tmp_path) == ["report"]
        assert path.read_text() == "new"
        path.unlink()


def test_several_that_were_left_are_all_removed(tmp_path: Path) -> None:
    path = tmp_path / "report"
    held = [TemporaryFile(str(path)) for _ in range(2)]
    left_behind(path)
    assert len({one.name for one in held}) == 2
    for one in held:
        one.remove()
        os.close(one.descriptor)
    assert len(os.listdir(tmp_path)) == 1
    with Output(str(path)) as output:
        output.write("new")
    assert os.listdir(tmp_path) == ["report"]


def test_outputs_of_one_name_do_not_meet(tmp_path: Path) -> None:
    path = str(tmp_path / "report")
    outputs = [Output(path) for _ in range(MOST + 2)]
    for number, output in enumerate(outputs):
        output.write(f"{number}")
    for number, output in enumerate(outputs):
        output.__exit__(None, None, None)
        assert Path(path).read_text() == f"{number}"
    assert os.listdir(tmp_path) == ["report"]


def test_another_process_keeps_its_file(tmp_path: Path) -> None:
    path = tmp_path / "report"
    with started("check", "-", "--output", path.name, folder=tmp_path) as process:
        wait_for(lambda: os.listdir(tmp_path))
        with Output(str(path)) as output:
            output.write("passed: ours")
        assert path.read_text() == "passed: ours"
        assert process.stdin is not None
        process.stdin.write(bytes_of(sound_rows()))
        process.communicate(timeout=SECONDS)
    assert "8 rows" in path.read_text()
    assert os.listdir(tmp_path) == ["report"]


def test_what_is_no_file_of_ours_is_left_alone(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path = tmp_path / "report"
    with TemporaryFileOf(path) as first:
        pass
    os.symlink(victim, first)
    second = first.replace(".0.", ".1.")
    os.link(victim, second)
    third = first.replace(".0.", ".2.")
    os.mkfifo(third)
    with Output(str(path)) as output:
        output.write("new")
    assert (victim.read_text(), path.read_text()) == ("precious", "new")
    names = {Path(name).name for name in (first, second, third)}
    assert set(os.listdir(tmp_path)) == {"victim", "report"} | names


class TemporaryFileOf:
    """The name of the first temporary file of a path, which is gone afterwards."""

    def __init__(self, path: Path) -> None:
        self._made = TemporaryFile(str(path))

    def __enter__(self) -> str:
        """Return the name."""
        return self._made.name

    def __exit__(self, *_: object) -> None:
        """Remove the file."""
        self._made.remove()
        os.close(self._made.descriptor)


def test_a_file_system_without_locks_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lockf(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "lockf", lockf)
    path = tmp_path / "report"
    left = tmp_path / ".report.0.evalstream"
    left.write_text("left, or in use: nobody can tell")
    with Output(str(path)) as output:
        output.write("new")
    assert path.read_text() == "new"
    assert set(os.listdir(tmp_path)) == {"report", left.name}


def test_names_may_be_as_long_as_the_file_system_lets_them(tmp_path: Path) -> None:
    path = tmp_path / ("ü" * 127)
    with Output(str(path)) as output:
        output.write("new")
    assert os.listdir(tmp_path) == [path.name]


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file") as raised:
        Output(str(tmp_path / "missing" / "report"))
    assert raised.value.filename == str(tmp_path / "missing" / "report")


@pytest.mark.parametrize("live", [False, True])
def test_a_live_file_keeps_what_it_held_until_there_is_more(tmp_path: Path, live: bool) -> None:
    path, new = tmp_path / "copy", tmp_path / "new"
    path.write_text("before")
    for place, left in ((path, "before"), (new, None)):
        output = Output(str(place), live=live)
        output.__exit__(ValueError, ValueError(), None)
        assert (place.read_text() if place.exists() else None) == left
    output = Output(str(path), live=live)
    output.write("x")
    assert path.read_text() == ("x" if live else "before")
    output.__exit__(None, None, None)
    assert path.read_text() == "x"
    Output(str(path), live=live).__exit__(None, None, None)
    assert path.read_text() == ""


@each("way", ["--output", "--accepted", "seal"])
def test_a_killed_command_is_cleaned_up_by_the_next(tmp_path: Path, way: str) -> None:
    rows, aggregate = write_run(tmp_path, bytes_of(sound_rows()))
    before = {rows.name, aggregate.name}
    if way == "seal":
        left_behind(aggregate)
        code, arguments = 0, ["seal", rows.name, "--aggregate", aggregate.name]
        report = before
    else:
        with started("check", "-", way, "report", folder=tmp_path) as process:
            # Standard input is looked at first: its content shows its format.
            process.stdin.write(rows.read_bytes())
            process.stdin.flush()
            wait_for(lambda: set(os.listdir(tmp_path)) > before)
            time.sleep(0.1)
            process.kill()
            process.wait(SECONDS)
        assert "report" not in os.listdir(tmp_path)
        code, arguments = 0, ["check", rows.name, "--aggregate", aggregate.name, way, "report"]
        report = before | {"report"}
    assert set(os.listdir(tmp_path)) > before
    with started(*arguments, folder=tmp_path) as process:
        process.communicate(timeout=SECONDS)
    assert process.returncode == code
    assert set(os.listdir(tmp_path)) == report


def test_a_file_never_gets_a_name_that_is_taken(tmp_path: Path) -> None:
    staged, target = tmp_path / "staged", tmp_path / "target"
    staged.write_text("new")
    move_to_free_name(str(staged), str(target))
    assert target.read_text() == "new"
    assert not staged.exists()
    staged.write_text("newer")
    with pytest.raises(FileExistsError):
        move_to_free_name(str(staged), str(target))
    assert target.read_text() == "new"


def test_without_links_a_file_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    staged, target = tmp_path / "staged", tmp_path / "target"
    staged.write_text("new")
    move_to_free_name(str(staged), str(target))
    assert target.read_text() == "new"
    staged.write_text("newer")
    with pytest.raises(FileExistsError):
        move_to_free_name(str(staged), str(target))
    assert target.read_text() == "new"
