"""Temporary files without a name."""

from pathlib import Path

import pytest

from evalstream.model.temporary_file import open_temporary_file


def test_a_temporary_file_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with open_temporary_file(buffering=0) as file:
        file.write(b"some bytes")
        file.seek(0)
        assert file.read() == b"some bytes"
        assert not list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


def test_a_temporary_file_is_elsewhere_where_its_folder_is_not_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    with open_temporary_file() as file:
        assert file.write(b"some bytes")
