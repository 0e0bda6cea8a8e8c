"""The rules of the format evalguard."""

from typing import Final

MODULES: Final = ("documents", "folder", "scores")
"""The modules of this folder; each lists its rules as `RULES`."""
