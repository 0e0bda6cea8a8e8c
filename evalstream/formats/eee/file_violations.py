"""The violations of the two files of a run, as opposed to those of single rows."""

from __future__ import annotations

from collections.abc import Iterable

from evalstream.formats.eee.context import RowContext
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import PlacedViolation, Violation

Key = tuple[str, str | None]


class FileViolations(NamedTuple):
    """The violations of the rows file, and those of the aggregate with their lines."""

    rows: list[Violation]
    aggregate: list[PlacedViolation]

    def keys(self) -> set[Key]:
        """Return the keys of all violations."""
        return {violation_key(violation) for violation in self._all()}

    def failing(self, context: RowContext) -> list[Violation]:
        """Return the violations that fail a run."""
        selection, threshold = context.selection, context.options.threshold
        return [
            violation
            for violation in self._all()
            if violation.code in context.enabled_codes
            and selection.fails(violation.code, selection.severity(violation), threshold)
        ]

    def with_those(self, violations: Iterable[Violation]) -> FileViolations:
        """Return the violations with others, which replace those at the same places."""
        added = list(violations)
        keys = {violation_key(violation) for violation in added}
        rows = [violation for violation in self.rows if violation_key(violation) not in keys]
        aggregate = [
            placed for placed in self.aggregate if violation_key(placed.violation) not in keys
        ]
        rows += [violation for violation in added if violation.about_rows]
        aggregate += [PlacedViolation(violation) for violation in added if not violation.about_rows]
        return FileViolations(rows, aggregate)

    def _all(self) -> list[Violation]:
        return [*self.rows, *(placed.violation for placed in self.aggregate)]


def violation_key(violation: Violation) -> Key:
    """Return the key of a violation: its code and its place."""
    return violation.code, violation.pointer
