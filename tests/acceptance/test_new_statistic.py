"""The statistic that CONTRIBUTING.md adds as an example is in every report."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from commands import environment
from paths import EXAMPLES, REPOSITORY

TWO = EXAMPLES / "compare" / "data" / "tiny_sums" / "acme"
SECTION = re.compile(r"^## Add a statistic to comparisons\n(.*?)^## ", re.MULTILINE | re.DOTALL)
CHANGE = re.compile(r"`([\w/.]+\.(?:py|json))`(?:(?!```).)*?```diff\n(.*?)\n {3}```", re.DOTALL)


def changed(text: str, change: str) -> str:
    """Return a text with a change: lines that begin with a plus are new, others are there."""
    lines = [line[3:] for line in change.splitlines()]
    before = "\n".join(line[1:] for line in lines if line.startswith(" "))
    after = "\n".join(line[1:] for line in lines)
    assert text.count(before) == 1, before
    return text.replace(before, after)


def report(package: Path, form: str) -> str:
    """Compare the runs of the worked example with a copy of the package."""
    ended = subprocess.run(
        [sys.executable, "-m", "evalstream", "compare", "acorn-7b", "acorn-3b", "--format", form],
        capture_output=True,
        cwd=TWO,
        env={**environment(), "PYTHONPATH": str(package)},
        text=True,
        check=True,
    )
    return ended.stdout


def test_the_example_of_a_statistic_works(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "evalstream", tmp_path / "evalstream")
    shutil.copytree(REPOSITORY / "schemas", tmp_path / "schemas")
    section = SECTION.search((REPOSITORY / "CONTRIBUTING.md").read_text())
    assert section is not None
    changes = CHANGE.findall(section[1])
    assert len(changes) == 4
    for name, change in changes:
        path = tmp_path / ("" if name.startswith("schemas") else "evalstream") / name
        path.write_text(changed(path.read_text(), change))
    schema = json.loads((tmp_path / "schemas" / "comparison.schema.json").read_text())
    assert '"effect":' in json.dumps(schema)
    text = report(tmp_path, "text")
    assert len(re.findall(r"^ +effect +0\.\d+ standard deviations", text, re.MULTILINE)) == 2
    for one in json.loads(report(tmp_path, "json"))["comparisons"]:
        estimate = one["estimate"]
        deviation = estimate["standard_error"] * estimate["n"] ** 0.5
        assert abs(estimate["effect"] - estimate["difference"] / deviation) < 1e-12
