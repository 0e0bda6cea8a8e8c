"""The rules of HarpIA Lab by code, with those that all formats share."""

from __future__ import annotations

from typing import Final

from evalstream.formats.harpia.rules import input as about_input
from evalstream.formats.harpia.rules import results
from evalstream.rules.catalogue import SHARED_RULES, Catalogue

RULES: Final = (*about_input.RULES, *results.RULES)
"""The rules of this format alone."""

CATALOGUE: Final = Catalogue({"ES": lambda: SHARED_RULES, "HAR": lambda: RULES})
