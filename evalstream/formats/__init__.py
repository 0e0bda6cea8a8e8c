"""The formats whose files are checked, a folder each, and the letters of their codes."""

from types import MappingProxyType
from typing import Final

PREFIXES: Final = MappingProxyType(
    {
        "eee": "ES",
        "infereval": "INF",
        "harpia": "HAR",
        "evalguard": "EVG",
        "lm_eval": "LME",
        "inspect": "INS",
        "swe_bench": "SWE",
        "helm": "HLM",
    }
)
"""The formats by the names of their folders, each with the letters that its codes begin with."""
