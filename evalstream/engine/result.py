"""What checks a block of rows, and its result: violations in order, a tally, lines' status."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, Protocol

from evalstream.model.block import Lines
from evalstream.model.data_class import DataClass, NamedTuple, field
from evalstream.model.finding import CountKey, Excerpt, Values, Violation
from evalstream.model.options import Options
from evalstream.model.row_record import RowRecords
from evalstream.parsing import json
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.rules.base import Where
from evalstream.rules.catalogue import Selection
from evalstream.rules.syntax import ES107, ES108, ES110
from evalstream.stats.duplicates import DuplicateMatch
from evalstream.stats.tally import Tally

if TYPE_CHECKING:
    from evalstream.model.sample_record import BlockSamples
    from evalstream.stats.run_links import LinkKey
    from evalstream.stats.sketch import BlockSketch, RowFigures


Counts = dict[CountKey, int]
"""Occurrences by code and severity."""


class LocatedViolation(NamedTuple):
    """A violation with its line (from 1 within the block), byte offset and sample.

    Lines may share a violation; `values`, if there are any, then replace those that it has.
    """

    line: int
    offset: int
    sample_id: str | int | None
    violation: Violation
    values: Values | None = None


class LineStatus(IntEnum):
    """The status of a line that is neither blank nor a sound row."""

    REJECTED = 1
    NOISE = 2


class LineViolations(NamedTuple):
    """The violations of one line: its number, its offset and its sample_id, of any type.

    If the violations are reported, in order and as they are shown, `keys` has code and severity of
    each; and `values`, or None, what replaces its values.
    """

    number: int
    offset: int
    sample: Any
    violations: Sequence[Violation]
    keys: Sequence[CountKey] | None = None
    values: Sequence[Values | None] = ()


class AlikeLines(NamedTuple):
    """Lines with violations of the same codes and severities, none of which is shown.

    `numbers` are left out where the findings do not need them.
    """

    times: int
    keys: Sequence[CountKey]
    numbers: Sequence[int] = ()


class TakenRows(NamedTuple):
    """Lines of a block up to the one that starts at `stop`, and which of them were taken.

    `records` holds the records of the taken rows, in order. `left` holds, for each other line, its
    index among all lines (from 0), its start and its end. `violations` are those of taken rows that
    may be shown, in the order of lines, `alike` those of the other taken rows. Rules in Python were
    asked about `doubtful` of the taken rows.
    """

    stop: int
    lines: int
    records: bytes
    left: Sequence[tuple[int, int, int]]
    violations: Sequence[LineViolations] = ()
    alike: Sequence[AlikeLines] = ()
    doubtful: int = 0


class BlockResult(NamedTuple):
    """The result of checking a block.

    `violations` are in order of line, code and pointer, and hold at most `max_findings` per code
    and severity (all with 0, and if rows are rejected); `counts` is exact. `fates` gives, by line
    from 1, the status of lines that are not accepted, if rows are split. `links` holds the words
    that link rows to those of other runs, if they are collected. `sketch` is what its lines amount
    to, and `samples` are its rows for a comparison, if they are asked for. `own` is what a format
    adds up itself.
    """

    violations: list[LocatedViolation]
    counts: Counts
    tally: Tally
    row_records: RowRecords
    fates: Mapping[int, LineStatus]
    links: Sequence[tuple[LinkKey, bytes]] = ()
    sketch: BlockSketch | None = None
    samples: BlockSamples | None = None
    own: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle violations by columns, and those that lines share once, which takes less time."""
        lines, offsets, samples, shared, values = (
            tuple(zip(*self.violations, strict=True)) or ((),) * 5
        )
        numbers = {id(one): number for number, one in enumerate(shared)}
        columns = (
            array("Q", lines),
            array("Q", offsets),
            samples,
            array("Q", [numbers[id(one)] for one in shared]),
            {number: tuple(shared[number]) for number in numbers.values()},
            values,
        )
        return _restore_result, (columns, self[1:])


def _restore_result(columns: Sequence[Any], others: Sequence[Any]) -> BlockResult:
    lines, offsets, samples, numbers, shared, values = columns
    violations = {number: Violation._make(one) for number, one in shared.items()}
    located = map(violations.__getitem__, numbers)
    return BlockResult([*map(LocatedViolation, lines, offsets, samples, located, values)], *others)


