"""The scripts of the checkout do what they say, for whoever calls them first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from depth import deep
from paths import REPOSITORY

SCRIPTS = REPOSITORY / "scripts"
SCREENSHOTS = REPOSITORY / "docs" / "screenshots"


def run(script: Path, *arguments: str, **variables: str) -> str:
    """Run a script without the packages of this process, and return what it prints."""
    environment = {"PATH": os.environ["PATH"], "PYTHON": sys.executable, **variables}
    done = subprocess.run([script, *arguments], capture_output=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.parametrize("option", ["--help", deep("-h")])
def test_help_of_the_benchmarks_runs_nothing(option: str, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    text = run(SCRIPTS / "bench", "--quick", option, EVALSTREAM_VENV=str(venv))
    lines = [line for line in text.splitlines() if not line.startswith(" ")]
    suites = [line.split()[4] for line in lines if line.startswith("usage: ")]
    assert suites == ["validators", "comparisons", "changes", "batches"]
    assert not any("|" in line for line in lines)
    assert not venv.exists()


def test_screenshots_show_the_report_of_today(tmp_path: Path) -> None:
    """Where it fails, call `python scripts/screenshots.py docs/screenshots after`."""
    subprocess.run([sys.executable, SCRIPTS / "screenshots.py", tmp_path, "after"], check=True)
    drawn = sorted(tmp_path.iterdir())
    assert [path.name for path in drawn] == [
        path.name for path in sorted(SCREENSHOTS.glob("after-*.svg"))
    ]
    for path in drawn:
        assert path.read_bytes() == (SCREENSHOTS / path.name).read_bytes(), path.name
