"""The rules of EvalGuard by code, with those that all formats share."""

from __future__ import annotations

from typing import Final

from evalstream.formats.evalguard.rules import documents, manifests, responses, schema_files, scores
from evalstream.rules.catalogue import SHARED_RULES, Catalogue

RULES: Final = (
    *documents.RULES,
    *responses.RULES,
    *schema_files.RULES,
    *scores.RULES,
    *manifests.RULES,
)
"""The rules of this format alone."""

CATALOGUE: Final = Catalogue({"ES": lambda: SHARED_RULES, "EVG": lambda: RULES})
