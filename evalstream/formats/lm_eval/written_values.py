"""Numbers and functions as the harness writes them, and arguments of the model as it reads them.

Python spells numbers that are not finite: `save_results_aggregated` and
`save_results_samples` (loggers/evaluation_tracker.py of lm_eval) call `json.dumps`, which writes
NaN, Infinity and -Infinity. JSON does not allow them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from math import inf, isfinite, nan
from typing import Any, Final

from evalstream.model.finding import PlacedViolation, Severity
from evalstream.parsing.json import replace_value
from evalstream.parsing.json_values import is_number, object_or_empty
from evalstream.rules.syntax import ES107, ES108, ObjectReading


def as_decimal(value: Any) -> Decimal | None:
    """Return a figure, None for a value that is not a finite number."""
    if not is_number(value):
        return None
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    return exact if exact.is_finite() else None


_NUMBERS: Final[Mapping[Any, float]] = {"NaN": nan, "Infinity": inf, "-Infinity": -inf}
_SPELLINGS: Final[Mapping[float, str]] = {inf: "Infinity", -inf: "-Infinity"}


def as_written(reading: ObjectReading) -> ObjectReading:
    """Return a reading with the numbers that the harness wrote, as warnings instead of errors.

    The exact parser replaces them by finite ones. A document with a repeated key stays as it is.
    """
    if reading.value is None or any(one.violation.code == ES107.code for one in reading.violations):
        return reading
    restored: set[str | None] = set()
    violations: list[PlacedViolation] = []
    for placed in reading.violations:
        violation = placed.violation
        number = _NUMBERS.get(violation.found) if violation.code == ES108.code else None
        if number is not None and replace_value(reading.value, violation.pointer or "", number):
            restored.add(violation.pointer)
            violation = violation._replace(severity=Severity.WARNING)
        violations.append(placed._replace(violation=violation))
    return reading._replace(violations=violations, replaced=reading.replaced - restored)


def show_value(value: Any) -> Any:
    """Return a value as findings show it: a number that is not finite as its spelling."""
    if not isinstance(value, float) or isfinite(value):
        return value
    return _SPELLINGS.get(value, "NaN")


def is_same_value(one: Any, other: Any) -> bool:
    """Tell whether two figures are the same; NaN is the same as NaN."""
    return bool(one == other) or (one != one and other != other)  # noqa: PLR0124


MODEL_ARGUMENTS: Final = ("peft", "delta", "pretrained", "model", "path", "engine")
"""The arguments that name a model, the one that counts first."""


def read_argument(given: Any, name: str) -> str | None:
    """Return the text of an argument as the harness reads it for a name, None without it."""
    if isinstance(given, dict):
        return str(given[name]) if name in given else None
    if isinstance(given, str) and f"{name}=" in given:
        return given.split(f"{name}=")[1].partition(",")[0]
    return None


def list_arguments(given: Any) -> Mapping[str, Any]:
    """Return all arguments; of one that stands twice the last."""
    if not isinstance(given, str):
        return object_or_empty(given)
    parts = (part.partition("=") for part in given.split(","))
    return {name.strip(): value.strip() for name, _, value in parts}


def parse_argument(text: Any) -> Any:
    """Return an argument as the harness reads its text (`handle_arg_string` in its utils)."""
    if not isinstance(text, str):
        return text
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    with suppress(ValueError):
        return float(text)
    return text


_FUNCTION: Final = re.compile(r"\bdef \w+\(|\blambda\b|<\w|\w\(<")


def is_function(shown: Any) -> bool:
    """Tell whether a configuration shows a function, by its source or else as Python shows it.

    The harness calls no text.
    """
    return isinstance(shown, str) and _FUNCTION.search(shown) is not None
