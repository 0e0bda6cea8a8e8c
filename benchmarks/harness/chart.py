"""Draws the ratios to the floor as horizontal bars on a logarithmic axis, in SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from benchmarks.contenders.contract import Checks, Contender

Bar = tuple[Contender, float]
"""A contender and its median ratio to the floor."""

WIDTH, LEFT, RIGHT, TOP, FOOT = 900, 290, 60, 62, 46
BAR, GROUP_HEAD, GROUP_GAP = 18, 22, 10
LEGEND_STEP = 172
COLOURS = {
    Checks.NOTHING: "#cccccc",
    Checks.BYTES: "#9a9a9a",
    Checks.SCHEMA: "#d08c34",
    Checks.UPSTREAM: "#a0558f",
    Checks.SOME_RULES: "#7fb0dd",
    Checks.EVERYTHING: "#2f6db3",
    Checks.MORE: "#1b3f66",
}
LEGEND = (Checks.EVERYTHING, Checks.MORE, Checks.SCHEMA, Checks.SOME_RULES, Checks.UPSTREAM)


class Axis:
    """A logarithmic axis from 1 to a round number beyond the largest ratio."""

    def __init__(self, largest: float) -> None:
        steps = [step * 10**power for power in range(12) for step in (1, 2, 5)]
        end = next(
            (place for place, tick in enumerate(steps) if tick >= largest and place), len(steps)
        )
        self.ticks = steps[: end + 1]

    def x(self, ratio: float) -> float:
        """Place a ratio, in pixels; below 1 it lies at the beginning of the axis."""
        share = math.log(max(ratio, 1.0)) / math.log(self.ticks[-1])
        return LEFT + share * (WIDTH - LEFT - RIGHT)


def chart(groups: Mapping[str, Sequence[Bar]]) -> str:
    """Draw the bars of all workloads, by the titles of these."""
    ratios = [ratio for group in groups.values() for _, ratio in group]
    axis = Axis(max(ratios, default=10.0))
    bottom = TOP + sum(GROUP_HEAD + BAR * len(group) + GROUP_GAP for group in groups.values())
    lines = [*heading(bottom + FOOT), *grid(axis, bottom)]
    y = TOP
    for title, group in groups.items():
        lines += bars(axis, y, title, group)
        y += GROUP_HEAD + BAR * len(group) + GROUP_GAP
    return "\n".join([*lines, "</svg>"]) + "\n"


def heading(height: int) -> Iterator[str]:
    """Begin the picture: ground, title and legend."""
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12" fill="#222">'
    )
    yield f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    yield text(16, 22, "Time of a check as a multiple of openssl dgst -sha256", size=15)
    for number, checks in enumerate(LEGEND):
        x = 16 + LEGEND_STEP * number
        yield f'<rect x="{x}" y="34" width="12" height="12" fill="{COLOURS[checks]}"/>'
        yield text(x + 18, 44, f"checks {checks}")


def grid(axis: Axis, bottom: int) -> Iterator[str]:
    """Draw a line for each tick, and name the axis."""
    for tick in axis.ticks:
        x = axis.x(tick)
        yield f'<path d="M{x:.1f} {TOP}V{bottom}" stroke="#dddddd"/>'
        yield text(x, bottom + 16, f"{tick:,}", anchor="middle")
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield text(middle, bottom + 36, "times openssl (logarithmic, median)", anchor="middle")


def bars(axis: Axis, y: int, title: str, group: Sequence[Bar]) -> Iterator[str]:
    """Draw a workload: its title, then a bar for each contender with its number."""
    yield text(16, y + 15, title, weight="bold")
    for number, (contender, ratio) in enumerate(group):
        top, end = y + GROUP_HEAD + BAR * number, axis.x(ratio)
        yield text(LEFT - 8, top + 13, contender.label, anchor="end")
        yield (
            f'<rect x="{LEFT}" y="{top + 2}" width="{max(end - LEFT, 1):.1f}" '
            f'height="{BAR - 4}" fill="{COLOURS[contender.checks]}"/>'
        )
        yield text(end + 5, top + 13, f"{ratio:.3g}")


def text(
    x: float, y: float, words: str, *, anchor: str = "start", size: int = 12, weight: str = "normal"
) -> str:
    """Set a line of text."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'font-weight="{weight}">{escape(words)}</text>'
    )
