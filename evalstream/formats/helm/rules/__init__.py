"""The rules of HELM."""

from typing import Final

MODULES: Final = ("documents", "instances")
"""The modules of this folder; each lists its rules as `RULES`."""
