"""The frame of a page: the beginning and the head that all pages have, with the style."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Final

from evalstream.reporters.markup import tag

START: Final = '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
GENERATOR: Final = '<meta name="generator" content="evalstream '

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""A page may use the style in it, and load nothing."""


def head(title: str, *more: str) -> Iterator[str]:
    """Yield the head of a page in pieces; `more` are names of further style files."""
    yield tag("meta", http_equiv="Content-Security-Policy", content=POLICY) + "\n"
    yield tag("meta", name="viewport", content="width=device-width, initial-scale=1") + "\n"
    yield tag("meta", name="color-scheme", content="light dark") + "\n"
    yield tag("meta", name="referrer", content="no-referrer") + "\n"
    yield tag("title", title) + "\n"
    folder = files(__package__)
    texts = (folder.joinpath(name).read_text("utf-8") for name in ("page.css", *more))
    yield f"<style>\n{''.join(texts)}</style>\n"