class BlockFindings:
    """Collects the violations of a block's lines, their counts, and the lines' status.

    `needs_numbers` says that it wants the number of each line, also of those that are not shown.
    """

    def __init__(
        self, options: Options, selection: Selection, unshown: Set[CountKey] = frozenset()
    ) -> None:
        self._selection, self._options = selection, options
        self._most = 0 if self._options.routing.rejected else self._options.max_findings
        self._unshown = unshown if self._most else frozenset[CountKey]()
        self._threshold = self._options.threshold
        self._splits_rows = self._options.routing.splits_rows or self._options.skip_noise
        self.needs_numbers = self._splits_rows or self._options.sketches
        self.violations: list[LocatedViolation] = []
        self.counts: Counts = {}
        self.fates: dict[int, LineStatus] = {}

    def prepare(self, violations: Sequence[Violation]) -> tuple[list[Violation], list[CountKey]]:
        """Return the violations of a line that are reported, in order, with their keys."""
        enabled, severity = self._selection.enabled, self._selection.severity
        reported = [one for one in violations if one.code in enabled]
        if len(reported) > 1:
            reported.sort(key=Violation.order)
        return reported, [(one.code, severity(one)) for one in reported]

    def add(self, line: LineViolations) -> Sequence[CountKey]:
        """Add the violations of a line; return code and severity of each that is reported."""
        number, offset, sample, violations, keys, values = line
        is_long, sample = keys is None, _sample(sample)
        if keys is None:
            violations, keys = self.prepare(violations)
            values = [None] * len(keys)
        for violation, key, both in zip(violations, keys, values, strict=True):
            count = self.counts.get(key, 0) + 1
            self.counts[key] = count
            if key not in self._unshown and (not self._most or count <= self._most):
                shown = self.shorten(violation) if is_long else violation
                self.violations.append(LocatedViolation(number, offset, sample, shown, both))
        if self._splits_rows and any(self._rejects(key) for key in keys):
            self.fates[number] = LineStatus.REJECTED
        return keys

    def shorten(self, violation: Violation) -> Violation:
        """Return a violation as it is shown."""
        return shorten_values(violation, self._options, self._selection)

    def lose(self, number: int) -> None:
        """Note a line whose row cannot be read."""
        self.fates[number] = LineStatus.REJECTED

    def room(self) -> Room:
        """Return how many more violations are shown."""
        return Room(self._most, {**self.counts}, self._unshown)

    def count(self, lines: AlikeLines) -> None:
        """Count lines whose violations are not shown."""
        for key in lines.keys:
            self.counts[key] = self.counts.get(key, 0) + lines.times
            if self._splits_rows and self._rejects(key):
                self.fates.update(dict.fromkeys(lines.numbers, LineStatus.REJECTED))

    def count_blank(self, numbers: range, violation: Violation) -> None:
        """Count blank lines that are not shown; they do not count as rejected rows."""
        for key in self.prepare([violation])[1]:
            self.counts[key] = self.counts.get(key, 0) + len(numbers)

    def _rejects(self, key: CountKey) -> bool:
        """Tell whether a row with a violation is rejected; blank lines are not rows."""
        return key[0] != ES110.code and self._selection.fails(*key, self._threshold)

    def result(self, tally: Tally, row_records: RowRecords) -> BlockResult:
        """Return the result of the block after all its lines are checked."""
        fates = self.fates if self._splits_rows else {}
        return BlockResult(self.violations, self.counts, tally, row_records, fates)


class Room:
    """How many more violations of each code and severity a block shows, unless it shows all."""

    def __init__(self, most: int, counts: Counts, unshown: Set[CountKey]) -> None:
        self._most, self._counts, self._unshown = most, counts, unshown
        self.is_endless = not most

    def of(self, keys: Sequence[CountKey]) -> int:
        """Return for how many lines with these violations there is room, if it has an end."""
        shown = [self._counts.get(key, 0) for key in keys if key not in self._unshown]
        return max(0, self._most - min(shown, default=self._most))

    def take(self, keys: Sequence[CountKey]) -> None:
        """Count one line with these violations."""
        for key in keys:
            self._counts[key] = self._counts.get(key, 0) + 1


