"""Compare a run with the harness log that it was converted from (`--source`).

The log is read first, sample by sample, and its samples are kept on disk by id; then the rows are
read a second time. Memory grows with neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.engine.collector import LaterViolation
from evalstream.engine.row_lookup import every_row
from evalstream.formats.base import open_source
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.rules.source import ES650, ES651, ES660, ES662
from evalstream.formats.eee.source_results import ComparedAggregate, compare_aggregate
from evalstream.formats.eee.source_rows import PARTS, compare_row, report_uncompared
from evalstream.formats.eee.source_store import Difference, KnownSample, SampleState, SourceStore
from evalstream.io.names import printable
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck, describe_error
from evalstream.model.finding import Violation
from evalstream.model.options import Options
from evalstream.model.run_summary import Checked
from evalstream.model.signals import STOPPING
from evalstream.model.source_log import SourceLog, SourceSample, Wanted
from evalstream.model.text import count_noun, join_words
from evalstream.parsing import json
from evalstream.parsing.json_values import fast_or_none
from evalstream.parsing.limits import limit_findings
from evalstream.rules.inputs import ES001

MOST_NAMED: Final = 100
"""Most members of rows that are named as not compared."""

_NO_RESULT: Final = 1
"""The bit of rows that name no result."""


class Unmatched(NamedTuple):
    """Why a row has no sample: the violation, or None and the reason that it was not compared."""

    violation: Violation | None
    reason: str = ""


class SourceCheck:
    """The comparison of one run; `close` deletes its files.

    `violations` are those about the rows as a whole, `of_aggregate` those about the aggregate,
    `unreadable` is the reason why the log was not compared, `reason` the first open part.
    """

    def __init__(self, rows: str | None, aggregate: Aggregate | None, options: Options) -> None:
        self._rows, self._aggregate, self._options = rows, aggregate, options
        self._store = SourceStore()
        self._log: SourceLog | None = None
        self._bits: dict[tuple[str | None, int], int] = {(None, 0): _NO_RESULT}
        self._times: Counter[str] = Counter()
        self._scorers: dict[str, str] = {}
        self._left: Counter[str] = Counter()
        self._by_result = False
        self._parts: Counter[str] = Counter()
        self._uncompared: Counter[str] = Counter()
        self._compared = 0
        self._foreign = self._own = self._reduced = self._strange = 0
        self._results: ComparedAggregate | None = None
        self._counts = 0
        self._agreeing: tuple[int, int] = (0, 0)
        self.violations: list[Violation] = []
        self.unreadable: str | None = None

    def close(self) -> None:
        """Delete the files of the comparison."""
        self._store.close()
        if self._log is not None:
            self._log.close()

    def differences(self) -> Iterator[LaterViolation]:
        """Compare, and iterate over what differs in single rows, in the order of their lines."""
        try:
            log = self._log = open_source(
                self._options.source or "", self._options, self._list_wanted()
            )
            self._scorers = {one.id: one.scorer for one in log.results or ()}
            self._times = Counter(one.id for one in log.results or ())
            for sample in log.samples():
                STOPPING.check()
                self._store.add(sample, self._due(sample, log))
            if self._rows is not None:
                self._compare_rows(log, self._rows)
            if self._aggregate is not None and log.results is not None:
                self._results = compare_aggregate(self._aggregate, log, self._store.count)
        except (OSError, CannotCheck, RecursionError) as error:
            name = printable(self._options.source or "")
            is_deep = isinstance(error, RecursionError)
            reason = "it is nested too deeply" if is_deep else describe_error(error)
            self.unreadable = f"the source {name} cannot be compared: {reason}"
            self.violations = [ES001.violation(self.unreadable)]
            return
        for one in self._store.differences(self._counts):
            yield LaterViolation(one.line, one.offset, one.sample_id, one.violation)

    @property
    def of_aggregate(self) -> list[Violation]:
        """The violations about the aggregate."""
        return [] if self._results is None else self._results.violations

    @property
    def reason(self) -> str | None:
        """The reason why a part is open, or None."""
        if self.unreadable is not None:
            return self.unreadable
        if self._left:
            text, count = self._left.most_common(1)[0]
            return (
                f"{count_noun(self._left.total(), 'row')} not compared with the source: {text}"
                + ("" if count == self._left.total() else ", …")
            )
        if self._foreign:
            rows = count_noun(self._foreign, "row")
            return f"the scores of {rows} are not those of the source"
        if self._agreeing[1]:
            samples = count_noun(self._agreeing[1], "sample")
            return f"the input of {samples} cannot be compared with the source"
        if self._results is None and self._aggregate is not None:
            return "the source has no results to compare"
        return None

    def describe_checked(self) -> Checked:
        """Describe the compared parts, and how many samples and results agree."""
        if self.unreadable is not None or self._log is None:
            return Checked("source not compared", None)
        agreeing, total = self._agreeing[0], self._store.count
        parts = []
        if self._rows is not None:
            parts.append(f"{self._named_parts()} of {_share(agreeing, total, 'sample')}")
        is_ok = self._rows is None or (agreeing == total and not self._strange)
        if self._results is not None:
            same, of = self._results.agreeing, self._results.of
            parts.append(
                f"{join_words(self._results.parts) or 'nothing'} of {_share(same, of, 'result')}"
            )
            parts += filter(None, [join_words(self._results.own_parts)])
            is_ok = is_ok and not any(map(_differs, self._results.violations))
        if not parts:
            return Checked("source not compared", None)
        text = f"{'; '.join(parts)} agree with {self._log.label}"
        if self._strange:
            text += f", which lacks {count_noun(self._strange, 'row')}"
        left = len(self._uncompared) + (self._results.uncompared if self._results else 0)
        if left:
            text += f", {count_noun(left, 'member')} not compared"
        differs = any(map(_differs, self.violations)) or (is_ok is False and self.reason is None)
        return Checked(text, True if is_ok and self.reason is None else False if differs else None)

    def _named_parts(self) -> str:
        """Name the compared parts of rows, with `some` where rows or samples lack them."""
        named = [
            name if self._parts[name] == self._compared else f"some {name}"
            for name in PARTS
            if self._parts[name]
        ]
        return join_words(named) or "nothing"

    def _list_wanted(self) -> Wanted:
        if self._aggregate is None:
            return Wanted(frozenset(), None)
        time = self._aggregate.document.get("evaluation_timestamp")
        return Wanted(
            self._aggregate.evaluation_names or frozenset(), time if isinstance(time, str) else None
        )

    def _due(self, sample: SourceSample, log: SourceLog) -> int:
        """Return the bits of the results that rows of a sample should score."""
        due = 0
        for one in log.results or ():
            about = one.part in (None, sample.part) and one.scorer in sample.scores
            if about and one.is_required:
                due |= self._bit(one.id)
        return due

    def _bit(self, result: str | None, time: int = 0) -> int:
        """Return the bit of a result; each of several results of one id has its own."""
        return self._bits.setdefault((result, time), 1 << len(self._bits))

    def _free_bit(self, result: str | None, sample: KnownSample) -> int | None:
        """Return the bit of a result that no row of a sample has taken, or None."""
        times = 1 if result is None else max(1, self._times[result])
        bits = (self._bit(result, time) for time in range(times))
        return next((bit for bit in bits if not sample.seen & bit), None)

    def _compare_rows(self, log: SourceLog, path: str) -> None:
        for line, offset, text in every_row(path, self._options):
            STOPPING.check()
            row = fast_or_none(text)
            if not isinstance(row, dict):
                self._left["they cannot be read"] += 1
                continue
            try:
                self._compare_row(log, row, line, offset)
            except RecursionError:
                self._left["they are nested too deeply"] += 1
        own_fits = self._own <= self._reduced
        self._counts = SampleState.OWN_DIFFERS if own_fits else SampleState.REDUCED_DIFFERS
        self.violations += limit_findings(self._missing(log))
        self.violations += report_uncompared(self._uncompared, "row")
        self._agreeing = self._store.agreeing(self._counts, by_result=self._by_result)

    def _compare_row(self, log: SourceLog, row: Mapping[str, Any], line: int, offset: int) -> None:
        given = row.get("sample_id")
        identity = given if isinstance(given, (str, int)) else None
        result = row.get("evaluation_result_id")
        named = result if isinstance(result, str) else None
        self._by_result = self._by_result or named is not None
        found = self._sample(log, row, None if identity is None else str(identity), named)
        if isinstance(found, Unmatched):
            if found.violation is None:
                self._left[found.reason] += 1
            else:
                self._strange += 1
                self._store.differ(Difference(line, offset, identity, found.violation))
            return
        key = None if named is None else self._scorers.get(named, named)
        score = found.default if key is None else found.scores[key]
        self._compared += 1
        outcome = compare_row(row, found, score, was_matched=log.was_matched)
        self._parts.update(outcome.parts)
        for place in outcome.uncompared:
            if place in self._uncompared or len(self._uncompared) < MOST_NAMED:
                self._uncompared[place] += 1
        self._foreign += outcome.is_foreign
        self._own += bool(outcome.state & SampleState.OWN_DIFFERS)
        self._reduced += bool(outcome.state & SampleState.REDUCED_DIFFERS)
        self._store.mark(found, self._free_bit(named, found) or 0, outcome.state)
        for violation, condition in outcome.violations:
            self._store.differ(Difference(line, offset, identity, violation, condition))

    def _sample(
        self, log: SourceLog, row: Mapping[str, Any], identity: str | None, result: str | None
    ) -> KnownSample | Unmatched:
        """Return the sample that a row is about, the first one that no earlier row has taken."""
        if identity is None:
            return Unmatched(None, "they have no sample_id")
        part, name = _part(row, log), log.part_name
        found = list(self._store.samples(identity, part))
        if part is None and len({one.part for one in found}) > 1:
            return Unmatched(None, f"they do not say their {name}")
        if not found:
            where = "" if part is None else f" in {name} {printable(part)}"
            message = f"the log has no such sample{where}"
            return Unmatched(ES651.violation(message, "/sample_id", found=identity))
        key = None if result is None else self._scorers.get(result, result)
        if key is not None and key not in found[0].scores:
            place = {"pointer": "/evaluation_result_id", "found": result}
            return Unmatched(ES651.violation("the log has no such result for this sample", **place))
        for one in found:
            if self._free_bit(result, one) is not None:
                return one
        times = "once" if len(found) == 1 else f"{len(found):,} times"
        message = f"an earlier row has this sample, which the log has {times}"
        return Unmatched(ES651.violation(message, "/sample_id", found=identity))

    def _missing(self, log: SourceLog) -> Iterator[Violation]:
        names = {bit: result for (result, _), bit in self._bits.items()}
        none = "none of the compared rows" if self._left else "no row"
        for identity, part, place, lacks in self._store.missing(by_result=self._by_result):
            within = f", {log.part_name} {printable(part)}" if part else ""
            about = f"sample {printable(identity)}{within} ({place})"
            if not lacks:
                yield ES650.violation(f"{none} has {about} of the log", expected=identity)
                continue
            for bit, result in names.items():
                if lacks & bit:
                    message = f"{none} has the result {result} of {about} of the log"
                    yield ES650.violation(message, expected=identity)


def _differs(violation: Violation) -> bool:
    return violation.code not in (ES660.code, ES662.code)


def _share(agreeing: int, total: int, noun: str) -> str:
    whole = count_noun(total, noun)
    return whole if agreeing == total else f"{agreeing:,} of {whole}"


def _part(row: Mapping[str, Any], log: SourceLog) -> str | None:
    """Return the epoch or the filter of a row, None where it says none."""
    said = json.member(row.get("metadata"), log.part_name)
    if isinstance(said, (str, int)) and not isinstance(said, bool):
        return str(said)
    name = row.get("evaluation_name")
    return log.find_part(name) if isinstance(name, str) else None
