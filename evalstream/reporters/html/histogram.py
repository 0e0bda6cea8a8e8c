"""Pictures of how values are distributed: bars over a linear or logarithmic axis."""

from __future__ import annotations

from math import log
from typing import Final

from evalstream.model.sketch import Histogram
from evalstream.model.text import count_noun
from evalstream.reporters.charts import (
    Tick,
    axis,
    drawing,
    figure,
    rectangle,
    round_logs,
    round_steps,
)
from evalstream.reporters.html.wording import number
from evalstream.reporters.markup import Markup, tag

HEIGHT: Final = 100
MOST_BARS: Final = 120
"""A picture with more bars than this joins adjacent ones."""


def histogram(key: str, title: str, unit: str, values: Histogram) -> Markup:
    """Return the picture of a histogram; `unit` names what the axis counts."""
    bars = _bars(values)
    if not bars:
        return figure(title, tag("p", "No values.", class_="note"))
    most = max(count for *_, count in bars)
    total = sum(count for *_, count in bars)
    peak = next(bar for bar in bars if bar[2] == most)
    description = (
        f"{count_noun(total, 'value')} from {_between(bars[0])} to {_between(bars[-1])}; "
        f"the highest bar has {most:,}, at {_between(peak)}."
    )
    shapes = [
        rectangle(
            place + 0.06,
            HEIGHT * (1 - count / most),
            0.88,
            max(HEIGHT * count / most, 2),
            f"{_between(bar)}: {count:,}",
            class_="bar",
        )
        for place, bar in enumerate(bars)
        for count in [bar[2]]
        if count
    ]
    scale = f"{unit}, logarithmic" if values.scale == "log" else unit
    return figure(
        [title, " ", tag("span", count_noun(total, "value"), class_="note")],
        tag("div", tag("span", f"{most:,}", class_="top"), class_="yaxis", aria_hidden="true"),
        drawing(key, title, description, shapes, len(bars), HEIGHT, 110),
        axis(_ticks(values, bars)),
        tag("div", scale, class_="unit"),
    )


Bar = tuple[float, float, int]
"""The lower and the upper edge of a bar, and how many values lie in it."""


def _bars(values: Histogram) -> list[Bar]:
    """Return the bars from left to right, zeros of a logarithmic scale first."""
    step = -(-len(values.counts) // MOST_BARS) or 1
    bars = [
        (
            values.edge(start),
            values.edge(min(start + step, len(values.counts))),
            sum(values.counts[start : start + step]),
        )
        for start in range(0, len(values.counts), step)
    ]
    return [(0.0, 0.0, values.zeros), *bars] if values.zeros else bars


def _between(bar: Bar) -> str:
    low, high, _ = bar
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def _ticks(values: Histogram, bars: list[Bar]) -> list[Tick]:
    """Return labels at round numbers, and zero of a logarithmic scale by itself."""
    zeros = 1 if values.zeros else 0
    step = -(-len(values.counts) // MOST_BARS) or 1
    is_log = values.scale == "log"
    ticks = [Tick(0.5 / len(bars), "0")] if zeros else []
    if len(bars) == zeros:
        return ticks
    low, high = bars[zeros][0], bars[-1][1]
    for at in round_logs(low, high) if is_log else round_steps(low, high):
        edge = log(at, values.width) if is_log else at / values.width
        place = zeros + (edge - values.first) / step
        ticks.append(Tick(min(1.0, max(0.0, place / len(bars))), number(at)))
    return ticks
