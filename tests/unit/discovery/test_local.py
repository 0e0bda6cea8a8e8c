"""Tests of paths in folders on disk."""

import os
from pathlib import Path

import pytest

from evalstream.discovery.local import path_resolver, real_path


def test_paths_are_resolved_together_as_each_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "real" / "deep" / "file").touch()
    (tmp_path / "link").symlink_to("real/deep")
    (tmp_path / "real" / "deep" / "up").symlink_to("..")
    (tmp_path / "real" / "deep" / "self").symlink_to("self")
    monkeypatch.chdir(tmp_path)
    below = (
        "link/file",
        "link/up/deep/file",
        "link/../deep/file",
        "link/self/x",
        "no/such",
        "link/",
    )
    paths = [*below, *(os.path.join(tmp_path, one) for one in below), "", ".", "/", "//tmp/x"]
    resolve = path_resolver()
    assert [*map(resolve, paths)] == [*map(real_path, paths)]
