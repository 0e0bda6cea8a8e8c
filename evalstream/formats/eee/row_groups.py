"""What rows with the same version and ids have in common, worked out once per block."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import xxhash

from evalstream.formats.eee import row_view
from evalstream.formats.eee.aggregate import Join
from evalstream.model.finding import Severity, Violation
from evalstream.model.row_record import UNJOINED
from evalstream.rules.base import CheckContext, RowCheck
from evalstream.rules.catalogue import RULES
from evalstream.stats.link_keys import LinkKey, link_key
from evalstream.stats.score_sums import ScoreSums
from evalstream.stats.tally import Tally

Row = Mapping[str, Any]


class RowGroup:
    """The rows of a block that share version, evaluation, model, name and result.

    `faults` and `remarks` are those of the rules that look at nothing else. `evaluation` digests
    the evaluation_id, and `name` that and the evaluation_name: as seeds they make digests of inputs
    and samples differ. `place` is that of the result that the rows join. `named` says that none of
    the ids is blank. `rows` counts them, `first`
    is the line of the first, and `scores` counts what they say. `links` are the words of rows
    that can be held against those of other runs, None where none are to be gathered.
    """

    __slots__ = (
        "evaluation",
        "faults",
        "first",
        "is_foreign",
        "is_named",
        "links",
        "name",
        "named",
        "place",
        "remarks",
        "result",
        "rows",
        "sample_ids",
        "scores",
        "ties",
        "unnamed",
        "version",
    )

    def __init__(self, row: Row, line: int, context: CheckContext, join: Join) -> None:
        version, result = row.get("schema_version"), row.get("evaluation_result_id")
        joined, name = join.result(row), row.get("evaluation_name")
        self.rows, self.first = 0, line
        self.faults: tuple[Violation, ...] = ()
        self.remarks: tuple[Violation, ...] = ()
        self.named = named(row)
        self.version = (
            version if isinstance(version, str) and version in row_view.KNOWN_VERSIONS else None
        )
        self.evaluation = xxhash.xxh3_64_intdigest(f"{row.get('evaluation_id')}\x1e".encode())
        self.name = xxhash.xxh3_64_intdigest(row_view.sample_scope(row).encode())
        self.unnamed = result is None
        self.result = 0 if result is None else xxhash.xxh3_64_intdigest(f"{result}".encode())
        self.place = UNJOINED if joined is None else joined.place
        self.sample_ids = None if joined is None else joined.sample_ids
        self.is_named = name is None or isinstance(name, str)
        self.is_foreign = row.get("evaluation_id") != context.evaluation_id
        self.scores: dict[tuple[Any, Any, bool], int] = {}
        claimed = context.evaluation_id
        self.ties = link_key(row, claimed, self.result, joined) if context.links else None
        self.links: list[int] | None = None if self.ties is None else []

    def sums(self, name: Any) -> ScoreSums:
        """Return the exact sums over the scores that were counted."""
        scores = ScoreSums()
        for (score, correct, failed), times in self.scores.items():
            scores.add(name, score, correct, failed=failed, times=times)
        return scores


class RowGroups:
    """The scopes of one block."""

    def __init__(self, context: CheckContext, join: Join, checks: Sequence[RowCheck]) -> None:
        self._context, self._join, self._checks = context, join, checks
        self._known: dict[tuple[Any, ...], RowGroup] = {}
        self._all: list[tuple[RowGroup, Any]] = []

    def of(self, row: Row, line: int) -> RowGroup:
        """Return the scope of a row."""
        key = (
            row.get("schema_version"),
            row.get("evaluation_id"),
            row.get("model_id"),
            row.get("evaluation_name"),
            row.get("evaluation_result_id"),
        )
        try:
            scope = self._known[key]
            scope.first = min(scope.first, line)
            return scope
        except KeyError:
            # 1, 1.0 and true are equal as keys, and not the same to rules that look at types.
            if any(part.__class__ not in _PLAIN for part in key):
                return self._made(row, line)
            scope = self._known[key] = self._made(row, line)
            return scope
        except TypeError:
            return self._made(row, line)

    def tally(self, tally: Tally) -> None:
        """Count what the rows have in common."""
        for scope, name in self._all:
            rows, first = scope.rows, scope.first
            if scope.version is not None:
                tally.versions.add(scope.version, first, rows)
            if scope.unnamed:
                tally.without_result.add(None, first, rows)
            lacks_id = scope.unnamed and self._join.knows_ids
            is_quiet = isinstance(name, str) and not scope.faults and not lacks_id
            if scope.place == UNJOINED and is_quiet:
                tally.unjoined.add(None, first, rows)
            for fault in scope.remarks:
                tally.remarks.add(notice_key(fault), first, rows)
            if scope.is_foreign or scope.faults:
                tally.doubtful += rows
            if scope.place != UNJOINED:
                tally.scores.setdefault(scope.place, ScoreSums()).merge(scope.sums(name))

    def links(self) -> tuple[tuple[LinkKey, bytes], ...]:
        """Return what ties the rows to those of other runs."""
        return tuple(
            (scope.ties, array("Q", scope.links).tobytes())
            for scope, _ in self._all
            if scope.ties is not None and scope.links
        )

    def _made(self, row: Row, line: int) -> RowGroup:
        scope = RowGroup(row, line, self._context, self._join)
        said = list(self._faults(row))
        scope.faults = tuple(fault for fault in said if not is_aggregated_notice(fault))
        scope.remarks = tuple(fault for fault in said if is_aggregated_notice(fault))
        self._all.append((scope, row.get("evaluation_name")))
        return scope

    def _faults(self, row: Row) -> Iterator[Violation]:
        for check in self._checks:
            yield from check(row)


def named(row: Row) -> bool:
    """Tell whether the ids that rows share are no blank texts."""
    ids = (row.get("evaluation_name"), row.get("evaluation_id"), row.get("model_id"))
    return not any(text.__class__ is str and (not text or text.isspace()) for text in ids)


def is_aggregated_notice(fault: Violation) -> bool:
    """Tell whether a row rule only remarks something, which is said once for all rows."""
    severity = RULES[fault.code].severity if fault.severity is None else fault.severity
    return severity is Severity.INFO


def notice_key(fault: Violation) -> tuple[str, str, str]:
    """Return what rows share that are remarked alike; values of single rows are left out."""
    return fault.code, fault.message, fault.pointer or ""


_PLAIN: Final = frozenset({str, type(None)})
