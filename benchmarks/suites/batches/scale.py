"""How many runs and bytes are measured, and how often."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """How large everything is: numbers of runs, and bytes of rows of the one large run.

    `compared` and `compared_large` are those of the reports that are held against each other.
    `judges` is whether speed and memory are held to their budgets, which small sizes say
    nothing of; wrong answers fail the benchmark at any size.
    """

    runs: int
    large: int
    compared: int
    compared_large: int
    memory_runs: int
    rounds: int
    judges: bool = True
    seed: int = 1


USUAL = Scale(20_000, 2 * 10**9, 2_000, 200 * 10**6, 20_000, 3)
QUICK = Scale(400, 20 * 10**6, 200, 5 * 10**6, 1_000, 1, judges=False)
