"""Describes the machine that the numbers come from."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("evalstream", "sourcemeta-jsonschema", "jsonschema", "isal", "backports.zstd")
PROGRAMS = (("openssl", "version"), ("node", "--version"))


def machine() -> dict[str, Any]:
    """State processor, cores, Python, versions, and the load before anything was measured."""
    return {
        "cpu_model": cpu_model(),
        "cpu_count": os.cpu_count(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        **{name: package_version(name) for name in PACKAGES},
        **{words[0]: output_of(words) for words in PROGRAMS},
    }


def cpu_model() -> str:
    """Name the processor."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()


def package_version(name: str) -> str | None:
    """Return the version of an installed package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def output_of(words: tuple[str, ...]) -> str | None:
    """Return what a program prints, None where it is not installed."""
    try:
        return subprocess.run(words, check=False, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        return None
