"""The rules of lm-eval's logs by code, with those that all formats share."""

from __future__ import annotations

from typing import Final

from evalstream.formats.lm_eval.rules import contradictions, results, rows, samples
from evalstream.rules.catalogue import SHARED_RULES, Catalogue

RULES: Final = tuple(
    sorted(
        (*rows.RULES, *samples.RULES, *results.RULES, *contradictions.RULES),
        key=lambda rule: rule.code,
    )
)
"""The rules of this format alone."""

CATALOGUE: Final = Catalogue({"ES": lambda: SHARED_RULES, "LME": lambda: RULES})
