"""Python reads settings only when it is asked to."""

from __future__ import annotations

from pathlib import Path

import pytest

import evalstream
from evalstream.model.errors import UsageError
from evalstream.model.options import Options
from evalstream.settings.load import NO_SETTINGS, find_settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_file_all_is_default() -> None:
    assert evalstream.load_settings() == Options()


def test_the_options_of_a_file(folder: Path) -> None:
    (folder / "s.json").write_text('{"type": "object"}')
    text = 'strict = true\nschema = "s.json"\nledger = "l"\nquiet = true\n'
    (folder / "evalstream.toml").write_text(text)
    expected = Options(strict=True, schema='{"type": "object"}')
    assert evalstream.load_settings() == expected
    assert evalstream.load_settings(folder / "evalstream.toml") == expected


def test_the_api_reads_no_settings_by_itself(folder: Path) -> None:
    (folder / "evalstream.toml").write_text("not TOML")
    assert evalstream.check("gone.jsonl").exit_code == 3
    with pytest.raises(UsageError):
        evalstream.load_settings()


def test_isolated_reads_no_file(folder: Path) -> None:
    (folder / "evalstream.toml").write_text("not TOML")
    assert find_settings(isolated=True) == NO_SETTINGS
    with pytest.raises(UsageError, match="--config and --isolated"):
        find_settings("x", isolated=True)


def test_a_working_directory_that_is_gone_has_no_settings(folder: Path) -> None:
    below = folder / "below"
    below.mkdir()
    with pytest.MonkeyPatch.context() as context:
        context.chdir(below)
        below.rmdir()
        assert find_settings() == NO_SETTINGS
