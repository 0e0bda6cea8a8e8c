"""Collect the violations of a block and, at its end, the sketch of its lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from evalstream.engine.result import (
    AlikeLines,
    BlockFindings,
    BlockResult,
    CheckContext,
    LineStatus,
)
from evalstream.model.block import Lines
from evalstream.model.finding import Severity, Violation
from evalstream.model.row_record import RowRecords
from evalstream.parsing.json import UTF8_MARK
from evalstream.rules.syntax import ES107, ES108
from evalstream.stats.sketch import BlockSketcher, RowFigures
from evalstream.stats.tally import Tally

Figures = Callable[[bytes], RowFigures | None]
"""Reads the figures of a row from its line; None if they cannot be read."""

JSON_BLANK: Final = b" \t\r"

_UNCERTAIN: Final = frozenset({ES107.code, ES108.code})
"""After one of these violations the values of a row are uncertain."""

_EMPTY_LINES: Final = re.compile(rb"\n++")


class SketchedFindings(BlockFindings):
    """Collects the violations of a block's lines, and sketches the lines when all are checked.

    Every row is read once more for its figures, whichever path it took; a row that cannot be read
    or whose values are uncertain is a row without figures.
    """

    def __init__(self, context: CheckContext, lines: Lines, figures: Figures) -> None:
        super().__init__(context.options, context.selection, lines.unshown)
        self._lines, self._figures = lines, figures
        self._sketcher = BlockSketcher()

    def add(self, number: int, offset: int, sample: Any, violations: Sequence[Violation]) -> None:
        """Add the violations of a line; `sample` is its sample_id, of any type."""
        super().add(number, offset, sample, violations)
        self._note(range(number, number + 1), violations)
        if not _UNCERTAIN.isdisjoint([violation.code for violation in violations]):
            self._sketcher.doubt(number)

    def count(self, lines: AlikeLines) -> None:
        """Count lines whose violations are not shown."""
        super().count(lines)
        self._note(lines.numbers, lines.violations)

    def count_blank(self, numbers: range, violation: Violation) -> None:
        """Count blank lines that are not shown."""
        super().count_blank(numbers, violation)
        for _, severity in self._keys([violation]):
            self._sketcher.note_only(numbers, severity)

    def lose(self, number: int) -> None:
        """Note a line whose row cannot be read."""
        super().lose(number)
        self._sketcher.doubt(number)

    def result(self, tally: Tally, row_records: RowRecords) -> BlockResult:
        """Return the result of the block after all its lines are checked."""
        sketcher, figures, fates = self._sketcher, self._figures, self.fates
        for number, line in self._each():
            if not sketcher.is_certain(number):
                sketcher.row(number, None)
            elif fates.get(number) is not LineStatus.NOISE and line.strip(JSON_BLANK):
                sketcher.row(number, figures(line))
        sketch = self._sketcher.block(tally.lines)
        return super().result(tally, row_records)._replace(sketch=sketch)

    def _note(self, numbers: Sequence[int], violations: Sequence[Violation]) -> None:
        for severity, times in self._by_severity(violations):
            for number in numbers:
                self._sketcher.note(number, severity, times)

    def _by_severity(self, violations: Sequence[Violation]) -> Iterator[tuple[Severity, int]]:
        yield from Counter(severity for _, severity in self._keys(violations)).items()

    def _each(self) -> Iterator[tuple[int, bytes]]:
        """Iterate over the lines that are not empty, numbered from 1, without newlines."""
        data, base = self._lines[:2]
        start = len(UTF8_MARK) if not base and data.startswith(UTF8_MARK) else 0
        if self._lines.overlong:
            yield 1, b""
            return
        number = 0
        while start < len(data):
            empty = _EMPTY_LINES.match(data, start)
            if empty is not None:
                number, start = number + empty.end() - start, empty.end()
                continue
            stop, number = data.find(b"\n", start), number + 1
            if stop < 0:
                yield number, data[start:]
                return
            yield number, data[start:stop]
            start = stop + 1
