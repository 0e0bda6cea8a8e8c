"""The frame of every picture: a described SVG that fills its width, with its labels as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evalstream.reporters.html.markup import Child, Markup, tag


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
