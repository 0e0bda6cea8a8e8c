"""Check blocks of samples: the scanner takes rows together, the others are checked singly."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from xxhash import xxh64_intdigest

from evalstream.engine.collector import Collector
from evalstream.engine.record_engine import RecordEngine
from evalstream.engine.result import BlockResult, CheckContext
from evalstream.formats.lm_eval.doc_ids import IdRun
from evalstream.formats.lm_eval.log_tally import LogTotals, RowsTally, common_filters
from evalstream.formats.lm_eval.response_filters import NotFollowed
from evalstream.formats.lm_eval.row import HASHES, iterate_metrics, parse_digest, row_key
from evalstream.formats.lm_eval.row_requests import (
    check_gold,
    find_request_contradictions,
    is_padded,
    lacks_example,
)
from evalstream.formats.lm_eval.row_scores import brier_score
from evalstream.formats.lm_eval.rules.rows import (
    check_filtered,
    fitting_filters,
    row_digests,
    row_scores,
    row_structure,
)
from evalstream.formats.lm_eval.scanned_rows import choose_scoring
from evalstream.formats.lm_eval.scoring_plan import ScoringPlan
from evalstream.formats.lm_eval.written_values import as_written
from evalstream.model.block import Lines
from evalstream.model.data_class import NamedTuple, field
from evalstream.model.finding import Finding, Severity, Violation
from evalstream.model.options import Options
from evalstream.model.sample_record import GroupLabel, SampleRow
from evalstream.parsing.json import canonical, fast_known
from evalstream.parsing.native.lm_eval import (
    DEEPEST,
    MOST_ROWS,
    SampleRun,
    SampleScanner,
    sample_scanner,
)
from evalstream.rules.syntax import ObjectReading

if TYPE_CHECKING:
    from evalstream.stats.sketch import RowFigures


WORTH_BYTES: Final = 4096
"""From this size of a block in bytes on it is worth loading the scanner."""


def open_scanner(options: Options, lines: Lines, plan: ScoringPlan) -> SampleScanner | None:
    """Return what takes the sound rows of a block, None if every row takes the exact path."""
    how = choose_scoring(plan)
    needs_rows = how is None or options.samples is not None or options.sketches or lines.overlong
    if needs_rows or options.max_depth < DEEPEST or len(lines.data) < WORTH_BYTES:
        return None
    data = lines.data
    scanner = sample_scanner() if isinstance(data, bytes) else None
    if scanner is not None and how is not None:
        scanner.start(data, options.max_line_bytes, how)
    return scanner


@lru_cache(maxsize=256)
def _name(text: bytes) -> str:
    return text.decode()


@lru_cache(maxsize=256)
def _names(text: bytes) -> list[str]:
    names: list[str] = json.loads(b"[%b]" % text)
    return names


class LogContext(CheckContext, frozen=True):
    """The context of samples: how their rows were scored.

    Of docs whose number is a multiple of `answer_step` the answers are kept, of none for 0.
    """

    plan: ScoringPlan = field(default_factory=ScoringPlan)
    answer_step: int = 0

    def checker(self) -> LogEngine:
        """Return the checker of the blocks of samples."""
        return LogEngine(self)


class LogEngine(RecordEngine):
    """A pure function of (bytes, context): each block has a checker of its own."""

    def __init__(self, context: LogContext, record: SampleChecker | None = None) -> None:
        super().__init__(context, record or SampleChecker(context))
        self._log = context

    def run(self, lines: Lines) -> BlockResult:
        """Check whole lines of an input."""
        plan = self._log.plan
        record = SampleChecker(self._log, open_scanner(self._log.options, lines, plan))
        # Blocks may be checked at once by one checker.
        result = super(LogEngine, LogEngine(self._log, record)).run(lines)
        return result._replace(own=record.tally())

    def is_native(self, sample: bytes) -> bool:
        """Tell whether the scanner takes most rows of a sample, and compares all that they say."""
        whole = sample[: sample.rfind(b"\n") + 1]
        scanner = open_scanner(self._log.options, Lines(whole), self._log.plan)
        if scanner is None or scanner.how.has_answers:
            return False
        start = taken = 0
        while start < len(whole):
            taken += scanner.take(start, 1)
            start = whole.find(b"\n", scanner.stop) + 1 or len(whole)
        return 4 * taken > 3 * whole.count(b"\n")

    def read(self, line: bytes, offset: int, *, torn: bool) -> ObjectReading:
        """Read a line that must hold a row; numbers that are not finite as the harness does."""
        reading = super().read(line, offset, torn=torn)
        return as_written(reading) if reading.violations else reading


class AnswersCheck(NamedTuple):
    """The findings from a row's answers: violations, and the metrics that follow from them.

    Without `is_followed` the filter is not known, or takes too long.
    """

    violations: list[Violation]
    derived: list[str]
    is_followed: bool


class SampleChecker:
    """Tallies the rows of one block, and checks those that the scanner leaves."""

    noun = "a row"

    def __init__(self, context: LogContext, scanner: SampleScanner | None = None) -> None:
        self._scanner = scanner
        self._plan = context.plan
        self._tally = RowsTally(ordered=context.plan.ordered)
        self._digests = bytearray()
        self._request, self._step = context.options.samples, context.answer_step
        self._has_answers = scanner is not None and scanner.how.has_answers
        self._most, self._are_unlike = MOST_ROWS, False
        self._derived: Counter[tuple[str | None, str]] = Counter()

    def tally(self) -> RowsTally:
        """Return the tally of the rows so far."""
        self._tally.digests = bytes(self._digests)
        for (name, metric), times in self._derived.items():
            of_filter = None if name is None else self._tally.filters.get(name)
            if of_filter is not None and metric in of_filter.metrics:
                of_filter.metrics[metric].derived += times
        self._derived.clear()
        for rows in (*self._tally.filters.values(), *self._tally.parts):
            for values in rows.metrics.values():
                values.settle()
        return self._tally

    def take(self, start: int, line: int) -> tuple[int, int]:
        """Take rows in which nothing can be wrong; see `RecordChecker`."""
        scanner, tally = self._scanner, self._tally
        if scanner is None or (self._plan.is_telling and tally.rows == tally.lacking):
            return start, 0
        taken = self._take_sound(scanner, start, line)
        if not taken:
            return start, 0
        tally.rows += taken
        tally.hashed += taken
        self._digests += scanner.digests()
        self._add_runs(scanner)
        return scanner.stop, taken

    def _take_sound(self, scanner: SampleScanner, start: int, line: int) -> int:
        """Take rows that the scanner takes, and whose answers give no violation."""
        taken = scanner.take(start, line, self._most)
        sound = self._count_sound(scanner) if self._has_answers else taken
        if sound == taken:
            self._most = min(2 * self._most, MOST_ROWS)
            return taken
        # Take the rows before the one that is not sound again, without it.
        self._most = max(sound, 1)
        return scanner.take(start, line, sound) if sound else 0

    def _count_sound(self, scanner: SampleScanner) -> int:
        """Count the rows before the first whose answers give a violation; note what they give."""
        number = 0
        for run in scanner.runs():
            name, names = _name(scanner.filter(run.filter)), _names(scanner.metrics(run.metrics))
            values = iter(scanner.values(run.value, run.value + run.rows * len(names)))
            for target, resps, filtered in scanner.answers(number, number + run.rows):
                row = {
                    "filter": name,
                    "metrics": names,
                    "target": fast_known(target),
                    "resps": fast_known(resps),
                    "filtered_resps": fast_known(filtered),
                    **dict(zip(names, islice(values, len(names)), strict=True)),
                }
                judged = self._judge_answers(row)
                if judged.violations:
                    return number
                self._note_answers(judged, name)
                number += 1
        return number

    def _judge_answers(self, row: Mapping[str, Any]) -> AnswersCheck:
        """Compare the answers of a row with its filter, and its scores with these."""
        found: list[Violation] = []
        derived: list[str] = []
        is_followed = True
        try:
            found += check_filtered(row, self._plan)
        except NotFollowed:
            is_followed = False
        found += row_scores(row, self._plan, derived.append)
        return AnswersCheck(found, derived, is_followed)

    def _note_answers(self, judged: AnswersCheck, name: str | None) -> None:
        self._tally.unfollowed += not judged.is_followed
        for metric in judged.derived:
            self._derived[name, metric] += 1

    def _add_runs(self, scanner: SampleScanner) -> None:
        """Add runs to the tally; values of runs that are alike are added together."""
        tally = self._tally
        began: SampleRun | None = None
        place = 0
        for run in scanner.runs():
            rows = tally.filter(_name(scanner.filter(run.filter)))
            if rows is None:
                tally.unkeyed += run.rows
            else:
                rows.rows += run.rows
                rows.ids.runs.append(IdRun(run.doc_id, run.rows, run.line, 1))
                if self._plan.has_contents:
                    rows.contents += sum(scanner.contents(place, place + run.rows))
            for row in range(-run.doc_id % self._step, run.rows, self._step) if self._step else ():
                (answered,) = scanner.answers(place + row, place + row + 1)
                tally.note_answers(run.doc_id + row, fast_known(answered.resps))
            place += run.rows
            if began is None or (began.filter, began.metrics) != (run.filter, run.metrics):
                if began is not None:
                    self._add_values(scanner, began, run.value)
                began = run
        if began is not None:
            self._add_values(scanner, began, scanner.value_count)

    def _add_values(self, scanner: SampleScanner, began: SampleRun, stop: int) -> None:
        rows = self._tally.filter(_name(scanner.filter(began.filter)))
        names = _names(scanner.metrics(began.metrics))
        found = scanner.values(began.value, stop)
        scored = () if self._has_answers else dict(self._plan.metrics)
        for place, name in enumerate(names):
            values = None if rows is None else rows.values(name)
            if values is not None:
                column = found[place :: len(names)]
                numbers = [value for value in column if value == value]  # noqa: PLR0124 - NaN is not a number
                values.others += len(column) - len(numbers)
                values.add_numbers(numbers)
                if name in scored:
                    values.derived += len(column)

    def violations(
        self, record: Mapping[str, Any], line: int, *, certain: bool
    ) -> Iterator[Violation]:
        """Return the violations of a row, and add it to the tally."""
        found, replaced = row_digests(record, certain=certain)
        self._count(record, line, is_right=not found and certain, replaced=replaced)
        yield from row_structure(record)
        yield from found
        is_whole = certain and all(one.severity is Severity.WARNING for one in found)
        if is_whole and not self._plan.is_empty:
            judged = self._judge_answers(record)
            self._note_answers(judged, row_key(record).filter)
            yield from judged.violations
        if is_whole:
            yield from check_gold(record, self._plan)
        if certain:
            is_first = self._tally.rows == self._tally.lacking + 1
            self._tally.lacking += is_first and lacks_example(record, self._plan)
            self._tally.padded += is_padded(record, self._plan)
            if is_first or not self._are_unlike:
                yield from self._compare_request(record, is_first=is_first)

    def _compare_request(self, row: Mapping[str, Any], *, is_first: bool) -> list[Violation]:
        """Compare how a row was asked for; where the first was asked otherwise, it is alone."""
        found = list(find_request_contradictions(row, self._plan, is_first=is_first))
        if found and is_first:
            self._are_unlike = True
            if self._scanner is not None:
                self._scanner.ignore_requests()
        return found

    def _count(self, row: Mapping[str, Any], line: int, *, is_right: bool, replaced: bool) -> None:
        tally = self._tally
        tally.rows += 1
        digests = [parse_digest(row.get(name)) for name in HASHES]
        if None in digests:
            tally.undigested += 1
            tally.bare += not any(name in row for name in HASHES)
        else:
            self._digests += b"".join(filter(None, digests))
            tally.hashed += is_right
        tally.replaced += replaced
        key = row_key(row)
        rows = None if key.filter is None else tally.filter(key.filter)
        if rows is None or key.doc_id is None:
            tally.unkeyed += 1
            return
        if self._step and not key.doc_id % self._step and isinstance(row.get("resps"), list):
            tally.note_answers(key.doc_id, row["resps"])
        parts = [] if key.filter else [tally.part(key.doc_id)]
        contents = 0
        if self._plan.has_contents:
            shared = canonical([row.get(name) for name in _SHARED])
            contents = xxh64_intdigest(shared, key.doc_id)
            for part in parts:
                part.fitting = common_filters(part.fitting, fitting_filters(row, self._plan))
        for some in (rows, *parts):
            some.rows += 1
            some.contents += contents
            some.ids.add(key.doc_id, line)
            for name, value in iterate_metrics(row):
                values = some.values(name)
                if values is not None:
                    is_brier = name == "brier_score" and isinstance(value, list)
                    values.add(brier_score(row, value) if is_brier else value)

    def sample(self, record: Mapping[str, Any]) -> Any:
        """Return the row's doc_id."""
        return record.get("doc_id")

    def figures(self, record: Mapping[str, Any]) -> RowFigures:
        """Return the first metric of a row as its score, if it is a number."""
        for _, value in iterate_metrics(record):
            return (value if isinstance(value, (int, float)) else None,)
        return (None,)

    def samples(
        self, record: Mapping[str, Any], line: int, offset: int, *, certain: bool
    ) -> Iterable[tuple[GroupLabel, SampleRow]]:
        """Return a sample for each metric of a row, if they are collected."""
        if self._request is None:
            return ()
        from evalstream.formats.lm_eval.compared import iterate_samples

        return iterate_samples(self._request, record, line, offset, certain=certain)


_SHARED: Final = ("doc", "target", "arguments", "resps")
"""The members that the rows of all filters have in common for a doc."""


class LogCollector(Collector[LogContext]):
    """Collects the results of samples, and the totals of their rows."""

    def __init__(self, context: LogContext, file: str, show: Any) -> None:
        super().__init__(context, file, show)
        self.totals = LogTotals(has_docs=context.options.links)

    def add(self, result: BlockResult, places: bytes | None = None, size: int = 0) -> list[Finding]:
        """Add the next block, and return the findings about single rows of the block."""
        self.totals.merge(result.own, self.tally.lines)
        self.totals.keep_docs(result.own, result.tally.lines)
        return super().add(result, places, size)
