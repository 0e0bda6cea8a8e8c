"""The lines below a finding: what it expects and what it found."""

from __future__ import annotations

from typing import Final

from evalstream.model.finding import Excerpt
from evalstream.model.text import on_one_line
from evalstream.reporters.lines import LineWriter, Span, columns
from evalstream.reporters.text.groups import Place, PlacedValues
from evalstream.reporters.text.values import Values

LONGEST: Final = 200
"""How many characters of a value a terminal shows."""

SHORT: Final = 30
"""How many columns the values take that are written beside their file."""


def short_values(place: Place) -> list[Span]:
    """Return the values of a place if they are few and short, to be written beside its file."""
    if len(place.values) != 1 or isinstance(place.values[0].values, Excerpt):
        return []
    expected, found = place.values[0].values
    spans = [*_said("expected", expected), *_said("found", found)]
    if expected and found:
        spans.insert(2, Span(", "))
    return [Span(": "), *spans] if columns(spans) <= SHORT else []


def _said(word: str, value: str) -> list[Span]:
    return [Span(f"{word} ", "dim"), Span(value)] if value else []


def write_values(lines: LineWriter, place: Place, indent: int) -> None:
    """Write what the findings of a place expect and found; the widest lines are indented less."""
    shown = place.values
    if len(shown) > 1 and all(isinstance(one.values, Values) for one in shown):
        founds = [_found_alone(lines, one) for one in shown]
        if all(founds):
            more = ", and other values" if place.has_more_values else ""
            lines.write(Span("found ", "dim"), Span(f"{', '.join(founds)}{more}"), indent=indent)
            return
    for one in shown:
        label = f"{one.label}: " if len(shown) > 1 and one.label else ""
        if isinstance(one.values, Excerpt):
            _write_excerpt(lines, one.values, label, indent)
        else:
            _write_pair(lines, one.values, label, indent)
    if place.has_more_values:
        lines.write(Span("… and other values"), indent=indent)


def _found_alone(lines: LineWriter, one: PlacedValues) -> str:
    """Return a value with its line where nothing is expected, else ""."""
    if isinstance(one.values, Excerpt) or one.values.expected:
        return ""
    found = _cut(lines, one.values.found)
    return found if one.line is None else f"{found} (line {one.line})"


def _write_pair(lines: LineWriter, values: Values, label: str, indent: int) -> None:
    wanted, seen = _cut(lines, values.expected), _cut(lines, values.found)
    expected, found = _said("expected", wanted), _said("found", seen)
    comma = [Span(", ")] if expected and found else []
    whole = [Span(label), *expected, *comma, *found]
    below = [Span("found    ", "dim"), Span(seen)]
    if lines.fits(whole, indent) or not (comma and lines.fits(expected) and lines.fits(below)):
        lines.write(*whole, indent=lines.indented(whole, indent))
        return
    # One above the other, digests can be compared.
    if label:
        lines.write(Span(label.rstrip()), indent=indent)
        indent += 2
    indent = min(lines.indented(expected, indent), lines.indented(below, indent))
    lines.write(*expected, indent=indent)
    lines.write(*below, indent=indent)


def _cut(lines: LineWriter, value: str) -> str:
    """Return the beginning of a long value on a terminal, and say where more of it is."""
    if lines.style.width is None or len(value) <= LONGEST:
        return value
    return f"{value[:LONGEST]}… (-f json shows more)"


def _write_excerpt(lines: LineWriter, excerpt: Excerpt, label: str, indent: int) -> None:
    """Write an excerpt of the rows with a caret below the violation."""
    before = columns([Span(label + on_one_line(excerpt.excerpt[: excerpt.caret]))])
    lines.write(Span(label), Span(excerpt.excerpt), indent=indent, wraps=False)
    lines.write(Span(" " * before), Span("^", "error"), indent=indent, wraps=False)
