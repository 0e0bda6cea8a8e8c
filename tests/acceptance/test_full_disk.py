"""Reports on a full disk: the message names the output, and nothing of it remains."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from paths import EXAMPLES, REPOSITORY
from rows import bytes_of, sound_rows

FULL = """
mount -t tmpfs -o size=64k none "$1" && head -c 61440 /dev/zero > "$1/filler" || exit 99
shift
"$@"
code=$?
ls -A out
exit $code
"""

SMALL_DISK = ("unshare", "-m", "sh", "-c", FULL, "sh")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
@pytest.mark.parametrize(
    ("command", "output"),
    [
        (("salvage", "run.jsonl", "--to", "out/rows.jsonl"), "out/rows.jsonl"),
        (("check", "run.jsonl", "--format", "html", "--output", "out/r.html"), "out/r.html"),
        (("export", "run.jsonl", "--to", "out/tables", "-o", "report"), "out/tables"),
    ],
)
def test_a_full_disk_is_told_with_the_output(
    tmp_path: Path, command: tuple[str, ...], output: str
) -> None:
    data = bytes_of(sound_rows()) * 8
    if command[0] == "export":
        pytest.importorskip("pyarrow", reason="needs pyarrow, the extra parquet")
        data = (EXAMPLES / "run.jsonl").read_bytes()
        shutil.copy(EXAMPLES / "aggregate.json", tmp_path)
    (tmp_path / "run.jsonl").write_bytes(data)
    (tmp_path / "out").mkdir()
    done = subprocess.run(
        [*SMALL_DISK, "out", sys.executable, "-m", "evalstream", *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip("this machine allows no mount")
    assert done.returncode == 3, done.stderr
    assert f"{output} cannot be written: No space left on device" in done.stderr
    assert done.stdout.split() == ["filler"]
    assert (tmp_path / "run.jsonl").read_bytes() == data
