"""What the documents show is what the program prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from evalstream.batch.ledger.export import FORMS
from evalstream.cli.options import REPORTERS
from evalstream.formats.registry import CATALOGUE

CHECKOUT = Path(__file__).parent.parent
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
SECURITY = (CHECKOUT / "SECURITY.md").read_text(encoding="utf-8")
DECISIONS = (CHECKOUT / "docs" / "decisions.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
SHOWN = [block for block in BLOCKS if len(block.splitlines()) > 1]


@pytest.mark.parametrize("block", SHOWN)
def test_a_block_with_output_shows_the_real_output(block: str) -> None:
    command, _, output = block.partition("\n")
    words = shlex.split(command.removeprefix("$ "))
    assert words[0] == "evalstream"
    ran = subprocess.run(
        [sys.executable, "-m", "evalstream", *words[1:]],
        capture_output=True,
        text=True,
        check=False,
        cwd=CHECKOUT,
    )
    assert ran.stdout == output
    assert ran.stderr == ""


def test_the_readme_shows_output_somewhere() -> None:
    assert SHOWN


def test_the_python_example_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=CHECKOUT
    )
    assert ran.stdout == "0 {}\n"


@pytest.mark.parametrize("link", re.findall(r"\]\((?!http)([^)#]+)\)", README + DECISIONS))
def test_links_lead_somewhere(link: str) -> None:
    assert (CHECKOUT / link).exists()


def test_the_readme_names_only_what_exists() -> None:
    for code in re.findall(r"\b(?:ES|INF|HAR|EVG)\d{3}\b", README + DECISIONS + SECURITY):
        assert code in CATALOGUE
    for line in README.splitlines():
        known = FORMS if "evalstream ledger" in line else {one.value for one in REPORTERS}
        for name in re.findall(r"--format (\w+)", line):
            assert name in known


def test_pipes_fail_with_the_program_that_writes_into_them() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    piped = [block for block in blocks if "| evalstream" in block]
    assert piped
    for block in piped:
        assert block.startswith("set -o pipefail\n")


def test_the_security_policy_names_only_what_exists() -> None:
    for path in re.findall(r"`(tests/\w+\.py)`", SECURITY):
        assert (CHECKOUT / path).exists()
    shown = subprocess.run(
        [sys.executable, "-m", "evalstream", "check", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "200"},
    )
    for option in re.findall(r"`(--[a-z-]+)", SECURITY):
        assert option in shown.stdout


def test_every_dependency_has_its_reason() -> None:
    project = (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")
    listed = project.partition("\ndependencies = [")[2].partition("]")[0]
    names = re.findall(r'"([a-z-]+)>=', listed)
    assert len(names) >= 7
    for name in names:
        assert f"**{name}**" in DECISIONS
