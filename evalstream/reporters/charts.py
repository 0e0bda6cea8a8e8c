"""The frame of every picture: a described SVG that fills its width, with its labels as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor, isfinite, log10
from typing import NamedTuple

from evalstream.reporters.markup import Child, Markup, tag


class Tick(NamedTuple):
    """A label of the axis: where it is, from 0 (left) to 1 (right), and its text."""

    place: float
    text: str


def drawing(
    key: str,
    title: str,
    description: str,
    shapes: Iterable[Markup],
    width: float,
    height: float,
    pixels: int,
) -> Markup:
    """Return an SVG that is as wide as the page allows and so many pixels high.

    `key` tells the ids of its title and description from those of other pictures. Its shapes
    have the coordinates of `width` and `height`; as these are stretched, it holds no text.
    """
    return tag(
        "svg",
        tag("title", title, id=f"{key}-t"),
        tag("desc", description, id=f"{key}-d"),
        shapes,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.6g} {height:.6g}",
        preserveAspectRatio="none",
        role="img",
        aria_labelledby=f"{key}-t {key}-d",
        style=f"height:{pixels}px",
    )


def axis(ticks: Sequence[Tick]) -> Markup:
    """Return the labels below a picture; the first and the last keep within it."""
    return tag("div", map(_label, ticks), class_="axis", aria_hidden="true")


def round_steps(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers at equal steps between two numbers, at most so many."""
    least = (high - low) / most
    if not isfinite(least) or least <= 0:
        return [low]
    unit = 10.0 ** floor(log10(least))
    step = next(unit * part for part in (1, 2, 2.5, 5, 10, 20) if unit * part > least)
    first = ceil(low / step - 1e-9)
    last = floor(high / step + 1e-9)
    return [float(f"{number * step:.9g}") for number in range(first, last + 1)]


def round_logs(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers between two positive numbers for a logarithmic scale, at most so many.

    Where they are close together these are both numbers themselves.
    """
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for parts, every in (((1, 2, 5), 1), ((1, 3), 1), ((1,), 1), ((1,), 2), ((1,), 4), ((1,), 16)):
        found = [part * 10.0**power for power in powers[::every] for part in parts]
        within = [one for one in found if low * 0.999 <= one <= high * 1.001]
        if len(within) <= most:
            return within if len(within) > 1 else [float(f"{low:.3g}"), float(f"{high:.3g}")]
    return [low, high]


def figure(caption: Child, *parts: Child, class_: str | None = None) -> Markup:
    """Return a picture with its caption above it."""
    return tag("figure", tag("figcaption", caption), *parts, class_=class_)


def rectangle(
    x: float, y: float, width: float, height: float, tip: str, **more: str | float
) -> Markup:
    """Return a rectangle that shows a text under the pointer."""
    return tag("rect", tag("title", tip), x=x, y=y, width=width, height=height, **more)


def _label(tick: Tick) -> Markup:
    side = "start" if tick.place < 0.08 else "end" if tick.place > 0.92 else "middle"
    return tag("span", tick.text, class_=side, style=f"left:{tick.place:.2%}")
