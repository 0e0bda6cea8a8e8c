"""The rules of infereval by code, with those that all formats share."""

from __future__ import annotations

from typing import Final

from evalstream.formats.infereval.rules import benchmark, evaluation
from evalstream.rules.catalogue import SHARED_RULES, Catalogue

RULES: Final = (*benchmark.RULES, *evaluation.RULES)
"""The rules of this format alone."""

CATALOGUE: Final = Catalogue({"ES": lambda: SHARED_RULES, "INF": lambda: RULES})
