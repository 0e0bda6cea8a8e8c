"""Texts in Markdown that show as they are."""

from __future__ import annotations

import re
from typing import Final

from evalstream.reporters.describe import visible

_SPECIAL: Final = re.compile(
    r"[&<>\\`*\[\]|~@$]|[^\S ]"
    r"|(?<![^\W_])_|_(?![^\W_])"  # emphasis, but not within a word
    r"|:(?=//|[\w+-]+:)|(?<=www)\.|#(?=\d)|(?<=gh)-(?=\d)"  # links, emojis and references
    r"|^ *(?:[-+=#]|\d+[.)](?= |$))",  # lists and headings
    re.IGNORECASE,
)
"""What Markdown, HTML or GitHub may read as markup at its place, and wide spaces."""


def escaped(text: str) -> str:
    """Return a text on one line that Markdown and HTML show as it is."""
    return _SPECIAL.sub(lambda found: f"{found[0][:-1]}&#{ord(found[0][-1])};", visible(text))


def as_code(text: str) -> str:
    """Return a text as code that shows as it is."""
    return f"<code>{escaped(text)}</code>"
