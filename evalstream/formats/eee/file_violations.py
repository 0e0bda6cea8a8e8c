"""What is wrong with the two files of a run as a whole, beside what is wrong with single rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from evalstream.model.finding import PlacedViolation, Violation
from evalstream.rules.base import CheckContext
from evalstream.rules.catalogue import severity_of

Key = tuple[str, str | None]


class FileViolations(NamedTuple):
    """The faults of the rows file, and those of the aggregate with their lines."""

    rows: list[Violation]
    aggregate: list[PlacedViolation]

    def keys(self) -> set[Key]:
        """Return what tells each fault."""
        return {key_of(fault) for fault in self._all()}

    def failing(self, context: CheckContext) -> list[Violation]:
        """Return the faults that fail a run."""
        options = context.options
        return [
            fault
            for fault in self._all()
            if fault.code in context.enabled
            and severity_of(fault, options.profile) >= options.threshold
        ]

    def with_those(self, faults: Iterable[Violation]) -> FileViolations:
        """Return the faults with others, which replace what was said at the same places."""
        added = list(faults)
        keys = {key_of(fault) for fault in added}
        rows = [fault for fault in self.rows if key_of(fault) not in keys]
        aggregate = [placed for placed in self.aggregate if key_of(placed.fault) not in keys]
        rows += [fault for fault in added if fault.about_rows]
        aggregate += [PlacedViolation(fault) for fault in added if not fault.about_rows]
        return FileViolations(rows, aggregate)

    def _all(self) -> list[Violation]:
        return [*self.rows, *(placed.fault for placed in self.aggregate)]


def key_of(fault: Violation) -> Key:
    """Return what tells a fault from others: its code, and the place that it is about."""
    return fault.code, fault.pointer
