"""How many findings of a run `evalstream fix` repairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from evalstream.engine.layout import JSONL
from evalstream.formats.eee.rules.seal import NO_ROWS
from evalstream.model.finding import Severity

ALWAYS: Final = frozenset({"ES110", "ES111", "ES112", "ES204", "ES208"})
"""The rules all of whose findings have a repair."""

SPELLINGS: Final = frozenset({"ES102", "ES405", "ES502"})
"""The rules whose warnings are about a spelling, and have a repair; their errors have none."""

REFUSED: Final = frozenset(
    {
        "ES003",
        "ES004",
        "ES101",
        "ES103",
        "ES104",
        "ES105",
        "ES106",
        "ES107",
        "ES108",
        "ES109",
        "ES113",
        "ES114",
        "ES501",
        "ES503",
    }
)
"""The rules whose findings keep a run from being repaired: damage, and a seal that is wrong."""


def fixable(counts: Mapping[tuple[str, Severity], int], layout: str) -> int:
    """Return the number of findings that are repaired, 0 for a run that is refused.

    It counts the findings that certainly have a repair; others may have one as well.
    """
    if layout not in {JSONL, NO_ROWS}:
        return 0
    total = 0
    for (code, severity), times in counts.items():
        is_spelling = code in SPELLINGS and severity <= Severity.WARNING
        if code in REFUSED or (code in SPELLINGS and not is_spelling):
            return 0
        total += times if code in ALWAYS or is_spelling else 0
    return total
