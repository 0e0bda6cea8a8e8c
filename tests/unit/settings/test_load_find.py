"""The nearest settings file holds, and one that cannot be used is an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from each import each

from evalstream.model.errors import UsageError
from evalstream.settings.load import find_table, read_table
from evalstream.settings.resolve import MOST_BYTES

OWN, PROJECT = "evalstream.toml", "pyproject.toml"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, below another folder."""
    below = tmp_path / "above" / "here"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    return below


def test_no_file_is_found(folder: Path) -> None:
    (folder / PROJECT).write_text("[project]\nname = 'x'\n")
    (folder / f".{OWN}").write_text("strict = true\n")
    assert find_table() is None


def test_the_own_file_comes_before_the_project_file(folder: Path) -> None:
    (folder / OWN).write_text("jobs = 1\n")
    (folder / PROJECT).write_text("[tool.evalstream]\njobs = 2\n")
    assert find_table() == (OWN, {"jobs": 1})


def test_the_nearest_folder_comes_first(folder: Path) -> None:
    (folder.parent / OWN).write_text("jobs = 1\n")
    assert find_table() == (f"../{OWN}", {"jobs": 1})
    (folder / PROJECT).write_text("[tool.evalstream]\njobs = 2\n")
    assert find_table() == (PROJECT, {"jobs": 2})


@each(
    "text",
    [
        "[tool.evalstream]\njobs = 2\n",
        "[tool]\nevalstream = {jobs = 2}\n",
        '[ tool . "evalstream" ]\njobs = 2\n',
        "tool.evalstream.jobs = 2\n",
    ],
)
def test_every_spelling_of_the_table_is_found(folder: Path, text: str) -> None:
    (folder / PROJECT).write_text(text)
    assert find_table() == (PROJECT, {"jobs": 2})


@each("text", ["[project]\nname = 'evalstream'\n", "tool = 'evalstream'\n", "x"])
def test_a_project_file_without_the_table_is_passed_over(folder: Path, text: str) -> None:
    (folder / PROJECT).write_text(text)
    (folder.parent / OWN).write_text("jobs = 1\n")
    assert find_table() == (f"../{OWN}", {"jobs": 1})


def test_an_empty_file_holds(folder: Path) -> None:
    (folder / OWN).write_text("")
    (folder.parent / OWN).write_text("jobs = 1\n")
    assert find_table() == (OWN, {})


@each(
    ("text", "where"),
    [
        (b"a = 1\nb = [\n", "not valid TOML: .*line 3, column 1"),
        (b"a = 1\nb = ]\n", "not valid TOML: .*line 2, column 5"),
        (b"a = 1\nb = '\xff'\n", "not valid UTF-8 .at line 2, byte 6"),
        (b"\xff", "not valid UTF-8 .at line 1, byte 1"),
        (b"a = " + b"[" * 100_000, "nested too deeply"),
        (b"b = 1\n" + b"a." * 16 + b"a = 1", "key has more than 16 parts .at line 2"),
        (b"[" + b'"\\"" . ' * 16 + b"a]", "key has more than 16 parts .at line 1"),
    ],
)
def test_invalid_toml_is_an_error_with_its_place(folder: Path, text: bytes, where: str) -> None:
    (folder / OWN).write_bytes(text)
    with pytest.raises(UsageError, match=rf"^{OWN}: .*{where}"):
        find_table()


def test_a_file_that_cannot_be_read_is_an_error(folder: Path) -> None:
    (folder / OWN).mkdir()
    with pytest.raises(UsageError, match=f"^{OWN}: the settings cannot be read: "):
        find_table()


def test_a_key_has_at_most_so_many_parts(folder: Path) -> None:
    (folder / OWN).write_text("x." * 15 + "x = 1\n# " + "." * 99 + "\n[y]\n")
    found = find_table()
    assert found is not None
    assert list(found.values) == ["x", "y"]


@pytest.mark.parametrize("name", [OWN, PROJECT])
def test_a_file_has_at_most_a_mebibyte(folder: Path, name: str) -> None:
    start = "jobs = 1\n" if name == OWN else "[tool.evalstream]\njobs = 1\n"
    text = start + "#" * (MOST_BYTES - len(start))
    (folder / name).write_text(text)
    assert find_table() == (name, {"jobs": 1})
    (folder / name).write_text(text + "#")
    for find in (find_table, lambda: read_table(name)):
        with pytest.raises(UsageError, match=f"{name}: .*: larger than 1,048,576 bytes; --config"):
            find()


def test_another_value_than_a_table_is_an_error(folder: Path) -> None:
    (folder / PROJECT).write_text("tool.evalstream = 1\n")
    with pytest.raises(UsageError, match=r"tool\.evalstream must be a table"):
        find_table()


def test_a_named_file_must_have_settings(folder: Path) -> None:
    (folder / "other.toml").write_text("jobs = 1\n")
    assert read_table("other.toml") == ("other.toml", {"jobs": 1})
    (folder / PROJECT).write_text("[tool.evalstreams]\n")
    with pytest.raises(UsageError, match=r"pyproject\.toml: has no table \[tool\.evalstream\]"):
        read_table(PROJECT)
    for name in ("gone.toml", f"gone/{PROJECT}"):
        with pytest.raises(UsageError, match="file not found"):
            read_table(name)
