"""The rules of EvalGuard by code, with those that all formats share."""

from __future__ import annotations

from typing import Final

from evalstream.formats.evalguard.rules import documents, schema_files, scores
from evalstream.formats.evalguard.rules.references import EVG209
from evalstream.rules.catalogue import SHARED_RULES, Catalogue

RULES: Final = (
    *documents.RULES,
    EVG209,
    *schema_files.RULES,
    *scores.RULES,
    *documents.ABOUT_MANIFESTS,
)
"""The rules of this format alone."""

CATALOGUE: Final = Catalogue({"ES": lambda: SHARED_RULES, "EVG": lambda: RULES})
