"""A small builder of HTML and SVG that escapes all text but markup, and the head of a page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from math import ceil, floor, isfinite, log10
from typing import Final, TypeAlias

from evalstream.model.data_class import NamedTuple

VOID: Final = frozenset({"meta", "br", "input"})
"""The elements that have no content and no end tag."""


class Markup(str):
    """Text that is HTML already: only this module and constants make it."""

    __slots__ = ()


Child: TypeAlias = "str | int | Iterable[Child] | None"
"""The content of an element: markup, text, a number, several of them, or nothing."""

Value: TypeAlias = "str | int | float | bool | None"
"""The value of an attribute: True for one without a value; False and None leave it out."""


def tag(element: str, /, *children: Child, **attributes: Value) -> Markup:
    """Return an element with its children; `class_` and `aria_label` name attributes."""
    named = "".join(_attribute(key, value) for key, value in attributes.items())
    if element in VOID:
        return Markup(f"<{element}{named}>")
    return Markup(f"<{element}{named}>{join_markup(*children)}</{element}>")


def join_markup(*children: Child) -> Markup:
    """Return the children one after the other, their texts escaped."""
    return Markup("".join(map(_escape_child, children)))


def visible_text(text: str) -> str:
    """Replace each character that does not print, or that turns text around, with its escape."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _show_character(one) for one in text)


def cut_visible(text: str, limit: int) -> str:
    """Return a text of at most so many visible characters; a longer one is cut and says so."""
    beginning = visible_text(text[: limit + 1])
    if len(text) <= limit and len(beginning) <= limit:
        return beginning
    return f"{beginning[:limit]}… ({len(text):,} characters)"


def _escape_child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return _disarm_commands(escape(visible_text(child), quote=False))
    if isinstance(child, int):
        return f"{child:,}"
    return "".join(map(_escape_child, child))


def _attribute(key: str, value: Value) -> str:
    """Return an attribute with a space before it; "" for one that is left out."""
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    shown = f"{value:.6g}" if isinstance(value, float) else visible_text(str(value))
    return f' {name}="{_disarm_commands(escape(shown))}"'


def _disarm_commands(text: str) -> str:
    """Escape what logs of CI read as a command anywhere in a line."""
    return text.replace("##[", "#&#35;[")


def _show_character(letter: str) -> str:
    number = ord(letter)
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(letter)
    if short is not None:
        return short
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


START: Final = '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
GENERATOR: Final = '<meta name="generator" content="evalstream '

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""A page may use the style in it, and load and run nothing."""


def policy(script: str) -> str:
    """Return the policy of a page, which runs one script at most."""
    if not script:
        return POLICY
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return f"{POLICY}; script-src 'sha256-{digest}'"


def read_source(name: str) -> str:
    """Return the text of a style file or script of the pages."""
    return files(__package__).joinpath(name).read_text("utf-8")


def head(title: str, *more: str, script: str = "") -> Iterator[str]:
    """Yield the head of a page in pieces; `more` are names of further style files."""
    yield tag("meta", http_equiv="Content-Security-Policy", content=policy(script)) + "\n"
    yield tag("meta", name="viewport", content="width=device-width, initial-scale=1") + "\n"
    yield tag("meta", name="color-scheme", content="light dark") + "\n"
    yield tag("meta", name="referrer", content="no-referrer") + "\n"
    yield tag("title", title) + "\n"
    yield f"<style>\n{''.join(map(read_source, ('page.css', *more)))}</style>\n"


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


def format_number(value: float | None) -> str:
    """Return a number with six significant digits, as all numbers of the page have."""
    if value is None:
        return "—"
    if isfinite(value) and value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    return f"{value:.6g}"


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
