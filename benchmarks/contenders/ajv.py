"""Ajv, the JSON Schema compiler for JavaScript, over the lines of a file in Node."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from benchmarks.contenders.contract import Checks, Command, Contender, Material
from benchmarks.contenders.counted import has_counted_all

SCRIPT = Path(__file__).with_name("ajv.cjs")
MODULES = Path(sys.prefix) / "node" / "node_modules"
"""Where scripts/bench installs Ajv."""


def command(material: Material) -> Command:
    """Check the rows one by one."""
    words = ["node", str(SCRIPT), str(MODULES), material.schema_path]
    return Command([*words, *material.rows_paths])


def missing() -> str | None:
    """Look for Node and for the package."""
    if shutil.which("node") is None:
        return "node is not on the PATH"
    return None if (MODULES / "ajv").is_dir() else "the npm package ajv is not installed"


AJV = Contender("ajv", "Ajv in Node", Checks.SCHEMA, command, has_counted_all, missing=missing)
