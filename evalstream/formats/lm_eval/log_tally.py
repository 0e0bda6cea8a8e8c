"""The totals of the rows of a samples file: their digests, ids and metrics by filter."""

from __future__ import annotations

import sys
from array import array
from binascii import hexlify
from hashlib import sha256
from typing import Any, Final

from xxhash import xxh64_intdigest

from evalstream.formats.lm_eval.doc_ids import DocDigests, DocIds, IdRuns
from evalstream.formats.lm_eval.metric_values import MetricValues
from evalstream.model.data_class import DataClass, NamedTuple, field
from evalstream.parsing.json import canonical

DIGEST_BYTES: Final = 32
DIGESTS_BYTES: Final = 3 * DIGEST_BYTES
"""The size of the three digests of a row."""

_DIGESTS_WORDS: Final = DIGESTS_BYTES // 8

MOST_FILTERS: Final = 1000
MOST_METRICS: Final = 1000
"""Numbers of filters, and of metrics of a filter, above which no more are added up."""

MOST_ANSWERS: Final = 10_000
"""Number of docs above which no more answers are kept."""


class FilterRows:
    """The rows of one filter in a block.

    `contents` is the sum of digests of what they share with rows of other filters, in any order, 0
    where there is one filter.

    `fitting` are the filters that may have made the answers of all rows, None where all may.
    """

    __slots__ = ("contents", "fitting", "ids", "is_crowded", "metrics", "ordered", "rows")

    def __init__(self, ordered: frozenset[str]) -> None:
        self.rows = self.contents = 0
        self.is_crowded = False
        self.ids = IdRuns()
        self.metrics: dict[str, MetricValues] = {}
        self.ordered = ordered
        self.fitting: frozenset[str] | None = None

    def values(self, metric: str) -> MetricValues | None:
        """Return the values of a metric, None where there are too many metrics."""
        found = self.metrics.get(metric)
        if found is None and len(self.metrics) < MOST_METRICS:
            found = self.metrics[metric] = MetricValues(is_ordered=metric in self.ordered)
        self.is_crowded = self.is_crowded or found is None
        return found


def common_filters(
    some: frozenset[str] | None, others: frozenset[str] | None
) -> frozenset[str] | None:
    """Return the filters that fit both of some rows and of others; None is all filters."""
    if some is None or others is None:
        return others if some is None else some
    return some & others


class RowsTally(DataClass):
    """The totals of the rows of a block.

    `digests` holds the three declared digests of each row, one after the other; `undigested` counts
    rows without three valid ones, and `bare` those without any. `hashed` counts rows whose digests
    are all right, `replaced` those that may show digests in the place of images, and `lacking` the
    first ones whose prompts have one example too few, and `padded` those with more answers than
    repeats. `unkeyed` counts rows without a valid doc_id or filter, `unfollowed` those whose filter
    is not known or may take too long. `ordered` names the metrics whose numbers are kept in
    order. `answers` has digests of the answers of some docs. Rows that name no filter stand in
    `parts`, too, with rising doc_ids in each.
    """

    rows: int = 0
    digests: bytes = b""
    undigested: int = 0
    bare: int = 0
    hashed: int = 0
    replaced: int = 0
    lacking: int = 0
    padded: int = 0
    unkeyed: int = 0
    unfollowed: int = 0
    filters: dict[str, FilterRows] = field(default_factory=dict)
    ordered: frozenset[str] = frozenset()
    answers: dict[int, int] = field(default_factory=dict)
    parts: list[FilterRows] = field(default_factory=list)

    def filter(self, name: str) -> FilterRows | None:
        """Return the rows of a filter, None where there are too many filters."""
        found = self.filters.get(name)
        if found is None and len(self.filters) < MOST_FILTERS:
            found = self.filters[name] = FilterRows(self.ordered)
        return found

    def note_answers(self, doc_id: int, answers: list[Any]) -> None:
        """Note a digest of the answers of a doc."""
        self.answers[doc_id] = xxh64_intdigest(canonical(answers))

    def part(self, doc_id: int) -> FilterRows:
        """Return the part that a row without a filter is in: a new one where doc_ids begin anew."""
        is_new = not self.parts or self.parts[-1].ids.last >= doc_id
        if is_new and len(self.parts) < MOST_FILTERS:
            self.parts.append(FilterRows(self.ordered))
        return self.parts[-1]


class FilterTotals:
    """The rows of one filter in a whole file; `fitting` as in a block."""

    def __init__(self) -> None:
        self.rows = self.contents = 0
        self.is_crowded = False
        self.ids = DocIds()
        self.metrics: dict[str, MetricValues] = {}
        self.fitting: frozenset[str] | None = None

    def merge(self, rows: FilterRows, shift: int) -> None:
        """Add the rows of the next block, which starts `shift` lines into the file."""
        self.rows += rows.rows
        self.contents += rows.contents
        self.is_crowded = self.is_crowded or rows.is_crowded
        self.fitting = common_filters(self.fitting, rows.fitting)
        for run in rows.ids.runs:
            self.ids.add(run, shift)
        for metric, values in rows.metrics.items():
            known = self.metrics.get(metric)
            if known is not None:
                known.merge(values)
            elif len(self.metrics) < MOST_METRICS:
                self.metrics[metric] = values
            else:
                self.is_crowded = True


class Rerun(NamedTuple):
    """Rows that begin again on a line: `rows` follow there, and `repeats` of them are repeats."""

    line: int
    rows: int
    repeats: int


