"""The rules of EvalGuard by code, with those that all formats share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from evalstream.formats.evalguard.rules import documents, scores
from evalstream.rules.base import Rule
from evalstream.rules.catalogue import SHARED_RULES, Catalogue


def rules() -> Iterable[Rule]:
    """Return the rules of this format alone."""
    return (*documents.RULES, *scores.RULES)


CATALOGUE: Final = Catalogue({"ES": lambda: SHARED_RULES, "EVG": rules})
