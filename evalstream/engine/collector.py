"""Sort the findings of a run, count all of them, and pass on those to show."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Set
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from evalstream.engine.result import BlockResult, CheckContext, Counts, shorten_values
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import (
    CountKey,
    Finding,
    FindingList,
    Severity,
    Show,
    Values,
    Violation,
    pointer_key,
)
from evalstream.rules.base import position_namer
from evalstream.rules.catalogue import Selection
from evalstream.rules.syntax import HALF_WRITTEN, with_rows_before
from evalstream.stats.coverage import Coverage
from evalstream.stats.duplicate_index import DuplicateIndex
from evalstream.stats.duplicates import DuplicateMatch
from evalstream.stats.tally import Tally

if TYPE_CHECKING:
    from evalstream.io.stream import LineIndex
    from evalstream.model.sketch import Sketch
    from evalstream.stats.run_links import RunLinks
    from evalstream.stats.run_samples import RunSamples
    from evalstream.stats.sketch import SketchTotal

C = TypeVar("C", bound=CheckContext)

_NO_ROWS: Final = Tally()


class LaterViolation(NamedTuple):
    """A violation of a row that is found after all rows; lines count from 1 over the whole file.

    In an array `line` is the number of the row, and there is no `offset`.
    """

    line: int
    offset: int | None
    sample_id: str | int | None
    violation: Violation
    column: int | None = None


class FindingRooms:
    """Places for findings: `most` of each code in each file, 0 for all.

    The first of each severity has one in any case: a report by files then shows for each file
    whether it has errors.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: dict[tuple[str, str], int] = {}
        self._severities: set[tuple[str, str, Severity]] = set()

    def take(self, finding: Finding) -> bool:
        """Tell whether there is a place for one more finding, and reserve it."""
        if not self._most:
            return True
        key, graded = (finding.file, finding.code), (finding.file, finding.code, finding.severity)
        taken = self._taken.get(key, 0)
        if taken >= self._most and graded in self._severities:
            return False
        self._taken[key] = taken + 1
        self._severities.add(graded)
        return True


