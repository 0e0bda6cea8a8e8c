"""The floor of a start: a Python that imports what a simple gate would import."""

from __future__ import annotations

import sys

from benchmarks.contenders.contract import Checks, Command, Contender, Material
from benchmarks.harness.measure import Measurement


def command(material: Material) -> Command:
    """Import three modules of the standard library and look at nothing."""
    del material
    return Command([sys.executable, "-c", "import json, hashlib, argparse; print('ready')"])


def has_seen_all(material: Material, measurement: Measurement) -> bool:
    """Require that it came to its end."""
    del material
    return measurement.stdout == "ready\n"


PYTHON_START = Contender(
    "python",
    "Python that imports json, hashlib, argparse",
    Checks.NOTHING,
    command,
    has_seen_all,
    fault_code=None,
)
