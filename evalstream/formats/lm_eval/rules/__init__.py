"""The rules of lm-eval's logs."""

from typing import Final

MODULES: Final = ("rows", "samples", "results", "contradictions")
"""The modules of this folder; each lists its rules as `RULES`."""
