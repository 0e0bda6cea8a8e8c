"""The rules of SWE-bench."""

from typing import Final

MODULES: Final = ("documents", "instances")
"""The modules of this folder; each lists its rules as `RULES`."""
