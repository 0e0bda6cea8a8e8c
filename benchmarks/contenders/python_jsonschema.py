"""The usual Python library: jsonschema over the lines that json reads."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from benchmarks.contenders.contract import Checks, Command, Contender, Material
from benchmarks.contenders.counted import has_counted_all

DRIVER = Path(__file__).with_name("python_jsonschema_driver.py")


def command(material: Material) -> Command:
    """Check the rows one by one, in a process that imports nothing else."""
    words = [sys.executable, "-P", str(DRIVER), material.schema_path]
    return Command([*words, *material.rows_paths])


def missing() -> str | None:
    """Look for the package."""
    return None if find_spec("jsonschema") else "the package jsonschema is not installed"


PYTHON_JSONSCHEMA = Contender(
    "python-jsonschema",
    "jsonschema in Python",
    Checks.SCHEMA,
    command,
    has_counted_all,
    missing=missing,
)
