"""The rules of HarpIA Lab by code, with those that all formats share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from evalstream.formats.harpia.rules import input as about_input
from evalstream.formats.harpia.rules import results
from evalstream.rules.base import Rule
from evalstream.rules.catalogue import SHARED_RULES, Catalogue


def rules() -> Iterable[Rule]:
    """Return the rules of this format alone."""
    return (*about_input.RULES, *results.RULES)


CATALOGUE: Final = Catalogue({"ES": lambda: SHARED_RULES, "HAR": rules})
