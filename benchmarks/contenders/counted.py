"""What the drivers in this folder say at their end: how many rows they saw and refused."""

from __future__ import annotations

import json
from json import JSONDecodeError

from benchmarks.contenders.contract import Material
from benchmarks.harness.measure import Measurement


def has_counted_all(material: Material, measurement: Measurement) -> bool:
    """Require a last line such as {"rows": 20, "refused": 0} with the right number of rows."""
    try:
        counts = json.loads(measurement.stdout)
    except JSONDecodeError:
        return False
    return bool(counts["rows"] == material.rows and (counts["refused"] > 0) == material.is_faulty)