class Collector(Generic[C]):
    """Collects the results of one run: merges tallies, finds repeats, passes findings on in order.

    A finding goes to `show` as soon as no later one can come before it. Once the row records are on
    disk, repeats are found late, and the findings of other rules wait for them. `counts` has the
    exact number of findings by code and severity, and `marked` by code that of findings that a
    limited repair mends; `unmended` has the codes of findings that were shown without a repair.
    `unshown` has the codes and severities of which no further finding in the rows is shown.
    `latest` has the findings about rows of the last block, shown or not, and `size` counts the
    unpacked bytes of all blocks. With `can_fix` findings
    say which repair they have, but for those in arrays.
    """

    def __init__(self, context: C, file: str, show: Show, *, can_fix: bool = False) -> None:
        self.context = context
        self.counts: Counts = {}
        self.marked: dict[str, int] = {}
        self.unmended: set[str] = set()
        self.tally = _NO_ROWS
        self.links: RunLinks | None = None
        self._sketch: SketchTotal | None = None
        self.samples: RunSamples | None = None
        # Few checks ask for these, and the others can do without the imports.
        if context.links:
            from evalstream.stats.run_links import RunLinks

            self.links = RunLinks()
        if context.options.sketches:
            from evalstream.stats.sketch import SketchTotal

            self._sketch = SketchTotal()
        if context.options.samples is not None:
            from evalstream.stats.run_samples import RunSamples

            self.samples = RunSamples(context.options.samples)
        self._file, self._show, self._can_fix = file, show, can_fix
        self._index = DuplicateIndex(context.options.memory_limit)
        self._rooms = FindingRooms(context.options.max_findings)
        self.unshown: set[CountKey] = set()
        self.latest: list[Finding] = []
        self.size = 0
        self._waiting: FindingList | None = None
        self._whole = 0
        self._places: LineIndex | None = None
        self._later: Callable[[], Iterator[LaterViolation]] | None = None

    def await_later(self, later: Callable[[], Iterator[LaterViolation]]) -> None:
        """Let findings wait for those that `later` returns after the last row, by line."""
        self._later = later
        self._waiting = self._waiting or FindingList()

    def expect(self, rows: int) -> None:
        """Prepare for about so many rows, before the first block."""
        self._index.expect(rows)

    def add(self, result: BlockResult, places: bytes | None = None, size: int = 0) -> list[Finding]:
        """Add the next block, of so many bytes; return the findings about single rows of it.

        `places` are the places of the block's rows, if they are elements of an array.
        """
        self.size += size
        shift = self.tally.lines
        if places is not None:
            from evalstream.io.stream import LineIndex

            self._places = self._places or LineIndex()
            self._places.extend(places)
        if self.links is not None:
            self.links.take(result.links, shift, places)
        if self._sketch is not None and result.sketch is not None:
            self._sketch.take(result.sketch, shift)
        if self.samples is not None and result.samples is not None:
            self.samples.take(result.samples, shift)
        notices = self._index.add(result.row_records, shift)
        if self.tally.lines:
            self.tally.merge(result.tally)
        else:
            self.tally = result.tally
        for key, count in result.counts.items():
            self.counts[key] = self.counts.get(key, 0) + count
        if self._index.is_spilled and self._waiting is None:
            self._waiting = FindingList()
        rows = self._place_rows(result, shift)
        self._whole += len(result.row_records)
        self.latest = self._merge(rows, list(self._duplicates(notices)))
        for finding in self.latest:
            self._pass_on(finding)
        return rows

    def _merge(self, rows: list[Finding], repeats: list[Finding]) -> list[Finding]:
        """Return findings of single rows and of repeated rows in one order."""
        if not repeats:
            return [*rows]
        from heapq import merge

        return list(merge(rows, repeats, key=self._order))

    @property
    def coverage(self) -> Coverage:
        """Return which samples the rows cover; complete after `end_of_rows`."""
        return self._index.coverage

    @property
    def sketch(self) -> Sketch | None:
        """Return the sketch of the rows; None if it was not asked for, or there are none."""
        return None if self._sketch is None else self._sketch.sketch()

    def end_of_rows(self) -> None:
        """Pass on the findings that wait for late repeats."""
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            late_matches = (
                repeat
                for repeat in self._duplicates(self._index.late_matches())
                if self._room(repeat)
            )
            from heapq import merge

            for finding in merge(waiting, late_matches, self._latest(), key=self._order):
                self._show(finding)
        self._index.close()

    def _latest(self) -> Iterator[Finding]:
        """Iterate over the findings that come after the last row, those that may be shown."""
        later, self._later = self._later, None
        for one in later() if later is not None else ():
            if one.violation.code not in self.context.enabled_codes:
                continue
            violation = self._shorten(one.violation)
            self._count(violation, one.line)
            place = {"offset": one.offset, "sample_id": one.sample_id, "column": one.column}
            finding = self._place_violation(violation, one.line, **place)
            if self._room(finding):
                yield finding

    def note(
        self,
        violation: Violation,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        """Add a finding about the whole file, or about another file of the run."""
        if violation.code not in self.context.enabled_codes:
            return
        violation = self._shorten(violation)
        about_row = line is not None and file in (None, self._file)
        # A row that breaks an array off is not among the rows that were read.
        place = line if self._places is None else self.tally.lines + 1
        self._count(violation, place if about_row else None)
        self._pass_on(self._stamp_violation(violation, file or self._file, line, column=column))

    def _shorten(self, violation: Violation) -> Violation:
        return shorten_values(violation, self.context.options, self.context.selection)

    def may_show(self, violation: Violation) -> bool:
        """Tell whether a violation in the rows may be shown, so that its place matters."""
        severity = self.context.selection.severity(violation)
        return (violation.code, severity) not in self.unshown

    @property
    def errors(self) -> int:
        """Number of occurrences so far that are errors."""
        return sum(times for (_, level), times in self.counts.items() if level is Severity.ERROR)

    def fails(self) -> bool:
        """Tell whether a finding so far fails the run."""
        return bool(self.failing())

    def failing(self, excused: Set[str] = frozenset()) -> dict[str, int]:
        """Return the occurrences so far that fail the run, by code, but for some codes."""
        fails, threshold = self.context.selection.fails, self.context.options.threshold
        failing: dict[str, int] = {}
        for (code, severity), count in self.counts.items():
            if fails(code, severity, threshold) and code not in excused:
                failing[code] = failing.get(code, 0) + count
        return failing

    def close(self) -> None:
        """Delete temporary files."""
        self._index.close()
        if self._places is not None:
            self._places.close()

    @property
    def _order(self) -> Callable[[Finding], tuple[float, str, str]]:
        """Return the sort key of findings about rows."""
        return Finding.order if self._places is None else _element_order

    def _duplicates(self, notices: Iterable[DuplicateMatch]) -> Iterator[Finding]:
        where = position_namer("jsonl" if self._places is None else "json")
        for notice in notices:
            violation = self.context.duplicate(notice, where)
            if violation.code in self.context.enabled_codes:
                self._count(violation, notice.line)
                yield self._place_violation(violation, notice.line, offset=notice.offset)

    def _place_rows(self, result: BlockResult, shift: int) -> list[Finding]:
        """Return the findings about single rows; those that share a violation are made alike."""
        made: dict[int, Finding] = {}
        findings: list[Finding] = []
        # Not every format records its rows.
        whole = self._whole + len(result.row_records)
        is_recorded = whole > 0 or self.tally.rows == self.tally.unread
        for line, offset, sample, shared, values in result.violations:
            like, number = made.get(id(shared)), line + shift
            if like is None or self._places is not None:
                violation = shared
                if is_recorded and shared.code in HALF_WRITTEN:
                    before = self._whole + bisect_left(result.row_records.lines(), line)
                    violation = with_rows_before(shared, before)
                place = {"offset": offset, "sample_id": sample, "values": values}
                one = made[id(shared)] = self._place_violation(violation, number, **place)
            else:
                both = values or (shared.expected, shared.found)
                begin = (*like[:4], number, None, offset, *like[7:10])
                one = Finding(*begin, *both, sample, *like[13:])
            findings.append(one)
        return findings

    def _place_violation(self, violation: Violation, number: int, **place: Any) -> Finding:
        """Add the place to a violation: a line, or for array elements a line and a pointer."""
        if self._places is not None:
            violation = violation._replace(pointer=f"/{number - 1}{violation.pointer or ''}")
            number = self._places.line(number)
        return self._stamp_violation(violation, self._file, number, **place)

    def _stamp_violation(
        self, violation: Violation, file: str, line: int | None, **place: Any
    ) -> Finding:
        """Return a finding; `place` has further arguments of `make_finding`."""
        selection, can_fix = self.context.selection, self._can_fix and self._places is None
        finding = make_finding(violation, file, selection, line=line, can_fix=can_fix, **place)
        if finding.fix is None:
            self.unmended.add(finding.code)
        return finding

    def _pass_on(self, finding: Finding) -> None:
        if self._room(finding):
            if self._waiting is None:
                self._show(finding)
            else:
                self._waiting.append(finding)

    def _room(self, finding: Finding) -> bool:
        """Tell whether one more finding may be shown, and reserve its place."""
        has_room = self._rooms.take(finding)
        if not has_room and finding.file == self._file:
            self.unshown.add((finding.code, finding.severity))
        return has_room

    def _count(self, violation: Violation, line: int | None) -> None:
        """Count a violation, for the sketch if it is about a line; in an array, about a row."""
        severity = self.context.selection.severity(violation)
        key = (violation.code, severity)
        times = 1 if violation.count is None else violation.count
        self.counts[key] = self.counts.get(key, 0) + times
        if violation.is_fixable:
            self.marked[violation.code] = self.marked.get(violation.code, 0) + times
        if self._sketch is not None and line is not None:
            self._sketch.note(line, severity, times)


def _element_order(finding: Finding) -> tuple[float, str, str]:
    """Sort findings about the elements of an array, many of which may share a line."""
    pointer = finding.pointer or "/0"
    return int(pointer.split("/")[1]), finding.code, pointer_key(pointer)


def make_finding(
    violation: Violation,
    file: str,
    selection: Selection,
    *,
    line: int | None = None,
    column: int | None = None,
    offset: int | None = None,
    sample_id: str | int | None = None,
    values: Values | None = None,
    can_fix: bool = False,
) -> Finding:
    """Add its rule's name, its severity in a selection, its place and its repair to a violation.

    `values`, if there are any, replace those of the violation.
    """
    expected, found = values or (violation.expected, violation.found)
    name, severity, fix = selection.describe(violation)
    # Positional arguments: keywords take twice as long, and every row may have a finding.
    return Finding(
        violation.code,
        name,
        severity,
        file,
        line,
        column,
        offset,
        violation.pointer,
        violation.keyword,
        violation.message,
        expected,
        found,
        sample_id,
        violation.count,
        fix if can_fix else None,
    )
