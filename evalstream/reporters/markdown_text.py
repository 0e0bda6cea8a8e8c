"""Texts in Markdown that show as they are."""

from __future__ import annotations

import re
from typing import Final

from evalstream.reporters.describe import visible

_SPECIAL: Final = re.compile(r"[!-+:-@\[-`{-~.]|(?<![A-Za-z0-9])-|[^\S ]")
"""Punctuation that Markdown, HTML or GitHub may read as markup, and wide spaces."""


def escaped(text: str) -> str:
    """Return a text on one line that Markdown and HTML show as it is."""
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", visible(text))


def as_code(text: str) -> str:
    """Return a text as code that shows as it is."""
    return f"<code>{escaped(text)}</code>"
