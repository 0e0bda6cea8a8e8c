"""Parts of findings and runs as text for reports that other programs read, and as Markdown."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from evalstream.model.finding import Excerpt, Finding
from evalstream.model.report import RunSummary
from evalstream.model.run import STDIN
from evalstream.parsing.json import dumps

_SPECIAL: Final = re.compile(
    r"[&<>\\`*\[\]|~@$]|[^\S ]"
    r"|(?<![^\W_])_|_(?![^\W_])"  # emphasis, but not within a word
    r"|:(?=//|[\w+-]+:)|(?<=www)\.|#(?=\d)|(?<=gh)-(?=\d)"  # links, emojis and references
    r"|^ *(?:[-+=#]|\d+[.)](?= |$))",  # lists and headings
    re.IGNORECASE,
)
"""What Markdown, HTML or GitHub may read as markup at its place, and wide spaces."""

STDIN_NAME: Final = "<stdin>"
"""The name of standard input in reports."""


def visible(text: str) -> str:
    r"""Return a text on one line; what does not print is escaped as in Python, such as `\x1b`.

    So is the first character of what logs of CI read as a command: `::` at the beginning of a
    line, and `##[` anywhere.
    """
    if not text.isprintable():
        text = "".join(
            letter
            if letter.isprintable() or unicodedata.category(letter) == "Zs"
            else _escape(letter)
            for letter in text
        )
    if text.lstrip().startswith("::"):
        text = text.replace(":", "\\x3a", 1)
    return text.replace("##[", "\\x23#[")


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def shorten(text: str, most: int) -> str:
    """Return a text of at most this many characters; an ellipsis shows that it was cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def file_name(file: str) -> str:
    """Return the name of a file on one line."""
    return STDIN_NAME if file == STDIN else visible(file)


def run_name(run: RunSummary) -> str:
    """Return the names of a run's documents on one line."""
    named = [file_name(name) for name in (run.file, run.aggregate, run.inputs) if name]
    return " with ".join(filter(None, [*named[:1], " and ".join(named[1:])]))


def describe_values(finding: Finding) -> str:
    """Return `expected …, found …` with the values as JSON; empty where there are none."""
    shown = finding.as_dict()
    if isinstance(finding.found, Excerpt):
        shown["found"] = finding.found.excerpt
    parts = [
        f"{key} {dumps(shown[key]).decode(errors='replace')}"
        for key in ("expected", "found")
        if key in shown
    ]
    return visible(", ".join(parts))


def escape_markup(text: str) -> str:
    """Return a text on one line that Markdown and HTML show as it is."""
    return _SPECIAL.sub(lambda found: f"{found[0][:-1]}&#{ord(found[0][-1])};", visible(text))


def as_code(text: str) -> str:
    """Return a text as code that shows as it is."""
    return f"<code>{escape_markup(text)}</code>"
