"""The files of a run, and how often they can be read."""

import os
from pathlib import Path

from evalstream.formats.infereval.files import comes_once


def test_pipes_come_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    inputs = ("-", str(tmp_path / "pipe"), str(tmp_path / "file"), str(tmp_path), "s3://a/b")
    assert [comes_once(one) for one in inputs] == [True, True, False, False, False]
