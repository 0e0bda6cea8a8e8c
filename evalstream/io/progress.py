"""A progress bar over the bytes, on stderr; silent when it is not wanted."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Final

TERMINAL_SECONDS: Final = 0.1
LOG_SECONDS: Final = 10.0
"""How often the bar is drawn anew: in a log each time is a line."""


class Progress:
    """Shows bytes, rows and findings so far; does nothing unless `shown`."""

    def __init__(self, *, shown: bool) -> None:
        self._bar: Any = None
        self._shown = shown

    def begin(self, name: str, size: int) -> None:
        """Start a bar for one run of `size` bytes (0 where that is not known)."""
        if not self._shown:
            return
        from tqdm import tqdm

        class Bar(tqdm):  # type: ignore[misc]  # tqdm ships no types
            monitor_interval = 0  # no second thread: workers may be forked after this

        how = {"unit": "B", "unit_scale": True, "file": sys.stderr}
        often = TERMINAL_SECONDS if sys.stderr.isatty() else LOG_SECONDS
        self._bar = Bar(total=size or None, desc=name, mininterval=often, **how)

    def advance(self, size: int, rows: int, findings: int) -> None:
        """Say that `size` more bytes are done, with so many rows and findings in all."""
        self.add(size, rows=rows, findings=findings)

    def add(self, size: int, **counts: int) -> None:
        """Say that `size` more bytes are done, and how much of what else in all."""
        if self._bar is not None:
            if counts:
                self._bar.set_postfix(counts, refresh=False)
            self._bar.update(size)

    def within(self) -> Progress:
        """Return what shows one of several runs on this bar."""
        return _Within(self)

    def end(self) -> None:
        """Finish the bar of this run."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __enter__(self) -> Progress:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish the bar whatever happened."""
        self.end()


class _Within(Progress):
    """Shows one of several runs on the bar of all of them."""

    def __init__(self, whole: Progress) -> None:
        super().__init__(shown=False)
        self._whole = whole

    def advance(self, size: int, rows: int, findings: int) -> None:
        """Say that `size` more bytes of the run are done; its rows are counted at its end."""
        del rows, findings
        self._whole.add(size)
