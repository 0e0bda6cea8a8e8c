"""The rules of the format infereval."""

from typing import Final

MODULES: Final = ("benchmarks", "evaluations", "samples")
"""The modules of this folder; each lists its rules as `RULES`."""
