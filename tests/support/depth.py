"""How far tests search: little in each run, and far with the option `--deep`.

Every rule and every branch has its test in each run. What is left to `--deep` is more of the same:
more inputs of a property, more versions and engines for the same path, more moments of a kill.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any, TypeVar

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


def in_turn(*lists: Sequence[Any]) -> list[Any]:
    """Return all combinations of some values; so many that each value is in one are not deep."""
    turns = range(max(map(len, lists)))
    taken = {tuple(turn % len(one) for one in lists) for turn in turns}
    places = product(*(range(len(one)) for one in lists))
    made = ((at, [one[place] for one, place in zip(lists, at, strict=True)]) for at in places)
    return [values if at in taken else deep(*values) for at, values in made]


def deep(*values: object) -> ParameterSet:
    """Return a case of a parametrised test that only a deep search runs."""
    return pytest.param(*values, marks=pytest.mark.deep)
