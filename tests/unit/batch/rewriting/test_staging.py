"""Folders of runs that are not complete: removed at the end, and after a killed call."""

import multiprocessing
import os
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from evalstream.batch.rewriting import staging as staging_module
from evalstream.batch.rewriting.staging import Staging
from evalstream.io import output
from evalstream.model.errors import CannotWrite


def _held(target: str, ready: Event, done: Event) -> None:
    with Staging(target):
        ready.set()
        done.wait(30)


@pytest.mark.parametrize("is_there", [False, True])
def test_a_folder_is_removed_at_the_end(is_there: bool, tmp_path: Path) -> None:
    if is_there:
        (tmp_path / "new").mkdir()
    with Staging(str(tmp_path / "new")) as staging:
        Path(staging.path("data/c/x.json")).write_text("{}")
        assert Path(staging.folder).parent == tmp_path / "new"
        staging.clear()
        assert not list(Path(staging.folder).rglob("*.json"))
    assert [*tmp_path.rglob("*")] == ([tmp_path / "new"] if is_there else [])


@pytest.mark.parametrize("is_dry", [False, True])
def test_what_will_be_placed_goes_to_the_disk_early(
    is_dry: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []

    def begin_sync(descriptor: int) -> None:
        output.begin_sync(descriptor)
        begun.append(os.fstat(descriptor).st_size)

    monkeypatch.setattr(staging_module, "begin_sync", begin_sync)
    with Staging(None if is_dry else str(tmp_path)) as staging:
        assert Path(staging.write("rows", b"first")).read_bytes() == b"first"
    assert begun == ([] if is_dry else [5])


def test_a_path_from_the_root_is_one_in_the_folder(tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_bytes(b"as it was")
    with Staging(None) as staging:
        assert Path(staging.write(str(source), b"other")).is_relative_to(staging.folder)
    assert source.read_bytes() == b"as it was"


def test_a_file_that_is_there_is_not_written(tmp_path: Path) -> None:
    with Staging(str(tmp_path)) as staging:
        staging.write("rows", b"first")
        with pytest.raises(CannotWrite, match="File exists"):
            staging.write("rows", b"second")
        assert Path(staging.path("rows")).read_bytes() == b"first"


def test_a_dry_run_leaves_the_target_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Staging(None) as staging:
        assert not Path(staging.folder).is_relative_to(tmp_path)
        folder = staging.folder
    assert not os.path.exists(folder)


def test_what_a_killed_call_left_is_removed_and_what_a_living_one_has_stays(tmp_path: Path) -> None:
    left = tmp_path / ".migrate-left.evalstream"
    left.mkdir()
    (left / "lock").touch()
    (left / "rows").write_text("x")
    alien = tmp_path / ".migrate-alien.evalstream"
    alien.mkdir()
    (alien / "notes").touch()
    (tmp_path / ".migrate-empty.evalstream").mkdir()
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=_held, args=(str(tmp_path), ready, done))
    other.start()
    try:
        assert ready.wait(30)
        with Staging(str(tmp_path)) as staging:
            folders = set(tmp_path.iterdir())
            assert left not in folders
            assert alien in folders
            assert len(folders) == 3
            assert Path(staging.folder) in folders
    finally:
        done.set()
        other.join()
    assert list(tmp_path.iterdir()) == [alien]


def test_where_no_folder_can_be_locked_one_without_a_lock_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its call may live, and be about to make its lock."""

    def flock(*_: int) -> None:
        raise OSError(37, "No locks available")

    begun = tmp_path / ".migrate-begun.evalstream"
    begun.mkdir()
    monkeypatch.setattr(staging_module.fcntl, "flock", flock)
    with Staging(str(tmp_path)):
        assert begun.is_dir()


def test_the_lock_of_a_folder_is_removed_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[str] = []
    unlink = os.unlink

    def noted(path: str, **more: int) -> None:
        removed.append(os.path.basename(path))
        unlink(path, **more)

    with Staging(str(tmp_path)) as staging:
        for number in range(20):
            staging.write(f"{number}/rows", b"x")
            staging.write(f"rows-{number}", b"x")
        monkeypatch.setattr(os, "unlink", noted)
    assert len(removed) == 41
    assert removed[-1] == "lock"
    assert not os.path.exists(staging.folder)


def test_another_call_in_the_same_process_is_living(tmp_path: Path) -> None:
    with Staging(str(tmp_path)) as first, Staging(str(tmp_path)) as second:
        assert os.path.isdir(first.folder)
        assert os.path.isdir(second.folder)
