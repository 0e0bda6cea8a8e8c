"""Pictures of the values of a run, and of scores and findings along its lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, log
from typing import Final

from evalstream.model.sketch import Histogram, Strip
from evalstream.model.text import count_noun
from evalstream.reporters import markup
from evalstream.reporters.markup import Markup, format_number, tag

MOST_BARS: Final = 120
"""A picture with more bars than this joins adjacent ones."""


def histogram(key: str, title: str, unit: str, values: Histogram) -> Markup:
    """Return the picture of a histogram; `unit` names what the axis counts."""
    bars = _bars(values)
    if not bars:
        return markup.figure(title, tag("p", "No values.", class_="note"))
    most = max(count for *_, count in bars)
    total = sum(count for *_, count in bars)
    peak = next(bar for bar in bars if bar[2] == most)
    description = (
        f"{count_noun(total, 'value')} from {_between(bars[0])} to {_between(bars[-1])}; "
        f"the highest bar has {most:,}, at {_between(peak)}."
    )
    shapes = [
        markup.rectangle(
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
    return markup.figure(
        [title, " ", tag("span", count_noun(total, "value"), class_="note")],
        _top_label(most),
        markup.drawing(key, title, description, shapes, len(bars), HEIGHT, 110),
        markup.axis(_value_ticks(values, bars)),
        tag("div", scale, class_="unit"),
    )


def _top_label(most: int) -> Markup:
    top = tag("span", f"{most:,}", class_="top")
    return tag("div", top, class_="yaxis", aria_hidden="true")


Bar = tuple[float, float, int]
"""The lower and the upper edge of a bar, and how many values lie in it."""


def _bars(values: Histogram) -> list[Bar]:
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
    return format_number(low) if low == high else f"{format_number(low)} to {format_number(high)}"


def _value_ticks(values: Histogram, bars: list[Bar]) -> list[markup.Tick]:
    """Return labels at round numbers, and zero of a logarithmic scale by itself."""
    zeros = 1 if values.zeros else 0
    step = -(-len(values.counts) // MOST_BARS) or 1
    is_log = values.scale == "log"
    ticks = [markup.Tick(0.5 / len(bars), "0")] if zeros else []
    if len(bars) == zeros:
        return ticks
    low, high = bars[zeros][0], bars[-1][1]
    for at in markup.round_logs(low, high) if is_log else markup.round_steps(low, high):
        edge = log(at, values.width) if is_log else at / values.width
        place = zeros + (edge - values.first) / step
        ticks.append(markup.Tick(min(1.0, max(0.0, place / len(bars))), format_number(at)))
    return ticks


HEIGHT: Final = 100
LEAST: Final = 6
"""The height of a count that is small beside the others: it must not vanish."""


def strips(key: str, strip: Strip) -> list[Markup]:
    """Return the pictures of a strip: scores where rows have some, and findings."""
    if not strip.rows:
        return []
    return [*_scores(f"{key}-s", strip), _findings(f"{key}-f", strip)]


def _scores(key: str, strip: Strip) -> list[Markup]:
    means = [
        total / count if count and isfinite(total) else None
        for total, count in zip(strip.scores, strip.scored, strict=True)
    ]
    known = [mean for mean in means if mean is not None]
    if not known:
        return []
    low, high = min(0.0, *known), max(1.0, *known)
    if low < 0 or high > 1:
        low, high = min(known), max(known)
    shapes = []
    for place, mean in enumerate(means):
        if not strip.rows[place]:
            continue
        if mean is None:
            tip = f"{_lines(strip, place)}: no scores"
            shapes.append(markup.rectangle(place, 45, 1, 10, tip, class_="unscored"))
            continue
        share = (mean - low) / (high - low) if high > low else 1.0
        tip = f"{_lines(strip, place)}: mean score {format_number(mean)} of {strip.scored[place]:,}"
        shade = f"{0.08 + 0.92 * share:.2f}"
        shapes.append(
            markup.rectangle(place, 0, 1, HEIGHT, tip, class_="shade", fill_opacity=shade)
        )
    description = (
        f"The mean score in {count_noun(len(known), 'part')} of the file is between "
        f"{format_number(min(known))} and {format_number(max(known))}."
    )
    title = "Mean score along the file"
    legend = tag(
        "span",
        format_number(low),
        tag("i", class_="ramp", aria_hidden="true"),
        format_number(high),
        class_="note legend",
    )
    picture = markup.drawing(key, title, description, shapes, len(means), HEIGHT, 34)
    return [markup.figure([title, " ", legend], picture, markup.axis(_ticks(strip)), class_="wide")]


def _findings(key: str, strip: Strip) -> Markup:
    title = "Findings along the file"
    kinds = {"error": strip.errors, "warning": strip.warnings, "info": strip.infos}
    most = max(map(sum, zip(*kinds.values(), strict=True)))
    each = f"each column stands for {count_noun(strip.lines, 'line')}"
    shapes = [
        shape for place in range(len(strip.rows)) for shape in _column(strip, place, kinds, most)
    ]
    totals = {kind: count_noun(sum(some), kind) for kind, some in kinds.items() if sum(some)}
    description, below, pixels = "No line has a finding.", "No line has a finding.", 14
    legend, top = tag("span", each, class_="note"), None
    if most:
        description = f"{', '.join(totals.values())}; the highest column has {most:,}."
        below, pixels, top = each, 72, _top_label(most)
        keys = [
            tag("span", tag("i", class_=f"key fill-{kind}"), text) for kind, text in totals.items()
        ]
        legend = tag("span", keys, class_="note legend")
    return markup.figure(
        [title, " ", legend],
        top,
        markup.drawing(key, title, description, shapes, len(strip.rows), HEIGHT, pixels),
        markup.axis(_ticks(strip)),
        tag("div", below, class_="unit"),
        class_="wide",
    )


def _column(
    strip: Strip, place: int, kinds: Mapping[str, Sequence[int]], most: int
) -> Iterator[Markup]:
    """Yield the rectangles of a column, errors at the bottom; none is too small to be seen."""
    counts = {kind: numbers[place] for kind, numbers in kinds.items() if numbers[place]}
    heights = {kind: max(LEAST, HEIGHT * count / most) for kind, count in counts.items()}
    fit = min(1.0, HEIGHT / (sum(heights.values()) or 1))
    tip = f"{_lines(strip, place)}: " + ", ".join(count_noun(n, k) for k, n in counts.items())
    top = float(HEIGHT)
    for kind, height in heights.items():
        top -= height * fit
        yield markup.rectangle(place, top, 1, height * fit, tip, class_=f"fill-{kind}")


def _lines(strip: Strip, place: int) -> str:
    """Say which lines a column stands for; the last one may stand for fewer than the others."""
    first, last = place * strip.lines + 1, (place + 1) * strip.lines
    last = min(last, strip.total or last)
    return f"line {first:,}" if first == last else f"lines {first:,} to {last:,}"


def _ticks(strip: Strip) -> list[markup.Tick]:
    bins = len(strip.rows)
    places = sorted({round((bins - 1) * part / 4) for part in range(5)})
    return [
        markup.Tick(
            (place + 0.5) / bins, f"{'line ' if not place else ''}{place * strip.lines + 1:,}"
        )
        for place in places
    ]