def shorten_values(violation: Violation, options: Options, selection: Selection) -> Violation:
    """Cut the values of a violation short, or hide those of the data."""
    found, expected = violation.found, violation.expected
    if not options.show_values:
        found = None
        if selection.expects_data(violation.code):
            expected = None
    if not isinstance(found, Excerpt):
        found = json.shorten(found)
    expected = json.shorten(expected)
    if found is violation.found and expected is violation.expected:
        return violation
    return violation._replace(found=found, expected=expected)


def _sample(sample: Any) -> str | int | None:
    if isinstance(sample, bool) or not isinstance(sample, (str, int)):
        return None
    shown: str | int = json.shorten(sample)
    return shown


class BlockChecker(Protocol):
    """Checks blocks: a pure function of the bytes and of its context."""

    def run(self, lines: Lines) -> BlockResult:
        """Check whole lines of an input."""

    def expect(self, size: int) -> None:
        """Prepare for `size` more bytes, before workers are forked."""

    def is_native(self, sample: bytes) -> bool:
        """Tell whether compiled code does most work on rows like the first ones of an input."""


class CheckContext(DataClass, frozen=True):
    """Everything known before the rows are read; each format adds what its rules need.

    Equal contexts give equal results. A context is hashable and can be pickled, as workers receive
    it with each block. `selection` holds the rules that are reported. With `links` the check
    collects the words that link rows to those of other runs.
    """

    options: Options
    selection: Selection = field(default_factory=Selection)
    links: bool = False

    @property
    def enabled_codes(self) -> frozenset[str]:
        """The codes that are reported."""
        return self.selection.enabled

    @property
    def is_ordered(self) -> bool:
        """Whether this process must check all blocks itself, in order."""
        return False

    def checker(self) -> BlockChecker:
        """Return the checker of this context's blocks, compiled once per process."""
        raise NotImplementedError

    def duplicate(self, match: DuplicateMatch, where: Where) -> Violation:
        """Return the violation of a row that matches an earlier one."""
        raise NotImplementedError


UNCERTAIN: Final = frozenset({ES107.code, ES108.code})
"""After one of these violations the values of a row are uncertain."""

_EMPTY_LINES: Final = LazyPattern(rb"\n++")


class SketchedFindings(BlockFindings):
    """Collects the violations of a block's lines, and sketches the lines when all are checked.

    Every row is read once more for its figures, whichever path it took; a row that cannot be read
    or whose values are uncertain is a row without figures. `figures` reads those of a line, or
    returns None.
    """

    def __init__(
        self, context: CheckContext, lines: Lines, figures: Callable[[bytes], RowFigures | None]
    ) -> None:
        super().__init__(context.options, context.selection, lines.unshown)
        self._lines, self._figures = lines, figures
        from evalstream.stats.sketch import BlockSketcher

        self._sketcher = BlockSketcher()

    def add(self, line: LineViolations) -> Sequence[CountKey]:
        """Add the violations of a line; return code and severity of each that is reported."""
        number, keys = line.number, super().add(line)
        self._note(range(number, number + 1), keys)
        if not UNCERTAIN.isdisjoint([violation.code for violation in line.violations]):
            self._sketcher.doubt(number)
        return keys

    def count(self, lines: AlikeLines) -> None:
        """Count lines whose violations are not shown."""
        super().count(lines)
        self._note(lines.numbers, lines.keys)

    def count_blank(self, numbers: range, violation: Violation) -> None:
        """Count blank lines that are not shown."""
        super().count_blank(numbers, violation)
        for _, severity in self.prepare([violation])[1]:
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
            elif fates.get(number) is not LineStatus.NOISE and line.strip(json.BLANK):
                sketcher.row(number, figures(line))
        sketch = self._sketcher.block(tally.lines)
        return super().result(tally, row_records)._replace(sketch=sketch)

    def _note(self, numbers: Sequence[int], keys: Sequence[CountKey]) -> None:
        severities = Counter(severity for _, severity in keys)
        for severity, times in severities.items():
            for number in numbers:
                self._sketcher.note(number, severity, times)

    def _each(self) -> Iterator[tuple[int, bytes]]:
        """Iterate over the lines that are not empty, numbered from 1, without newlines."""
        data, base = self._lines[:2]
        start = len(json.UTF8_MARK) if not base and data.startswith(json.UTF8_MARK) else 0
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
