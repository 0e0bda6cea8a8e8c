"""How far tests search: little in each run, and far with the option `--deep`.

Every rule and every branch has its test in each run. What is left to `--deep` is more of the same:
more inputs of a property, more versions and engines for the same path, more moments of a kill.
"""

from collections.abc import Sequence
from typing import TypeVar

import pytest
from _pytest.mark.structures import ParameterSet

T = TypeVar("T")

_search = {"deep": False}
"""Set by conftest.py before test modules are imported."""


def set_depth(*, deep: bool) -> None:
    """Choose between a short and a deep search."""
    _search["deep"] = deep


def is_deep() -> bool:
    """Tell whether tests search deep."""
    return _search["deep"]


def examples(number: int) -> int:
    """Return the number of inputs that a property draws: a tenth of those of a deep search."""
    return number if is_deep() else max(number // 10, 8)


def some(cases: Sequence[T], number: int) -> list[T]:
    """Return so many of the cases, spread evenly over them; all in a deep search."""
    if is_deep() or len(cases) <= number:
        return list(cases)
    return [cases[place * len(cases) // number] for place in range(number)]


def deep(*values: object) -> ParameterSet:
    """Return a case of a parametrised test that only a deep search runs."""
    return pytest.param(*values, marks=pytest.mark.deep)
