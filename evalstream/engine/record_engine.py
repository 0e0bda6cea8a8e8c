"""Check one block of records of a format without rows: each line by the format's checker."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from evalstream.engine.result import (
    BlockFindings,
    BlockResult,
    CheckContext,
    LineStatus,
    LineViolations,
    SketchedFindings,
)
from evalstream.model.block import Lines
from evalstream.model.finding import Violation
from evalstream.model.row_record import RowRecords
from evalstream.parsing import json
from evalstream.parsing.json_values import fast_or_none
from evalstream.rules import syntax
from evalstream.rules.inputs import ES003, noise_check
from evalstream.rules.syntax import newline_missing
from evalstream.stats.tally import Tally

if TYPE_CHECKING:
    from evalstream.model.sample_record import GroupLabel, SampleRow
    from evalstream.stats.sample_digests import SampleBatch
    from evalstream.stats.sketch import RowFigures


class RecordChecker(Protocol):
    """Checks records of a format without rows, one by one and in order.

    Two checkers are never equal: each keeps the state of its records. They run in the process
    that made them. `noun` is the name of a record, with its article.
    """

    @property
    def noun(self) -> str:
        """The name of a record, with its article."""

    def take(self, start: int, line: int) -> tuple[int, int]:
        """Take sound records from the line that begins at `start`, whose number is `line`.

        Returns the place behind them, and how many there are: 0 leaves the first one to the other
        methods.
        """

    def violations(
        self, record: Mapping[str, Any], line: int, *, certain: bool
    ) -> Iterable[Violation]:
        """Return the violations of a record; its values are reliable only if `certain`.

        `line` counts from 1 in the block.
        """

    def sample(self, record: Mapping[str, Any]) -> Any:
        """Return the record's sample id, of any JSON type."""

    def figures(self, record: Mapping[str, Any]) -> RowFigures:
        """Return what a sketch shows of a record."""

    def samples(
        self, record: Mapping[str, Any], line: int, offset: int, *, certain: bool
    ) -> Iterable[tuple[GroupLabel, SampleRow]]:
        """Return what a comparison reads of a record, one sample for each of its scores.

        It is called only if samples are asked for. `line` counts from 1 in the block, and `offset`
        is that of the record in the unpacked file.
        """


class RecordContext(CheckContext, frozen=True):
    """The context of records: `record` checks them and keeps all state about them."""

    record: RecordChecker | None = None

    @property
    def is_ordered(self) -> bool:
        """Return True: a checker must see all records itself, in order."""
        return True

    def checker(self) -> RecordEngine:
        """Return the checker of these records' blocks."""
        if self.record is None:
            raise TypeError("a record context needs a record checker")
        return RecordEngine(self, self.record)


class RecordEngine:
    """Checks records as the row engine checks rows; only its record checker keeps state."""

    def __init__(self, context: CheckContext, record: RecordChecker) -> None:
        self.context, self.record = context, record
        self.is_noise = noise_check(context.options)
        # The exact reader applies a limit below the parser's own depth.
        self._shallow = context.options.max_depth < json.FAST_DEPTH

    def run(self, lines: Lines) -> BlockResult:
        """Check whole lines of an input; they follow the lines checked before."""
        return _Pass(self, lines).result()

    def expect(self, size: int) -> None:
        """Do nothing: there is nothing to prepare for `size` more bytes."""

    def is_native(self, _sample: bytes) -> bool:
        """Return False: records are checked in Python."""
        return False

    def findings(self, lines: Lines) -> BlockFindings:
        """Return what collects the violations of a block, and its sketch if it is asked for."""
        if not self.context.options.sketches:
            return BlockFindings(self.context.options, self.context.selection, lines.unshown)
        return SketchedFindings(self.context, lines, self._figures)

    def _figures(self, line: bytes) -> RowFigures | None:
        """Return the figures of a record, or None if its line cannot be parsed quickly."""
        record = fast_or_none(line)
        return self.record.figures(record) if record.__class__ is dict else None

    def read(self, line: bytes, offset: int, *, torn: bool) -> syntax.ObjectReading:
        """Read a line that must hold a record."""
        if not self._shallow:
            value = fast_or_none(line)
            if value.__class__ is dict and json.is_finite(value):
                return syntax.ObjectReading(value, [])
        depth, noun = self.context.options.max_depth, self.record.noun
        return syntax.read_object(line, depth, torn=torn, noun=noun, offset=offset)

    def judge_record(
        self, reading: syntax.ObjectReading, line: int
    ) -> tuple[dict[str, Any] | None, list[Violation]]:
        """Return the record of a line, or None, and all its violations."""
        violations = [one.violation for one in reading.violations]
        if reading.value is None:
            return None, violations
        try:
            said = list(self.record.violations(reading.value, line, certain=is_certain(reading)))
        except RecursionError:
            return None, [*violations, syntax.ES113.violation("nested too deep to be checked")]
        return reading.value, [*violations, *reading.filter_violations(said)]


