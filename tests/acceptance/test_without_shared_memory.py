"""Without a usable /dev/shm there are no workers: one process checks everything, and says so."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commands import command, environment, run_command
from depth import some
from rows import bytes_of, sound_rows, write_run

import evalstream
from evalstream.batch import packing
from evalstream.engine import row_pass
from evalstream.executors import pool

MOUNTS = {
    "full": "mount -t tmpfs -o size=4k tmpfs /dev/shm && head -c 4096 /dev/zero > /dev/shm/x",
    "missing": "mount -t tmpfs tmpfs /dev && mknod -m 666 /dev/null c 1 3 && "
    "mknod -m 666 /dev/urandom c 1 9",
    "read-only": "mount -t tmpfs -o ro tmpfs /dev/shm",
    "without inodes": "mount -t tmpfs -o nr_inodes=1 tmpfs /dev/shm",
    "tiny": "mount -t tmpfs -o size=4k tmpfs /dev/shm",
}
"""Shell commands that make /dev/shm unusable, or nearly so, for the processes of a namespace."""

WARNING = b"no worker process can be started"


@pytest.fixture(autouse=True)
def _warns_again() -> Iterator[None]:
    pool._warn.cache_clear()
    yield
    pool._warn.cache_clear()


def refuses(error: Exception) -> Callable[..., None]:
    """Return what raises in place of a pool of workers."""

    def refused(*_: object) -> None:
        raise error

    return refused


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)),
        ImportError("no _multiprocessing.SemLock"),
        NotImplementedError("no semaphores"),
    ],
)
def test_one_process_gives_the_same_report(
    error: Exception,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(packing, "WORTH_WORKERS", 1)
    monkeypatch.setattr(row_pass, "WORTH_A_POOL_BYTES", 1)
    for number in range(3):
        (tmp_path / str(number)).mkdir()
        write_run(tmp_path / str(number), bytes_of(sound_rows(count=20)))
    rows = next((tmp_path / "0").glob("*.jsonl"))
    expected = [list(evalstream.check(path, jobs=1)) for path in (tmp_path, rows)]
    monkeypatch.setattr(pool, "_Pool", refuses(error))
    reports = [evalstream.check(path, jobs=2, executor="pool") for path in (tmp_path, rows)]
    assert [list(report) for report in reports] == expected
    assert all(run.rows for report in reports for run in report.runs)
    assert caplog.text.count(WARNING.decode()) == 1


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """Return a folder that is there without /dev/shm, too, where those of tests may be."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


def may_mount() -> bool:
    """Tell whether a namespace can have a /dev/shm of its own."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    tried = ["unshare", "-m", "sh", "-c", "mount -t tmpfs tmpfs /dev/shm"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not may_mount(), reason="only root can mount")
@pytest.mark.parametrize("mount", some(list(MOUNTS), 1))
def test_an_unusable_folder_for_shared_memory(mount: str, on_disk: Path) -> None:
    (on_disk / "many").mkdir()
    for number in range(44):
        (on_disk / "many" / str(number)).mkdir()
        write_run(on_disk / "many" / str(number), bytes_of(sound_rows(count=20)))
    large, aggregate = write_run(on_disk, bytes_of(sound_rows()))
    alone = [large.name, "--aggregate", aggregate.name, "--executor", "pool"]
    for names in (["many"], alone) if mount == "full" else (["many"],):
        given = ["check", *names, "--jobs", "2", "--select", "ES5", "--format", "concise"]
        script = f'{MOUNTS[mount]} && exec "$@"'
        ended = subprocess.run(
            ["unshare", "-m", "sh", "-c", script, "sh", *command(*given)],
            cwd=on_disk,
            env=environment(),
            capture_output=True,
            check=False,
        )
        usual = run_command(
            command(*given), cwd=on_disk, env=environment(), capture_output=True, check=False
        )
        assert ended.returncode == usual.returncode == 0, ended
        assert ended.stdout == usual.stdout
        said = ended.stderr.replace(usual.stderr, b"")
        assert not said or (said.startswith(b"evalstream: " + WARNING) and said.count(b"\n") == 1)
        assert said or mount == "tiny"
