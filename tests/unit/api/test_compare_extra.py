"""Without numpy there are no comparisons, and everything else works."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from commands import environment
from paths import EXAMPLES

import evalstream
from evalstream.api import compare as comparing
from evalstream.model.errors import MissingExtra, install_command

TWO = EXAMPLES / "compare" / "data" / "tiny_sums" / "acme"
WITHOUT = """
import sys
sys.modules[sys.argv.pop(1)] = None
from evalstream.__main__ import main
main()
"""


def without(library: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command where a library cannot be imported."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, library, *arguments],
        capture_output=True,
        env=environment(),
        text=True,
        check=False,
    )


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(name: str) -> object:
        return None if name == "numpy" else find_spec(name)

    monkeypatch.setattr(comparing, "find_spec", found)
    with pytest.raises(MissingExtra, match=re.escape(install_command("compare"))):
        evalstream.compare([TWO / "acorn-7b", TWO / "acorn-3b"])


def test_the_command_says_what_to_install() -> None:
    ended = without("numpy", "compare", str(TWO / "acorn-7b"), str(TWO / "acorn-3b"))
    assert ended.returncode == 3
    assert install_command("compare") in ended.stderr


def test_a_comparison_needs_no_scipy() -> None:
    ended = without("scipy", "compare", str(TWO / "acorn-7b"), str(TWO / "acorn-3b"))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "mid-p McNemar p" in ended.stdout
    assert "paired t" in ended.stdout


def test_a_list_of_expected_ids_needs_no_numpy(tmp_path: Path) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text("098\n")
    rows = next((TWO / "acorn-7b").glob("*.jsonl"))
    ended = without("numpy", "check", str(rows), "--expect-ids", str(ids))
    assert ended.returncode == 1
    assert "ES011" in ended.stdout
