"""Find the violations of the rows that the scanner took: of the schema, of ids, of doubtful rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evalstream.engine.result import AlikeLines, BlockFindings, LineViolations
from evalstream.formats.eee.row_groups import RowGroup, is_aggregated_notice, notice_key
from evalstream.formats.eee.row_templates import SOUND, Template
from evalstream.formats.eee.rules.version import ES216
from evalstream.model.finding import Violation
from evalstream.parsing import json
from evalstream.parsing.native.binding import DOUBTFUL_HASH, Flag

if TYPE_CHECKING:
    from evalstream.formats.eee.fast_block import FastPath
    from evalstream.formats.eee.scanned_rows import ScannedRows
    from evalstream.stats.tally import Tally

Row = Mapping[str, Any]


class _Likeness(NamedTuple):
    """What decides the violations of a row: its ids, its signature, and which rules are in doubt."""

    scope: int
    signature: int
    doubts: int


class TakenViolations:
    """The violations of taken rows of one block.

    A row is parsed only if a rule is in doubt or a violation may be shown; of all others the
    violations follow from their likeness. `signature` returns the bytes of a signature by number.
    """

    def __init__(
        self,
        fast_path: FastPath,
        data: bytes,
        tally: Tally,
        findings: BlockFindings,
        groups: Sequence[RowGroup],
        signature: Callable[[int], bytes],
    ) -> None:
        self._fast_path, self._data, self._tally = fast_path, data, tally
        self._findings, self._groups, self._signature = findings, groups, signature
        self._keys: dict[tuple[int, int], tuple[Any, bytes]] = {}

    def of(
        self, rows: ScannedRows, offsets: Callable[[int, int], int]
    ) -> tuple[list[LineViolations], list[AlikeLines]]:
        """Return the violations of rows that may be shown, in order, and those of the others."""
        batch = _Batch(rows, offsets)
        shown: list[int] = []
        alike: list[AlikeLines] = []
        for likeness, places in self._imperfect(batch).items():
            if likeness.doubts:
                shown += places
            else:
                for some, template in self._by_template(batch, likeness, places):
                    shown += self._set_aside(batch, likeness, some, template, alike)
        found = [self._of_row(batch, place) for place in sorted(shown)]
        return [line for line in found if line.violations], alike

    def _imperfect(self, batch: _Batch) -> dict[_Likeness, list[int]]:
        """Return the rows that are not certainly sound, by what decides their violations."""
        by_likeness: dict[_Likeness, list[int]] = {}
        for likeness in {*batch.likenesses}:
            group = self._groups[likeness.scope]
            if likeness.signature or likeness.doubts or group.violations or group.is_unknown:
                by_likeness[likeness] = []
        if by_likeness:
            for place, likeness in enumerate(batch.likenesses):
                if likeness in by_likeness:
                    by_likeness[likeness].append(place)
        return by_likeness

    def _by_template(
        self, batch: _Batch, likeness: _Likeness, places: list[int]
    ) -> Iterator[tuple[list[int], Template]]:
        """Return rows with the same signature by their template."""
        templates = self._fast_path.templates
        first = self._template(batch, likeness, places[0])
        if first is SOUND or templates.is_shared(self._key(likeness)):
            yield places, first
            return
        by_shape: dict[int, list[int]] = {}
        for place in places:
            by_shape.setdefault(batch.shapes[place], []).append(place)
        for some in by_shape.values():
            yield some, self._template(batch, likeness, some[0])

    def _set_aside(
        self,
        batch: _Batch,
        likeness: _Likeness,
        places: list[int],
        template: Template,
        alike: list[AlikeLines],
    ) -> list[int]:
        """Count the rows whose violations are not shown, and return the others."""
        group = self._groups[likeness.scope]
        violations = [*template.violations, *group.violations]
        room = self._findings.room(violations)
        if room is None or room >= len(places):
            return places
        rest = places[room:]
        alike.append(AlikeLines([batch.numbers[place] for place in rest], violations))
        self._count_fitting(template.violations, batch.numbers[rest[0]], len(rest))
        return places[:room]

    def _of_row(self, batch: _Batch, place: int) -> LineViolations:
        """Return all violations of a row."""
        likeness, number = batch.likenesses[place], batch.numbers[place]
        group = self._groups[likeness.scope]
        row = json.fast(self._data[batch.starts[place] : batch.stops[place]])
        template = self._template(batch, likeness, place, row)
        self._count_fitting(template.violations, number, 1)
        found = [*template.filled(row), *group.violations]
        if likeness.doubts:
            found += self._of_doubtful_rules(row, likeness.doubts, number)
        offset = batch.offset(number, batch.starts[place])
        return LineViolations(number, offset, row.get("sample_id"), found)

    def _of_doubtful_rules(self, row: Row, doubts: int, number: int) -> Iterator[Violation]:
        for bit, check in self._fast_path.checks:
            if doubts & bit:
                for violation in check(row):
                    if is_aggregated_notice(violation):
                        self._tally.notices.add(notice_key(violation), number)
                    else:
                        yield violation
        if doubts & DOUBTFUL_HASH:
            wrong = self._fast_path.check_hash(row, number, self._tally)
            if wrong is not None:
                yield wrong

    def _template(
        self, batch: _Batch, likeness: _Likeness, place: int, row: Row | None = None
    ) -> Template:
        if not likeness.signature and not self._groups[likeness.scope].is_unknown:
            return SOUND
        if row is None:
            row = json.fast(self._data[batch.starts[place] : batch.stops[place]])
        return self._fast_path.templates.of(self._key(likeness), batch.shapes[place], row)

    def _key(self, likeness: _Likeness) -> tuple[Any, bytes]:
        key = self._keys.get(likeness[:2])
        if key is None:
            group = self._groups[likeness.scope]
            unknown = group.declared if group.is_unknown else None
            signature = self._signature(likeness.signature) if likeness.signature else b""
            key = self._keys[likeness[:2]] = unknown, signature
        return key

    def _count_fitting(self, violations: Sequence[Violation], first: int, times: int) -> None:
        """Count rows that another version fits."""
        for violation in violations:
            if violation.code == ES216.code:
                versions = frozenset(violation.expected["enum"])
                self._tally.fitting.add(versions, first, times)


_WATCHED: Final = Flag.WATCHED << 32
"""The doubt about the rules that the scanner does not test."""


def doubt_of(bit: int | None) -> int:
    """Return the doubt about a rule by its bit, None for a rule that the scanner does not test."""
    return _WATCHED if bit is None else 1 << bit


class _Batch:
    """Columns of taken rows."""

    def __init__(self, rows: ScannedRows, offset: Callable[[int, int], int]) -> None:
        self.numbers, self.offset = rows.numbers, offset
        self.starts, self.stops, self.shapes = map(rows.column, ("start", "stop", "shape"))
        doubts = rows.doubts
        if rows.have(Flag.WATCHED):
            flags = rows.column("flags")
            doubts = [
                doubt | (_WATCHED if flag & Flag.WATCHED else 0)
                for doubt, flag in zip(doubts, flags, strict=True)
            ]
        columns = zip(rows.column("scope"), rows.column("signature"), doubts, strict=True)
        self.likenesses = [*map(_Likeness._make, columns)]
