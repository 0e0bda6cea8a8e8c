"""The rules of the format harpia (HarpIA Lab)."""

from typing import Final

MODULES: Final = ("input", "results")
"""The modules of this folder; each lists its rules as `RULES`."""
