"""A table of what was measured, with the budgets that it is held to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.harness.budgets import Board, Budget, Verdict
from benchmarks.harness.judging import WrongAnswer
from benchmarks.harness.tables import in_cell


@dataclass
class Section:
    """A table: its title, its columns, and what was found; errors fail the benchmark."""

    title: str
    columns: tuple[str, ...]
    lines: list[tuple[str, ...]] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def hold(self, name: str, found: float | None, bound: float, unit: str) -> None:
        """Hold what was found against a bound that it must not pass."""

        def figure(board: Board) -> float | None:
            del board
            return found

        self.verdicts.append(Verdict(Budget(name, figure, bound, unit), found))

    def fail(self, name: str, error: WrongAnswer) -> None:
        """Note a wrong answer: there are no numbers then."""
        self.errors.append(f"{name}: {error}")
        self.skip(name, f"error: {error}")

    def skip(self, name: str, why: str) -> None:
        """Leave a line without numbers."""
        self.lines.append((name, in_cell(why), *[""] * (len(self.columns) - 2)))

    def markdown(self) -> str:
        """Lay the table out."""
        head = [f"**{self.title}**", "", _line(self.columns)]
        rule = _line(["---", *["---:"] * (len(self.columns) - 1)])
        return "\n".join([*head, rule, *map(_line, self.lines)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
