"""The rules of Inspect's logs by code, with those that all formats share."""

from __future__ import annotations

from typing import Final

from evalstream.formats.inspect.rules import (
    coverage,
    log,
    messages,
    results,
    samples,
    scores,
    times,
    usage,
)
from evalstream.rules.catalogue import SHARED_RULES, Catalogue

_UNSORTED: Final = (
    *log.RULES,
    *coverage.RULES,
    *samples.RULES,
    *messages.RULES,
    *scores.RULES,
    *usage.RULES,
    *times.RULES,
    *results.RULES,
)

RULES: Final = tuple(sorted(_UNSORTED, key=lambda rule: rule.code))
"""The rules of this format alone."""

CATALOGUE: Final = Catalogue({"ES": lambda: SHARED_RULES, "INS": lambda: RULES})
