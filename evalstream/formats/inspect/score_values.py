"""Scores of samples as numbers, as the default `value_to_float` of inspect_ai reads them.

Source: scorer/_metric.py of inspect_ai 0.3.285.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_NAMED: Final[Mapping[str, float]] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS: Final[Mapping[str, float]] = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_NUMBER: Final = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)


def known_number(value: Any) -> float | None:
    """Return a score as a number; None for one that is no number and none of the known words."""
    if isinstance(value, str):
        word = _NAMED.get(value)
        if word is None:
            word = _WORDS.get(value.lower())
        if word is None and _NUMBER.fullmatch(value):
            word = float(value)
        return word
    return float(value) if isinstance(value, (int, float)) else None


def to_float(value: Any) -> float:
    """Return a score as a number, 0 for one that is none."""
    number = known_number(value)
    return 0.0 if number is None else number
