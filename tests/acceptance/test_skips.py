"""Continuous integration fails where too many tests are skipped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from paths import REPOSITORY, TESTS

SKIPPING = """\
import conftest
import pytest

conftest.MOST_SKIPPED = 3  # a test for each of the real number would take long

@pytest.mark.parametrize("number", range({count}))
def test_skipped(number):
    pytest.skip("not here")

def test_passed():
    pass
"""


@pytest.mark.parametrize(
    ("count", "option", "code"), [(3, "--few-skips", 0), (4, "--few-skips", 1), (4, "--quiet", 0)]
)
def test_too_many_skips_fail_where_it_is_asked(
    count: int, option: str, code: int, tmp_path: Path
) -> None:
    module = tmp_path / "test_module.py"
    module.write_text(SKIPPING.format(count=count), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "conftest", option, str(module)],
        env={**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{REPOSITORY}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout
    assert ("tests were skipped, more than" in done.stdout) == (code == 1)


def test_continuous_integration_asks() -> None:
    assert "scripts/test --few-skips" in (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
