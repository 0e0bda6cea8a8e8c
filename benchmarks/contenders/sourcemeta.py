"""The native JSON Schema command of sourcemeta, from its Python package."""

from __future__ import annotations

import platform
from importlib.util import find_spec
from pathlib import Path

from benchmarks.contenders.contract import Checks, Command, Contender, Material
from benchmarks.harness.measure import Measurement

ARCHITECTURES = {"amd64": "x86_64", "aarch64": "arm64"}
REFUSED = 2
"""The exit code for a row that does not fit."""


def binary() -> Path | None:
    """Find the native program: the package's own command would add a start of Python to it."""
    package = find_spec("sourcemeta_jsonschema")
    if package is None or package.origin is None:
        return None
    machine = platform.machine().lower()
    name = f"jsonschema-{platform.system().lower()}-{ARCHITECTURES.get(machine, machine)}"
    return Path(package.origin).with_name(name)


def command(material: Material) -> Command:
    """Check the rows with the schema compiled for speed."""
    return Command(
        [str(binary()), "validate", material.schema_path, *material.rows_paths, "--fast"]
    )


def has_seen_all(material: Material, measurement: Measurement) -> bool:
    """Require the count of rows in its last line; it stops at the first row that does not fit."""
    if material.is_faulty:
        return ", 1 failed" in measurement.stdout + measurement.stderr
    rows = material.rows
    return f"{rows} validated, {rows} passed, 0 failed" in measurement.stdout + measurement.stderr


def missing() -> str | None:
    """Look for the program of this platform."""
    found = binary()
    if found is None:
        return "the package sourcemeta-jsonschema is not installed"
    return None if found.is_file() else f"sourcemeta-jsonschema has no {found.name}"


SOURCEMETA = Contender(
    "sourcemeta",
    "sourcemeta jsonschema --fast",
    Checks.SCHEMA,
    command,
    has_seen_all,
    fault_code=REFUSED,
    missing=missing,
)
