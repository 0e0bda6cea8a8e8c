"""The tables and pictures of a comparison on a page, such as differences, matrices and flips."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import isfinite
from typing import Final

from evalstream.model.comparison import Comparison, ComparisonReport, Flip, Matrix
from evalstream.model.estimate import Estimate, Square
from evalstream.model.run_summary import VERDICTS
from evalstream.model.text import count_noun
from evalstream.parsing.json import dumps
from evalstream.reporters.comparison.wording import (
    cell_text,
    difference_text,
    join_groups,
    mean_text,
    percent,
    run_names,
)
from evalstream.reporters.markup import (
    Child,
    Markup,
    Tick,
    axis,
    cut_visible,
    drawing,
    rectangle,
    round_steps,
    tag,
)

NAME: Final = 160
"""Most characters of a name from a file."""

MOST_DRAWN: Final = 400
"""Number of comparisons in pictures of differences."""


def forests(comparisons: Sequence[Comparison]) -> Iterator[Markup]:
    """Yield one picture of differences and intervals for each scale that scores have."""
    groups: dict[tuple[object, ...], list[Comparison]] = {}
    for one in comparisons[:MOST_DRAWN]:
        if one.estimate is not None and isfinite(one.estimate.difference):
            scale = one.metric.minimum, one.metric.maximum, one.metric.unit
            groups.setdefault(scale, []).append(one)
    for index, group in enumerate(groups.values()):
        yield _forest(f"forest{index}", group)


def _forest(key: str, group: Sequence[Comparison]) -> Markup:
    ends = [end for one in group if one.estimate for end in (*_reach(one.estimate), 0.0)]
    low, high = min(ends), max(ends)
    # With a tenth at both ends the label of an end is not moved into the frame.
    room = (high - low) * 0.1 or 0.1
    low, high = low - room, high + room
    rows = [_row(f"{key}-{index}", one, low, high) for index, one in enumerate(group)]
    ticks = [Tick((at - low) / (high - low), f"{at:.6g}") for at in round_steps(low, high)]
    scale = tag("div", tag("div"), axis(ticks), tag("div"), class_="row", aria_hidden="true")
    return tag("div", rows, scale, class_="forest")


def _row(key: str, one: Comparison, low: float, high: float) -> Markup:
    found = one.estimate
    if found is None:
        return Markup()
    text = difference_text(found)
    ends = [(at - low) / (high - low) * 1000 for at in (*_reach(found), found.difference, 0.0)]
    shapes = [
        tag("path", d=f"M{ends[3]:.6g} 0V20", class_="zero"),
        tag("path", d=f"M{ends[0]:.6g} 10H{ends[1]:.6g}", class_="line whisker"),
        tag("path", d=f"M{ends[2]:.6g} 10h0", class_="line dot"),
    ]
    name = f"{one.a} - {one.b}, {cut_visible(one.metric.label, NAME)}"
    return tag(
        "div",
        tag("div", name, " ", verdict_mark(one)),
        drawing(key, name, f"{one.a} - {one.b} = {text}", shapes, 1000, 20, 24),
        tag("div", text, class_="figure"),
        class_="row",
    )


def _reach(found: Estimate) -> tuple[float, float]:
    interval = found.interval
    if interval is None or not (isfinite(interval.low) and isfinite(interval.high)):
        return found.difference, found.difference
    return interval.low, interval.high


def verdict_mark(one: Comparison) -> Markup:
    """Return the verdict of a comparison as a coloured word."""
    return tag("span", str(one.verdict), class_=f"badge {str(one.verdict).replace(' ', '-')}")


def square_table(one: Comparison, square: Square) -> Markup:
    """Return the 2 x 2 square of 0/1 scores, shaded by the share of samples."""
    total = max(1, sum(square))
    head = tag("tr", tag("td"), tag("th", f"{one.b} right"), tag("th", f"{one.b} wrong"))
    rows = (
        (f"{one.a} right", square.both, square.only_a),
        (f"{one.a} wrong", square.only_b, square.neither),
    )
    lines = [
        tag("tr", tag("th", name, scope="row"), [_shade_text(f"{n:,}", n / total) for n in counts])
        for name, *counts in rows
    ]
    return tag("table", tag("thead", head), tag("tbody", lines), class_="square")


def differences(key: str, one: Comparison, found: Estimate) -> Markup | None:
    """Return how often each difference occurs, as bars; None for 0/1 scores."""
    cells = found.histogram
    if found.is_binary or len(cells) < 2:
        return None
    low, high, most = cells[0][0], cells[-1][0], max(count for _, count in cells)
    step = min(after[0] - before[0] for before, after in pairwise(cells))
    if not (isfinite(high - low) and step > 0 and most > 0):
        return None
    step = max(step, (high - low) / 200)
    whole = high - low + step
    bars = [
        rectangle(
            (at - low) / whole * 1000,
            100 * (1 - count / most),
            step / whole * 1000,
            100 * count / most,
            f"{at:.6g}: {count_noun(count, 'sample')}",
            class_="bar",
        )
        for at, count in cells
    ]
    title = f"Differences of the samples, {one.a} - {one.b}"
    peak = count_noun(most, "sample")
    said = f"{len(cells)} bars from {low:.6g} to {high:.6g}; the highest has {peak}"
    ticks = [
        Tick((at - low + step / 2) / whole, f"{at:.6g}")
        for at in round_steps(low, high)
        if at <= high
    ]
    picture = drawing(key, title, said, bars, 1000, 100, 100)
    return tag("div", tag("h4", title), picture, axis(ticks), class_="drawn")


def matrix_table(title: str, matrix: Matrix) -> Markup:
    """Return a matrix, each cell shaded by its size beside the largest."""
    sizes = [
        abs(value) for row in matrix.cells for value in row if value is not None and isfinite(value)
    ]
    most = max(sizes, default=0) or 1
    head = tag("tr", tag("td"), [tag("th", label) for label in matrix.labels])
    lines = [
        tag("tr", tag("th", label, scope="row"), [_cell(value, most) for value in row])
        for label, row in zip(matrix.labels, matrix.cells, strict=True)
    ]
    table = tag("table", tag("thead", head), tag("tbody", lines), class_="matrix")
    name = f"{title}: {cut_visible(matrix.title, NAME)}"
    return tag("section", tag("h3", name), tag("div", table, class_="scroll", tabindex=0))


def _cell(value: float | int | None, most: float) -> Markup:
    if value is None or not isfinite(value):
        return tag("td")
    return _shade_text(cell_text(value), abs(value) / most)


def _shade_text(text: str, share: float) -> Markup:
    return tag("td", text, style=f"--share:{share:.2f}" if share >= 0.005 else None)


MOST_LISTED: Final = 500
"""Number of lines in a list; the others are counted."""

PATH: Final = 500
"""Most characters of the name of a file."""

VALUE: Final = 400
"""Most characters of an answer."""


def runs_table(report: ComparisonReport) -> Markup:
    """Return the runs with their verdicts."""
    rows = [
        tag(
            "tr",
            tag("th", run.label, scope="row"),
            tag("td", tag("code", cut_visible(run.file or run.aggregate or "", PATH))),
            tag("td", cut_visible(run.model or "", NAME)),
            tag(
                "td",
                cut_visible("; ".join([run.verdict, *run.reasons]), 400),
                class_=run.verdict if run.verdict in VERDICTS else None,
            ),
            tag("td", run.rows, class_="number"),
            tag("td", run.samples, class_="number"),
            tag("td", run.without_identity, class_="number"),
        )
        for run in report.runs[:MOST_LISTED]
    ]
    names = ("run", "file", "model", "check", "rows", "samples", "rows without an identity")
    return _table("Runs", names, rows, len(report.runs))


def rankings(report: ComparisonReport) -> Markup | None:
    """Return the ranks of runs, None without any."""
    tables, run_name = [], run_names(report)
    for one in report.rankings:
        rows = [
            tag(
                "tr",
                tag("td", rank.rank),
                tag("th", cut_visible(run_name[rank.label], NAME), scope="row"),
                tag("td", join_groups(rank)),
                tag("td", mean_text(rank.mean, rank.standard_error)),
                tag("td", percent(rank.share)),
            )
            for rank in one.ranks
        ]
        title = f"{cut_visible(one.metric, NAME)}, over {count_noun(one.n, 'shared sample')}"
        names = ("rank", "run", "groups", "mean", "resamples with this rank")
        tables.append([tag("h3", title), _grid(names, rows)])
    return tag("section", tag("h2", "Ranks"), tables) if tables else None


def confounders(report: ComparisonReport) -> Markup | None:
    """Return the settings that differ, None without any."""
    labels = [run.label for run in report.runs[:MOST_LISTED]]
    rows = [
        tag(
            "tr",
            tag("th", cut_visible(one.name, NAME), scope="row"),
            [tag("td", cut_visible(one.values.get(label, ""), VALUE)) for label in labels],
        )
        for one in report.confounders[:MOST_LISTED]
    ]
    title = "Settings that differ, and may explain a difference"
    return _table(title, ("setting", *labels), rows, len(report.confounders)) if rows else None


def drifts_table(report: ComparisonReport) -> Markup | None:
    """Return samples with another input or other references, None without any."""
    rows = [
        _plain_row(
            one.kind,
            _value(one.sample_id_a),
            f"{one.a} {one.line_a:,}",
            _value(one.sample_id_b),
            f"{one.b} {one.line_b:,}",
        )
        for one in report.drifts[:MOST_LISTED]
    ]
    names = ("kind", "sample of the first", "line", "sample of the second", "line")
    title = "Samples with another input (drift) or other references (relabelled)"
    return _table(title, names, rows, report.drifts_in_all) if rows else None


def listing(title: str, texts: Sequence[str]) -> Markup | None:
    """Return a list of texts under a title, None without any."""
    if not texts:
        return None
    lines = [tag("li", cut_visible(text, 1_000)) for text in texts[:MOST_LISTED]]
    left = len(texts) - MOST_LISTED
    more = tag("p", f"and {left:,} more", class_="note") if left > 0 else None
    return tag("section", tag("h2", title), tag("ul", lines), more)


def flip_row(one: Flip) -> Markup:
    """Return the row of a flip."""
    lines = f"{one.a} {one.line_a:,}, {one.b} {one.line_b:,}"
    values = map(_value, (one.answer_a, one.answer_b))
    metric = cut_visible(one.metric, NAME)
    return _plain_row(one.direction, metric, _value(one.sample_id), lines, *values)


def _plain_row(*cells: Child) -> Markup:
    return tag("tr", [tag("td", cell) for cell in cells])


def _value(value: object) -> Markup | None:
    return None if value is None else tag("code", cut_visible(dumps(value).decode(), VALUE))


def _table(title: str, names: Iterable[str], rows: Sequence[Markup], in_all: int) -> Markup:
    left = in_all - len(rows)
    more = tag("p", f"and {left:,} more", class_="note") if left > 0 else None
    return tag("section", tag("h2", title), _grid(names, rows), more)


def _grid(names: Iterable[str], rows: Sequence[Markup]) -> Markup:
    table = tag("table", tag("thead", names_row(names)), tag("tbody", rows), class_="wide")
    return tag("div", table, class_="scroll", tabindex=0)


def names_row(names: Iterable[str]) -> Markup:
    """Return the names of columns."""
    numbers = {"rows", "samples", "rows without an identity"}
    classes = {True: "number", False: None}
    return tag("tr", [tag("th", one, scope="col", class_=classes[one in numbers]) for one in names])
