"""Decompression alone: by the library that evalstream uses, and by the programs gzip and zstd."""

from __future__ import annotations

import shutil
import sys
from functools import partial
from pathlib import Path

from benchmarks.contenders.contract import Checks, Command, Contender, Material
from benchmarks.harness.measure import Measurement

DRIVER = Path(__file__).with_name("unpack_driver.py")


def command(material: Material) -> Command:
    """Decompress the files in one process that imports nothing else."""
    return Command([sys.executable, "-P", str(DRIVER), *material.rows_paths])


def has_seen_all(material: Material, measurement: Measurement) -> bool:
    """Require the number of decompressed bytes."""
    return measurement.stdout == f"{material.bytes}\n"


def trial_command(material: Material, *, program: str) -> Command:
    """Test the files, which decompresses them and writes nothing."""
    return Command([program, "-t", *material.rows_paths])


def needs_no_proof(material: Material, measurement: Measurement) -> bool:
    """Accept the exit code: the programs verify a checksum of the decompressed bytes."""
    del material, measurement
    return True


def missing(*, program: str) -> str | None:
    """Look for a program."""
    return None if shutil.which(program) else f"{program} is not on the PATH"


UNPACK = Contender(
    "unpacking",
    "decompressing alone, by the same library",
    Checks.BYTES,
    command,
    has_seen_all,
    fault_code=None,
)
GZIP, ZSTD = (
    Contender(
        program,
        f"{program} -t",
        Checks.BYTES,
        partial(trial_command, program=program),
        needs_no_proof,
        fault_code=None,
        missing=partial(missing, program=program),
    )
    for program in ("gzip", "zstd")
)
