"""The rules of infereval by code, with those that all formats share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from evalstream.formats.infereval.rules import benchmark, evaluation
from evalstream.rules.base import Rule
from evalstream.rules.catalogue import SHARED_RULES, Catalogue


def rules() -> Iterable[Rule]:
    """Return the rules of this format alone."""
    return (*benchmark.RULES, *evaluation.RULES)


CATALOGUE: Final = Catalogue({"ES": lambda: SHARED_RULES, "INF": rules})
