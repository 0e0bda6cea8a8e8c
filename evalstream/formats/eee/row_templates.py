"""The schema violations of rows that deviate from their schema alike, explained once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from evalstream.formats.eee.row_reader import RowReader
from evalstream.model.finding import Violation
from evalstream.parsing.json import resolve_pointer

Key = tuple[Any, bytes]
"""The declared version of rows where it is unknown, and their signature."""

MOST_TEMPLATES: Final = 1 << 10
"""How many templates are kept; untrusted files may have any number of signatures."""

SHARED: Final = 0
"""The shape of a template that holds for every shape."""


class Template(NamedTuple):
    """The schema violations of a row, and the same for every row like it but for `found`."""

    violations: Sequence[Violation]

    def fill(self, row: Any) -> list[Violation]:
        """Return the violations of another row with the same template."""
        return [
            violation
            if violation.found is None
            else violation._replace(found=resolve_pointer(row, violation.pointer or ""))
            for violation in self.violations
        ]


SOUND: Final = Template(())


class RowTemplates:
    """The templates of a context by signature, and by shape where the other versions matter.

    Rows with equal signatures have the same errors under their own schema. Which other versions fit
    them depends on the whole row; if that is not already decided by the errors, on its shape.
    """

    def __init__(self, reader: RowReader) -> None:
        self._reader = reader
        self._templates: dict[Key, dict[int, Template]] = {}
        self._kept = 0

    def find_template(self, key: Key, shape: int) -> Template | None:
        """Return the template of a row, None if no row like it was explained yet."""
        by_shape = self._templates.get(key)
        return None if by_shape is None else by_shape.get(SHARED) or by_shape.get(shape or 1)

    def made(self, key: Key, shape: int, row: Any) -> Template:
        """Explain a row, and return its template."""
        if self._kept >= MOST_TEMPLATES:
            self._templates.clear()
            self._kept = 0
        violations, depends_on_shape = self._reader.schema_violations(row)
        template = Template(violations)
        place = (shape or 1) if depends_on_shape else SHARED
        self._templates.setdefault(key, {})[place] = template
        self._kept += 1
        return template

    def is_shared(self, key: Key) -> bool:
        """Tell whether one template holds for all rows of a signature."""
        return SHARED in self._templates.get(key, ())
