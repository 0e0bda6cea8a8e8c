"""Progress bar over bytes, runs, rows and errors, on stderr or in a notebook."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Any, Final

from evalstream.model.text import on_one_line

TERMINAL_SECONDS: Final = 0.1
LOG_SECONDS: Final = 10.0
"""Seconds between two updates of the bar; in a log each update is a line."""

DELAY_SECONDS: Final = 0.5
"""How long a run takes before a terminal shows its bar; short runs show none."""


class Progress(AbstractContextManager["Progress"]):
    """Displays bytes, runs, rows and errors so far; does nothing unless `shown`."""

    def __init__(self, *, shown: bool) -> None:
        self._bar: Any = None
        self._shown = shown

    def begin(self, name: str, size: int) -> None:
        """Start a bar for one run of `size` bytes (0 where the size is not known)."""
        if not self._shown:
            return
        in_notebook = "ipykernel" in sys.modules
        if in_notebook:
            # It loads asyncio as well.
            from tqdm.auto import tqdm
        else:
            from tqdm import tqdm

        class Bar(tqdm):  # type: ignore[misc]  # tqdm ships no types
            monitor_interval = 0  # no second thread: workers may be forked after this

        how = {"unit": "B", "unit_scale": True, "file": sys.stderr}
        if in_notebook:
            how["mininterval"] = TERMINAL_SECONDS
        elif sys.stderr.isatty():
            # The report follows on the same terminal: nothing of the bar stays.
            how |= {"mininterval": TERMINAL_SECONDS, "delay": DELAY_SECONDS, "leave": False}
        else:
            how["mininterval"] = LOG_SECONDS
        self._bar = Bar(total=size or None, desc=on_one_line(name), **how)

    def note(self, text: str) -> None:
        """Write a line outside any bar."""
        if self._shown:
            sys.stderr.write(f"evalstream: {on_one_line(text)}\n")
            sys.stderr.flush()

    def advance(self, size: int, rows: int, errors: int | None = None) -> None:
        """Add `size` bytes, and set the total numbers of rows, and of errors if it is known."""
        self.add(size, rows=rows, **({} if errors is None else {"errors": errors}))

    def add(self, size: int, **counts: int) -> None:
        """Add `size` bytes, and set other totals by name."""
        if self._bar is not None:
            if counts:
                self._bar.set_postfix(counts, refresh=False)
            self._bar.update(size)

    def within(self) -> Progress:
        """Return a progress that displays one of several runs on this bar."""
        return _Within(self)

    def end(self) -> None:
        """Finish the bar of this run."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __exit__(self, *_: object) -> None:
        """Close the bar."""
        self.end()


class _Within(Progress):
    """Displays one of several runs on the bar of all runs."""

    def __init__(self, whole: Progress) -> None:
        super().__init__(shown=False)
        self._whole = whole

    def add(self, size: int, **counts: int) -> None:
        """Add `size` bytes of the run; its rows are counted at its end."""
        del counts
        self._whole.add(size)
