"""A small builder of HTML and SVG that escapes all text but markup, and the head of a page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Final, TypeAlias

VOID: Final = frozenset({"meta", "br", "input"})
"""The elements that have no content and no end tag."""


class Markup(str):
    """Text that is HTML already: only this module and constants make it."""

    __slots__ = ()


Child: TypeAlias = "str | int | Iterable[Child] | None"
"""What an element can hold: markup, text, a number, several of them, or nothing."""

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
    """Return a visible name of a character, as JSON and Python write it."""
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
