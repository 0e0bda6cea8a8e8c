"""What an aggregate claims beside what its rows amount to, as figures and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Final

from evalstream.model.report import Figures, ResultSummary, RunSummary
from evalstream.model.text import counted
from evalstream.reporters.charts import Tick, axis, drawing
from evalstream.reporters.html.wording import number
from evalstream.reporters.markup import Markup, cut, tag

RESULTS: Final = 20
"""How many results of a run are shown."""

LABEL: Final = 120
"""How many characters of the name of a result are shown."""

WIDTH: Final = 100.0


def claims(key: str, run: RunSummary) -> Iterator[Markup]:
    """Yield each result with its figures, and how many are not shown."""
    for place, result in enumerate(run.results[:RESULTS]):
        yield _result(f"{key}-r{place}", result)
    more = len(run.results) - RESULTS
    if more > 0:
        note = f"{counted(more, 'more result')} not shown; --format json lists all."
        yield tag("p", note, class_="note")


def _result(key: str, result: ResultSummary) -> Markup:
    label = result.id if result.id is not None else result.name
    shown = cut("(without a name)" if label is None else str(label), LABEL)
    rows = counted(result.rows, "row")
    compared = f"{result.claims_recomputed:,} of {counted(result.claims, 'claim')} compared"
    said = f"{rows}, {compared}" if result.claims else rows
    return tag(
        "section",
        tag("h4", tag("bdi", shown), " ", tag("span", said, class_="note")),
        _table(result.claimed, result.recomputed),
        _picture(key, shown, result),
        class_="result",
    )


def _table(claimed: Figures, recomputed: Figures | None) -> Markup:
    heads = ("", "score", "standard error", "standard deviation", "samples")
    rows = [_row("claimed", claimed)]
    if recomputed is None:
        rows.append(
            tag("tr", tag("th", "recomputed", scope="row"), tag("td", "not recomputed", colspan=4))
        )
    else:
        rows.append(_row("recomputed", recomputed))
        rows.append(_differences(claimed, recomputed))
    head = tag("thead", tag("tr", (tag("th", text, scope="col") for text in heads)))
    return tag("div", tag("table", head, tag("tbody", rows), class_="figures"), class_="scroll")


def _row(label: str, figures: Figures) -> Markup:
    return tag(
        "tr",
        tag("th", tag("i", class_=f"mark {label}", aria_hidden="true"), label, scope="row"),
        (tag("td", number(one)) for one in _columns(figures)),
    )


def _columns(figures: Figures) -> tuple[float | None, ...]:
    return figures.score, figures.standard_error, figures.standard_deviation, figures.samples


def _differences(claimed: Figures, recomputed: Figures) -> Markup:
    pairs = zip(_columns(claimed), _columns(recomputed), strict=True)
    cells = [_difference(theirs, ours) for theirs, ours in pairs]
    return tag("tr", tag("th", "difference", scope="row"), cells)


def _difference(theirs: float | None, ours: float | None) -> Markup:
    """Return the cell that says how far a recomputed figure is from the claimed one."""
    if theirs is None or ours is None:
        return tag("td", "—")
    if theirs == ours:
        return tag("td", "0")
    digits = _decimals(theirs)
    if digits is not None and round(ours, digits) == theirs:
        return tag("td", "rounded", class_="note")
    return tag("td", tag("strong", f"≠ {ours - theirs:+.3g}"), class_="differs")


def _decimals(value: float) -> int | None:
    """Return how many decimals a figure is written with; None with an exponent."""
    text = repr(float(value))
    if not isfinite(value) or "e" in text:
        return None
    return len(text.partition(".")[2])


def _picture(key: str, label: str, result: ResultSummary) -> Markup | None:
    """Return both scores as dots with an interval of one standard error to each side."""
    ours = result.recomputed
    pairs = [("claimed", result.claimed), *([] if ours is None else [("recomputed", ours)])]
    spans = {name: span for name, one in pairs if (span := _span(one)) is not None}
    if not spans:
        return None
    low, high = min(span[0] for span in spans.values()), max(span[2] for span in spans.values())
    room = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
    low, high = low - room, high + room
    if not isfinite(high - low):
        return None
    shapes = [
        _dot(
            name,
            9.0 if name == "claimed" else 23.0,
            tuple(WIDTH * (one - low) / (high - low) for one in span),
        )
        for name, span in spans.items()
    ]
    told = "; ".join(_told(name, one) for name, one in pairs)
    title = f"Claimed and recomputed score of {label}"
    return tag(
        "div",
        drawing(key, title, f"{told}.", shapes, WIDTH, 32, 32),
        axis([Tick(part, number(_rounded(low, high, part))) for part in (0.0, 0.5, 1.0)]),
    )


def _rounded(low: float, high: float, part: float) -> float:
    return float(f"{low + (high - low) * part:.4g}")


def _told(name: str, figures: Figures) -> str:
    error = f" ± {number(figures.standard_error)}" if figures.standard_error is not None else ""
    return f"{name} {number(figures.score, 'no score')}{error}"


def _span(figures: Figures) -> tuple[float, float, float] | None:
    """Return the score with one standard error below and above it; None without a score."""
    score, error = figures.score, figures.standard_error or 0.0
    if score is None or not isfinite(score) or not isfinite(error):
        return None
    return score - abs(error), float(score), score + abs(error)


def _dot(name: str, y: float, places: tuple[float, ...]) -> Markup:
    """Return a dot on its interval; lines without a length stay round when they are stretched."""
    low, middle, high = places
    return tag(
        "g",
        tag("path", d=f"M{low:.3f} {y}H{high:.3f}", class_="whisker"),
        tag("path", d=f"M{middle:.3f} {y}h0.001", class_="dot"),
        tag("path", d=f"M{middle:.3f} {y}h0.001", class_="hole") if name == "claimed" else None,
        class_=name,
    )
