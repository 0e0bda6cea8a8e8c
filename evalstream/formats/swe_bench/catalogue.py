"""The rules of SWE-bench by code, with those that all formats share."""

from __future__ import annotations

from typing import Final

from evalstream.formats.swe_bench.rules import documents, figures, instances, lists
from evalstream.rules.catalogue import SHARED_RULES, Catalogue

RULES: Final = (*documents.RULES, *lists.RULES, *instances.RULES, *figures.RULES)
"""The rules of this format alone."""

CATALOGUE: Final = Catalogue({"ES": lambda: SHARED_RULES, "SWE": lambda: RULES})
