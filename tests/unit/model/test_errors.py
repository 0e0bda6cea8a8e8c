"""The command that installs an extra fits the way in which this copy was installed."""

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from each import each
from paths import REPOSITORY

from evalstream.model import errors
from evalstream.model.errors import install_command

METADATA = """Metadata-Version: 2.4
Name: evalstream
Version: 0.1.0
Provides-Extra: remote
Requires-Dist: orjson>=3.10.7
Requires-Dist: fsspec>=2024.1; (python_version < '3.9') and extra == 'remote'
Requires-Dist: fsspec>=2024.2; (python_version >= '3.9') and extra == 'remote'
Requires-Dist: s3fs; extra == "remote"
Requires-Dist: isal>=1.7; extra == 'compressed'
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Return a function that lets the package be installed, with or without a direct URL."""
    packages = tmp_path / "site-packages"
    (packages / "evalstream").mkdir(parents=True)
    # A copy of another place comes first, and is not the one that runs.
    other = tmp_path / "other" / "evalstream-0.1.0.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text(METADATA)
    (other / "direct_url.json").write_text('{"url": "file:///other.whl", "archive_info": {}}')
    monkeypatch.setattr(errors, "PACKAGE", str(packages / "evalstream"))
    monkeypatch.setattr(sys, "path", [str(other.parent), str(packages)])
    monkeypatch.setattr(errors, "_pip", lambda: "pip")

    def make(origin: Any) -> None:
        folder = packages / "evalstream-0.1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(METADATA)
        if origin is not None:
            (folder / "direct_url.json").write_text(json.dumps(origin))

    return make


def test_a_copy_that_runs_from_its_checkout() -> None:
    wanted = f"install --editable '{REPOSITORY}[remote]'"
    assert install_command("remote").endswith(wanted)


@each(
    ("origin", "wanted"),
    [
        (
            {"url": "https://x.org/e.git", "vcs_info": {"vcs": "git", "commit_id": "0a1"}},
            "'evalstream[remote] @ git+https://x.org/e.git@0a1'",
        ),
        (
            {
                "url": "ssh://git@x.org/e.git",
                "vcs_info": {"vcs": "git", "commit_id": "0a1"},
                "subdirectory": "a",
            },
            "'evalstream[remote] @ git+ssh://git@x.org/e.git@0a1#subdirectory=a'",
        ),
        (
            {"url": "https://x.org/e.whl", "archive_info": {}},
            "'evalstream[remote] @ https://x.org/e.whl'",
        ),
        ({"url": "file:///gone", "dir_info": {}}, "'fsspec>=2024.2' s3fs"),
        (None, "'fsspec>=2024.2' s3fs"),
    ],
)
def test_an_installed_copy(install: Callable[[Any], None], origin: Any, wanted: str) -> None:
    install(origin)
    assert install_command("remote") == f"pip install {wanted}"


def test_a_copy_from_a_folder(install: Callable[[Any], None], tmp_path: Path) -> None:
    folder = tmp_path / "a checkout"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "evalstream"\n')
    install({"url": folder.as_uri(), "dir_info": {}})
    assert install_command("remote") == f"pip install '{folder}[remote]'"


@pytest.mark.usefixtures("install")
def test_a_copy_without_metadata() -> None:
    told = "pip, from where this copy of evalstream came from, with the extra remote"
    assert install_command("remote") == told


def test_the_command_is_for_the_python_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def command() -> str:
        return install_command("remote").partition(" install ")[0]

    folder = tmp_path / "my bin"
    folder.mkdir()
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", "")
    assert command() == f"'{folder}/python' -P -m pip"
    (folder / "pip").touch(0o755)
    assert command() == f"'{folder}/pip'"
    monkeypatch.setenv("PATH", str(folder))
    assert command() == "pip"


TAKEABLE = re.compile(
    r"(?:pip|pipx|uv|uvx|poetry|conda)3?[^\n]*?(?<![\w./-])evalstream(?:\[[\w,]*\])?"
    r"(?=['\"`)\s]|[=<>~]|$)(?! @)"
)
"""A command that installs a package with our name from an index."""

SHIPPED = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "Containerfile",
    "action.yml",
)
FOLDERS = ("evalstream", "docs", "scripts", "benchmarks", "examples", "schemas", ".github")


def shipped_texts() -> list[Path]:
    """Return the texts that people read, and the code that writes texts."""
    ends = (".py", ".md", ".yml", ".yaml", ".toml", ".json", ".txt", "")
    files = [REPOSITORY / name for name in SHIPPED]
    for name in FOLDERS:
        for folder, _, names in os.walk(REPOSITORY / name):
            files += [Path(folder, one) for one in names if os.path.splitext(one)[1] in ends]
    return files


def installs_by_name(text: str) -> list[str]:
    """Return the commands of a text that name the package alone."""
    lines = (line for line in text.splitlines() if " install" in line or "uvx " in line)
    return [match[0] for line in lines for match in TAKEABLE.finditer(line)]


def test_no_text_tells_to_install_a_name_that_anyone_could_take() -> None:
    if "OWNER/REPOSITORY" not in (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"):
        pytest.skip("a release is filled in: the name is ours")
    found = {
        str(path.relative_to(REPOSITORY)): commands
        for path in shipped_texts()
        if (commands := installs_by_name(path.read_text(encoding="utf-8", errors="replace")))
    }
    assert found == {}


@each(
    ("text", "is_found"),
    [
        ("pip install evalstream", True),
        ("pip install 'evalstream[yaml]'", True),
        ("`python -m pip install --upgrade evalstream==1.0`", True),
        ("uv tool install evalstream", True),
        ("uvx install; uvx evalstream check .", True),
        ("pip install 'evalstream[yaml] @ git+https://x.org/e.git'", False),
        ("pip install '/a/evalstream[yaml]'", False),
        ("pip install '.[yaml]'", False),
        ("/opt/evalstream/bin/pip install PyYAML", False),
    ],
)
def test_what_such_a_command_is(text: str, is_found: bool) -> None:
    assert bool(installs_by_name(text)) is is_found