class LogTotals:
    """The totals of the rows of a whole file, block by block in their order.

    `task_hash` is None where rows lack digests. `docs` has the docs of the first filter, if
    that was asked for.
    """

    def __init__(self, *, has_docs: bool = False) -> None:
        self.docs, self._has_docs = DocDigests(), has_docs
        self.rows = self.undigested = self.bare = self.hashed = self.replaced = self.unkeyed = 0
        self.lacking = self.padded = self.unfollowed = 0
        self.filters: dict[str, FilterTotals] = {}
        self.parts: list[FilterTotals] = []
        self.answers: dict[int, int] = {}
        self._digest = sha256()
        self._first: tuple[str, int] | None = None
        self._rows_before: tuple[int, int] | None = None

    def merge(self, block: RowsTally, shift: int) -> None:
        """Add the rows of the next block, which starts `shift` lines into the file."""
        had_repeats = self.repeats
        before = self._count_keyed
        self.rows += block.rows
        self.undigested += block.undigested
        self.bare += block.bare
        self.hashed += block.hashed
        self.replaced += block.replaced
        self.lacking += block.lacking
        self.padded += block.padded
        self.unkeyed += block.unkeyed
        self.unfollowed += block.unfollowed
        self._digest.update(hexlify(block.digests))
        if len(self.answers) < MOST_ANSWERS:
            self.answers |= block.answers
        for name, rows in block.filters.items():
            self._merge_filter(name, rows, shift)
        for rows in block.parts:
            self._merge_part(rows, shift)
        if self.repeats and not had_repeats:
            found = self.first_repeat()
            line = 0 if found is None else found[2]
            known = (rows for name, rows in block.filters.items() if name in self.filters)
            earlier = (_rows_before(rows, line - shift) for rows in known)
            self._rows_before = line, before + sum(earlier)

    def keep_docs(self, block: RowsTally, lines: int) -> None:
        """Keep the digests of docs of a merged block, if each of its lines is a row with them."""
        rows = block.filters.get(next(iter(self.filters), ""))
        if not self._has_docs or rows is None or block.undigested or lines != block.rows:
            return
        words = array("Q", block.digests)
        if sys.byteorder == "little":
            words.byteswap()
        for first, count, line, step in rows.ids.runs:
            place, stride = (line - 1) * _DIGESTS_WORDS, max(step, 1) * _DIGESTS_WORDS
            digests = words[place : place + count * stride : stride]
            self.docs.add(range(first, first + count), digests)

    @property
    def repeats(self) -> int:
        """The number of rows whose filter and doc_id an earlier row has."""
        return sum(one.ids.repeats for one in self.filters.values())

    @property
    def _count_keyed(self) -> int:
        """The number of rows with a valid doc_id and filter."""
        return self.rows - self.unkeyed

    @property
    def distinct(self) -> int:
        """The number of distinct filters and doc_ids."""
        return sum(one.ids.count for one in self.filters.values())

    @property
    def samples(self) -> int:
        """The number of docs of the filter that has most."""
        return max((one.ids.count for one in self.filters.values()), default=0)

    @property
    def metric_counts(self) -> frozenset[int]:
        """The numbers of rows that have a metric, of each metric of each filter."""
        return frozenset(
            values.rows for one in self.filters.values() for values in one.metrics.values()
        )

    @property
    def is_scattered(self) -> bool:
        """Whether there are ids in too many places to be compared."""
        return any(one.ids.is_scattered for one in self.filters.values())

    @property
    def is_crowded(self) -> bool:
        """Whether a filter has so many metrics that not all values were added up."""
        return any(one.is_crowded for one in self.filters.values())

    def task_hash(self) -> str | None:
        """Return the SHA-256 of all digests of all rows in order, as the results declare it.

        Source: `save_results_aggregated` in loggers/evaluation_tracker.py of lm_eval.
        """
        return None if self.undigested or not self.rows else self._digest.hexdigest()

    def rerun(self) -> Rerun | None:
        """Return where the rows begin again, None where repeats are of another kind.

        A run that appends to the file of an earlier one begins with the same filter and doc, and
        its rows are all there are, or all repeat earlier ones.
        """
        if self._rows_before is None or self._first is None:
            return None
        line, before = self._rows_before
        name, doc_id = self._first
        start = self.filters[name].ids.first_repeat
        rows = self._count_keyed - before
        if start is None or (start.line, start.doc_id) != (line, doc_id):
            return None
        return Rerun(line, rows, self.repeats) if rows in (self.distinct, self.repeats) else None

    def first_repeat(self) -> tuple[str, int, int] | None:
        """Return filter, doc_id and line of the first row that repeats an earlier one."""
        found = [
            (one.ids.first_repeat.line, name, one.ids.first_repeat.doc_id)
            for name, one in self.filters.items()
            if one.ids.first_repeat is not None
        ]
        if not found:
            return None
        line, name, doc_id = min(found)
        return name, doc_id, line

    def _merge_filter(self, name: str, rows: FilterRows, shift: int) -> None:
        total = self.filters.get(name)
        if total is None:
            if len(self.filters) >= MOST_FILTERS:
                self.unkeyed += rows.rows
                return
            total = self.filters[name] = FilterTotals()
        if self._first is None and rows.ids.runs:
            self._first = (name, rows.ids.runs[0].first)
        total.merge(rows, shift)

    def _merge_part(self, rows: FilterRows, shift: int) -> None:
        is_new = not self.parts or self.parts[-1].ids.highest >= rows.ids.runs[0].first
        if is_new and len(self.parts) < MOST_FILTERS:
            self.parts.append(FilterTotals())
        self.parts[-1].merge(rows, shift)


def _rows_before(rows: FilterRows, line: int) -> int:
    before = 0
    for run in rows.ids.runs:
        if run.line < line:
            before += min(run.rows, -(-(line - run.line) // max(run.step, 1)))
    return before
