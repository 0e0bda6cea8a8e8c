"""Holds figures of a section to bounds in either direction."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.harness.budgets import Board, Budget, Verdict
from benchmarks.harness.section import Section


@dataclass(frozen=True)
class Bound:
    """What a figure must not exceed, or with `is_floor` must reach."""

    name: str
    value: float
    unit: str
    is_floor: bool = False


def hold(section: Section, bound: Bound, found: float | None, *, judges: bool = True) -> None:
    """Hold a figure to a bound; where nothing is judged it is told alone."""

    def figure(board: Board) -> float | None:
        del board
        return found

    budget = Budget(bound.name, figure, bound.value, bound.unit, bound.is_floor)
    section.verdicts.append(Verdict(budget, found, judges))
