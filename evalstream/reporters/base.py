"""What every reporter offers, and what it writes to."""

from __future__ import annotations

from typing import Protocol

from evalstream.model.finding import Finding
from evalstream.model.report import Report


class Sink(Protocol):
    """What a report is written to: a file, or a standard stream."""

    def write(self, data: str | bytes, /) -> None:
        """Write text, or bytes of UTF-8. Raises OSError."""


class Reporter(Protocol):
    """Takes findings one by one and then the outcome."""

    def finding(self, finding: Finding) -> None:
        """Take one finding; they come in order."""

    def finish(self, report: Report) -> None:
        """Take the outcome and write what is left to write."""
