"""Notices on stderr that a program shows, and a library does not: why it waits."""

from __future__ import annotations

import sys
from typing import Final


class Notices:
    """Writes lines to stderr once `listen` was called, so programs that use the package decide."""

    def __init__(self) -> None:
        self._is_shown = False

    def listen(self) -> None:
        """Show notices from now on."""
        self._is_shown = True

    def show(self, text: str) -> None:
        """Write a line, if notices are shown."""
        if self._is_shown:
            sys.stderr.write(f"evalstream: {text}\n")
            sys.stderr.flush()


NOTICES: Final = Notices()
"""The one instance: stderr belongs to the whole process."""
