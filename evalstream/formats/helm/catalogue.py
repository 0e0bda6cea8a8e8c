"""The rules of HELM by code, with those that all formats share."""

from __future__ import annotations

from typing import Final

from evalstream.formats.helm.rules import documents, figures, instances
from evalstream.rules.catalogue import SHARED_RULES, Catalogue

RULES: Final = (*documents.RULES, *instances.RULES, *figures.RULES)
"""The rules of this format alone."""

CATALOGUE: Final = Catalogue({"ES": lambda: SHARED_RULES, "HLM": lambda: RULES})
