"""The floor: nothing but the SHA-256 of the bytes."""

from __future__ import annotations

import shutil

from benchmarks.contenders.contract import Checks, Command, Contender, Material
from benchmarks.harness.measure import Measurement

HEXADECIMAL = 64


def command(material: Material) -> Command:
    """Hash every rows file."""
    return Command(["openssl", "dgst", "-sha256", *material.rows_paths])


def has_seen_all(material: Material, measurement: Measurement) -> bool:
    """Require a digest for every file."""
    digests = [line.rpartition("= ")[2] for line in measurement.stdout.splitlines()]
    return [len(digest) for digest in digests] == [HEXADECIMAL] * len(material.runs)


def missing() -> str | None:
    """Look for openssl."""
    return None if shutil.which("openssl") else "openssl is not on the PATH"


FLOOR = Contender(
    "openssl",
    "openssl dgst -sha256",
    Checks.BYTES,
    command,
    has_seen_all,
    fault_code=None,
    missing=missing,
)