def is_certain(reading: syntax.ObjectReading) -> bool:
    """Return whether the values of a record are those that were written.

    They are not after a repeated key, and where a number that is not finite was replaced.
    """
    return not any(
        violation.code == syntax.ES107.code
        or (violation.code == syntax.ES108.code and violation.pointer in reading.replaced)
        for violation in (one.violation for one in reading.violations)
    )


class _Pass:
    """One pass over one block."""

    def __init__(self, engine: RecordEngine, lines: Lines) -> None:
        self._engine, self._lines = engine, lines
        self._longest = engine.context.options.max_line_bytes
        self._places = array("Q", lines.places)[1::2] if lines.places else None
        self._noted = engine.findings(lines)
        self._tally = Tally()
        self._samples: SampleBatch | None = None
        if engine.context.options.samples:
            from evalstream.stats.sample_digests import SampleBatch

            self._samples = SampleBatch()

    def result(self) -> BlockResult:
        """Check every line once."""
        for line, start, torn in self._each():
            self._tally.lines += 1
            number = self._tally.lines
            offset = start if self._places is None else self._places[number - 1]
            if len(line) > self._longest or self._lines.overlong:
                self._lose(number)
                message = f"longer than {self._longest:,} bytes; it was not checked"
                self._noted.add(LineViolations(number, offset, None, [ES003.violation(message)]))
            elif not line.strip(json.BLANK):
                self._end(line, number, torn=torn)
                blank = [syntax.ES110.violation("a blank line")]
                self._noted.add(LineViolations(number, offset, None, blank))
            else:
                self._look(line, number, offset, torn=torn)
        self._noted.violations.sort(key=lambda located: (located.line, located.violation.code))
        result = self._noted.result(self._tally, RowRecords(b""))
        return result if self._samples is None else result._replace(samples=self._samples.take())

    def _each(self) -> Iterator[tuple[bytes, int, bool]]:
        """Iterate over lines without newlines, their offsets, and whether a newline is missing."""
        data, base, final = self._lines[:3]
        start = 0
        if not base and data.startswith(json.UTF8_MARK):
            start = len(json.UTF8_MARK)
            mark = [syntax.ES102.violation(syntax.BEGINS_WITH_MARK)]
            self._noted.add(LineViolations(1, 0, None, mark))
        take = self._engine.record.take
        while start < len(data):
            start, taken = take(start, self._tally.lines + 1)
            if taken:
                self._tally.lines += taken
                self._tally.rows += taken
                continue
            stop = data.find(b"\n", start)
            if stop < 0:
                yield data[start:], base + start, final
                return
            yield data[start:stop], base + start, False
            start = stop + 1

    def _look(self, line: bytes, number: int, offset: int, *, torn: bool) -> None:
        """Check a line that is not blank."""
        reading = self._engine.read(line, offset, torn=torn)
        is_valid = reading.value is not None and not reading.violations
        if not is_valid and self._engine.is_noise(line):
            self._tally.noise.add(None, number)
            self._noted.fates[number] = LineStatus.NOISE
            self._end(line, number, torn=torn)
            return
        record, violations = self._engine.judge_record(reading, number)
        if record is None:
            self._lose(number)
        else:
            self._tally.rows += 1
            self._sample(record, number, offset, certain=is_certain(reading))
            if torn:
                violations.append(newline_missing())
        self._end(line, number, torn=torn)
        sample = None if record is None else self._engine.record.sample(record)
        self._noted.add(LineViolations(number, offset, sample, violations))

    def _sample(
        self, record: Mapping[str, Any], number: int, offset: int, *, certain: bool
    ) -> None:
        """Add a record to those of a comparison with other runs, if that is asked for."""
        if self._samples is not None:
            samples = self._engine.record.samples(record, number, offset, certain=certain)
            for label, row in samples:
                self._samples.add(label, row)

    def _end(self, line: bytes, number: int, *, torn: bool) -> None:
        if not torn and line.endswith(b"\r"):
            self._tally.carriage_returns.add(None, number)

    def _lose(self, number: int) -> None:
        """Count a record that cannot be read."""
        self._tally.rows += 1
        self._tally.unread += 1
        self._noted.lose(number)
