"""Show and write a document that is sealed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from evalstream.io.output import Output, writing

if TYPE_CHECKING:
    from evalstream.model.sealed_text import SealedText


def difference(sealed: SealedText) -> str:
    """Return what the seal changes, as a unified diff."""
    from evalstream.parsing.text_diff import diff_text

    return diff_text(sealed.before or b"", sealed.after, os.path.basename(sealed.path))


def write(sealed: SealedText) -> None:
    """Write the document, completely or not at all. Raises CannotWrite."""
    with writing(sealed.path), Output(sealed.path) as output:
        output.write(sealed.after)
