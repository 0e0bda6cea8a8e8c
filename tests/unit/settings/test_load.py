"""Python reads settings only when it is asked to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from each import each

import evalstream
from evalstream.model.errors import UsageError
from evalstream.model.options import Options
from evalstream.settings.load import find_settings
from evalstream.settings.resolve import NO_SETTINGS, SETTINGS, resolve_settings


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
    assert evalstream.load_settings(folder / "evalstream.toml") == expected


def test_the_api_reads_no_settings_by_itself(folder: Path) -> None:
    (folder / "evalstream.toml").write_text("not TOML")
    assert evalstream.check("gone.jsonl").exit_code == 3
    with pytest.raises(UsageError):
        evalstream.load_settings()


def test_isolated_reads_no_file(folder: Path) -> None:
    (folder / "evalstream.toml").write_text("not TOML")
    assert find_settings(isolated=True) == NO_SETTINGS
    (folder / "named.toml").write_text("strict = true")
    assert find_settings("named.toml", isolated=True).values == {"strict": True}


VALUES = {
    "schema": "s.json",
    "schema-version": "0.2.0",
    "max-line-bytes": 2**40,
    "max-depth": 2**40,
    "memory-limit": 2**40,
    "store-version": "0.1.0",
    "baseline": "b.json",
    "executor": "serial",
    "dask-address": "tcp://example.org:1",
    "dask-insecure": True,
    "dask-scheduler-file": "d.json",
    "skip-noise": True,
    "noise": ".*",
    "ledger": "/l",
}
"""A value of each setting that only a file with a name may set."""


def test_every_setting_is_known_to_be_safe_or_not_in_a_found_file() -> None:
    named_only = {key for key, option in SETTINGS.items() if option.text.named_only}
    assert named_only == set(VALUES)
    # Their effect is more severe, counted in the verdict, about performance, or about the report.
    assert SETTINGS.keys() - named_only == {
        "strict", "preview", "fail-on", "profile",
        "select", "ignore", "per-file-ignores", "exclude", "recipe", "input-format",
        "jobs", "engine",
        "format", "min-severity", "max-findings", "no-values", "sketches", "statistics", "verbose",
        "quiet", "color",
    }, "a new setting is listed here if no harm comes of it, else named_only"  # fmt: skip


@pytest.mark.parametrize("name", ["evalstream.toml", "pyproject.toml"])
@each("key", VALUES)
def test_a_found_file_cannot_set_what_only_a_named_one_may(
    key: str, name: str, folder: Path
) -> None:
    head = "[tool.evalstream]\n" if name == "pyproject.toml" else ""
    (folder / name).write_text(f"{head}{key} = {json.dumps(VALUES[key])}\n")
    (folder / "s.json").write_text("{}")
    told = f"^{name}: {key}: .* cannot set {key}.* --{key} .*--config {name} .*--isolated"
    with pytest.raises(UsageError, match=told):
        evalstream.load_settings()
    with pytest.raises(UsageError, match=told):
        resolve_settings(SETTINGS.values(), {}, find_settings())
    assert evalstream.load_settings(name) is not None
    named = resolve_settings(SETTINGS.values(), {}, find_settings(name))
    assert named[SETTINGS[key].name].source == name


def test_the_command_line_puts_aside_what_a_found_file_cannot_set(folder: Path) -> None:
    (folder / "evalstream.toml").write_text('executor = "dask"\ndask-address = "tcp://x:1"\n')
    found = resolve_settings(SETTINGS.values(), {"executor": "serial"}, find_settings())
    assert found["executor"] == ("serial", "command line")
    assert found["dask_address"].value is None


def test_a_working_directory_that_is_gone_has_no_settings(folder: Path) -> None:
    below = folder / "below"
    below.mkdir()
    with pytest.MonkeyPatch.context() as context:
        context.chdir(below)
        below.rmdir()
        assert find_settings() == NO_SETTINGS
