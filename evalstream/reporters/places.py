"""Where files are, as platforms name them: relative to the root of a checkout, or by URI."""

from __future__ import annotations

import os
import re
from typing import Final, NamedTuple
from urllib.parse import quote

from evalstream.model.run import HELD_AGGREGATE, HELD_ROWS, STDIN
from evalstream.reporters.describe import STDIN_NAME

_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")

_STRAY_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")

_URL_CHARACTERS: Final = "/:?@!$&'()*+,;=~%"
"""What a URL may hold as it is."""

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
    """Return a path relative to a root that holds it, or None."""
    if path == root:
        return "."
    root = root.rstrip("/") + "/"
    return path[len(root) :] if path.startswith(root) else None


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return "/"
