"""The format's own validator, which knows version 0.3.0 alone."""

from __future__ import annotations

import json
import os
import subprocess
from functools import lru_cache
from json import JSONDecodeError
from pathlib import Path

from benchmarks.contenders.contract import ROOT, Checks, Command, Contender, Material
from benchmarks.harness.measure import Measurement


def python() -> Path:
    """Say where the Python is that has the validator installed."""
    default = ROOT / ".venv-upstream" / "bin" / "python"
    return Path(os.environ.get("EVALSTREAM_UPSTREAM", default))


def command(material: Material) -> Command:
    """Check rows alone: beside an aggregate it tears rows at line separators."""
    words = [str(python()), "-m", "every_eval_ever", "validate", "--format", "json"]
    return Command([*words, *material.rows_paths])


def has_seen_all(material: Material, measurement: Measurement) -> bool:
    """Require its count of files and lines."""
    try:
        reports = json.loads(measurement.stdout)
    except JSONDecodeError:
        return False
    lines = sum(report["line_count"] for report in reports)
    return (len(reports), lines) == (len(material.runs), material.rows)


@lru_cache(maxsize=1)
def missing() -> str | None:
    """Look for the validator."""
    if not python().exists():
        return "scripts/upstream was not run, and EVALSTREAM_UPSTREAM is not set"
    asked = [str(python()), "-c", "import every_eval_ever"]
    found = subprocess.run(asked, check=False, capture_output=True).returncode == 0
    return None if found else f"{python().name} has no every-eval-ever"


UPSTREAM = Contender(
    "upstream", "every-eval-ever validate", Checks.UPSTREAM, command, has_seen_all, missing=missing
)
