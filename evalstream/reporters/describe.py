"""Findings, runs and places of files as text for other programs and platforms, and Markdown."""

from __future__ import annotations

import os
import re
import unicodedata
from typing import Final
from urllib.parse import quote

from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Excerpt, Finding
from evalstream.model.run import HELD_AGGREGATE, HELD_ROWS, STDIN
from evalstream.model.run_summary import RunSummary
from evalstream.parsing.json import dumps
from evalstream.reporters.lines import STDIN_NAME

_SPECIAL: Final = re.compile(
    r"[&<>\\`*\[\]|~@$]|[^\S ]"
    r"|(?<![^\W_])_|_(?![^\W_])"  # emphasis, but not within a word
    r"|:(?=//|[\w+-]+:)|(?<=www)\.|#(?=\d)|(?<=gh)-(?=\d)"  # links, emojis and references
    r"|^ *(?:[-+=#]|\d+[.)](?= |$))",  # lists and headings
    re.IGNORECASE,
)
"""Characters that Markdown, HTML or GitHub may read as markup at their place, and wide spaces."""


def visible(text: str) -> str:
    r"""Return a text on one line; what does not print is escaped as in Python, such as `\x1b`.

    So is the first character of what logs of CI read as a command: `::` at the beginning of a
    line, and `##[` anywhere.
    """
    if not text.isprintable():
        text = "".join(
            letter
            if letter.isprintable() or unicodedata.category(letter) == "Zs"
            else letter.encode("unicode_escape").decode()
            for letter in text
        )
    if text.lstrip().startswith("::"):
        text = text.replace(":", "\\x3a", 1)
    return text.replace("##[", "\\x23#[")


def cut_text(text: str, most: int) -> str:
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


def markdown_text(text: str, most: int) -> str:
    """Return a text on one line, cut to so many characters, that Markdown shows as it is."""
    return escape_markup(cut_text(visible(text), most))


def markdown_code(text: str, most: int) -> str:
    """Return a text on one line, cut to so many characters, as code."""
    return as_code(cut_text(visible(text), most))


_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")

_STRAY_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")

_URL_CHARACTERS: Final = "/:?@!$&'()*+,;=~%"
"""Characters that a URL may hold unescaped."""

_NO_FILES: Final = (STDIN, HELD_ROWS, HELD_AGGREGATE)


class Uri(NamedTuple):
    """A URI reference, and whether it is relative to the root."""

    reference: str
    is_below_root: bool


class Places:
    """Says where files are, seen from the root of the checkout.

    The root is GITHUB_WORKSPACE where that names a folder at or above the working directory, and
    else the working directory. Both are read when the object is made.
    """

    def __init__(self) -> None:
        self._here = _working_directory()
        workspace = os.environ.get("GITHUB_WORKSPACE", "")
        roots = [workspace, os.path.realpath(workspace)] if workspace else []
        self.is_workflow = any(_below(self._here, root) is not None for root in roots)
        self._roots = roots if self.is_workflow else [self._here]

    def relative(self, name: str) -> str | None:
        """Return the path of a file from the root; None where it is not below the root."""
        if name in _NO_FILES or _URL.match(name):
            return None
        path = os.path.normpath(os.path.join(self._here, name))
        found = (_below(path, root) for root in self._roots)
        return next((one for one in found if one is not None), None)

    def uri(self, name: str) -> Uri:
        """Return the URI reference of a file, percent-encoded.

        Standard input is the relative reference `%3Cstdin%3E`. A scheme such as `stdin:` would be
        an absolute URI, and code scanning rejects a whole report with a URI of another scheme than
        the checkout has. So in a workflow URLs become relative references, too.
        """
        if name in _NO_FILES:
            return Uri(_quote_path(STDIN_NAME if name == STDIN else name), is_below_root=False)
        if _URL.match(name):
            if self.is_workflow:
                return Uri(_quote_path(name), is_below_root=False)
            whole = quote(name, safe=_URL_CHARACTERS, errors="replace")
            return Uri(_STRAY_PERCENT.sub("%25", whole), is_below_root=False)
        path = self.relative(name)
        if path is not None:
            return Uri(_quote_path(path), is_below_root=True)
        outside = os.path.normpath(os.path.join(self._here, name))
        return Uri(f"file://{_quote_path(outside)}", is_below_root=False)


def _quote_path(path: str) -> str:
    return quote(path, safe="/", errors="replace")


def _below(path: str, root: str) -> str | None:
    if path == root:
        return "."
    root = root.rstrip("/") + "/"
    return path[len(root) :] if path.startswith(root) else None


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return "/"
