"""The lock has every package that an environment needs, and the script finds it there."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from paths import REPOSITORY

SCRIPT = REPOSITORY / "scripts" / "requirements.py"
FUNCTIONS = runpy.run_path(str(SCRIPT))
LOCK = FUNCTIONS["locked"]((REPOSITORY / "constraints.txt").read_text(encoding="utf-8"))


def printed(*arguments: str) -> str:
    command = [sys.executable, "-I", str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def names(text: str) -> set[str]:
    return {FUNCTIONS["normal"](one) for one in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}


@pytest.mark.parametrize(
    "extras", [["core"], ["core", "compressed"], ["core", "dev"]], ids="-".join
)
def test_what_is_printed_needs_nothing_else(extras: list[str]) -> None:
    found = names(printed(*extras))
    for name in found:
        try:
            needed = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        for one in map(Requirement, needed):
            if one.marker is None or one.marker.evaluate({"extra": ""}):
                assert FUNCTIONS["normal"](one.name) in found, (name, str(one))


def test_every_package_has_a_version_and_hashes() -> None:
    assert len(LOCK) > 100
    for name, entries in LOCK.items():
        for one in entries:
            assert re.match(r"[\w.-]+==[\w.]+( ; .*)?$", one.version), name
            assert "--hash=sha256:" in one.lines, name
            assert "#" not in one.lines, name


def test_statements_suit_the_sqlite_of_older_systems() -> None:
    """Before 3.35 a conflict that changes a row must be named."""
    sources = [*(REPOSITORY / "evalstream").rglob("*.py")]
    found = [path.name for path in sources if "ON CONFLICT DO" in path.read_text(encoding="utf-8")]
    assert sources
    assert not found


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14", "3.15"])
def test_each_python_takes_one_version_of_a_package(version: str) -> None:
    python = {"python_full_version": f"{version}.1", "python_version": version}
    for entries in LOCK.values():
        found = [Requirement(one.version) for one in entries]
        assert (
            len(found) == 1 or sum(one.marker.evaluate(python) for one in found if one.marker) == 1
        )


def test_only_what_is_asked_for_is_printed() -> None:
    assert {"orjson", "typer", "rich"} <= names(printed("core"))
    assert not {"isal", "pytest", "numpy"} & names(printed("core"))
    assert names(printed("hatchling")) >= {"hatchling", "pathspec"}
    assert names(printed("--plain")) == set(LOCK)


def test_a_package_without_a_version_is_named() -> None:
    command = [sys.executable, "-I", str(SCRIPT), "core", "no-such-package"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "'no-such-package': run scripts/lock" in done.stderr
