"""Find the violations of the rows that the scanner took."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Final

from evalstream.engine.result import AlikeLines, BlockFindings, LineViolations, Room, shorten_values
from evalstream.formats.eee.fast_path import MOST_TEMPLATES, Key, ScanPlan, Template
from evalstream.formats.eee.row_groups import RowGroup, is_aggregated_notice, notice_key
from evalstream.formats.eee.rules.sample_hash import ES401
from evalstream.formats.eee.rules.version import ES216
from evalstream.formats.eee.scanned_rows import ScannedRows
from evalstream.model.block import Lines
from evalstream.model.finding import CountKey, Values, Violation, with_values
from evalstream.parsing import json
from evalstream.parsing.native.binding import CERTAIN_HASH, DOUBTFUL_HASH, NO_LIKENESS, NO_SLOT
from evalstream.parsing.native.scanner import Scanner, find_values, json_path
from evalstream.stats.tally import Tally

Row = Mapping[str, Any]

_Likeness = tuple[int, int, int, int]
"""The parts that decide the violations of a row: scope, signature, doubts, and shape."""


class Wording:
    """The violations of rows that are alike, which are reported, with code and severity of each.

    `fitting` has the versions that fit the rows, where a violation says so.
    """

    def __init__(self, plan: ScanPlan, reported: list[Violation], keys: list[CountKey]) -> None:
        self._plan, self._reported, self.keys = plan, reported, keys
        self._shows_values = plan.context.options.show_values
        fitting = (one.expected["enum"] for one in reported if one.code == ES216.code)
        self.fitting = [*map(frozenset, fitting)]

    @cached_property
    def violations(self) -> list[Violation]:
        """The violations as they are shown; of most kinds of rows none is."""
        context = self._plan.context
        return [shorten_values(one, context.options, context.selection) for one in self._reported]

    @cached_property
    def _filled(self) -> list[tuple[int, Violation]]:
        """The violations whose values are those of a row, with their places."""
        return [
            (place, one)
            for place, one in enumerate(self.violations)
            if one.code == ES401.code or one.found is not None
        ]

    @cached_property
    def paths(self) -> list[bytes]:
        """The paths to what a finding shows of a row: its sample_id, then the found value."""
        found = (json_path(one.pointer or "") for _, one in self._filled)
        return [json_path("/sample_id"), *found]

    def values(self, texts: Iterator[bytes], digest: str) -> list[Values | None]:
        """Return the values of each violation in a row, None for those that all rows share.

        `texts` goes on with what was found in it, and `digest` is that of its input.
        """
        values: list[Values | None] = [None] * len(self.keys)
        for (place, one), text in zip(self._filled, texts, strict=False):
            found = json.shorten(json.fast_known(text)) if text and self._shows_values else None
            values[place] = digest if one.code == ES401.code else one.expected, found
        return values


class ScannerMemory:
    """A scanner, and what it knows of the rows of a plan from one block to the next.

    `ids` are those of each scope, `keys` belong to scopes and signatures, and `wordings` to
    likenesses. The scanner counts rows of a settled likeness in a slot, of which `slots` has the
    wording.
    """

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self._plan: ScanPlan | None = None
        self._forget()

    def _forget(self) -> None:
        self.ids: list[Row] = []
        self.keys: dict[tuple[int, int], Key] = {}
        self.wordings: dict[_Likeness, Wording] = {}
        self.slots: list[Wording] = []
        self._slot_of: dict[object, int] = {}
        self._settled: dict[int, int] = {}

    def start(self, plan: ScanPlan, lines: Lines, offsets: bytes | None, room: Room) -> None:
        """Begin with a block; a likeness stays settled if none of its violations can be shown."""
        data, base, longest = lines.data, lines.base, plan.context.options.max_line_bytes
        keeps = plan is self._plan and not plan.setting.demands.lists_all
        self._plan = plan
        if not self.scanner.start(plan.setting, data, base, offsets, longest, keeps=keeps):
            self._forget()
            return
        shown = {slot for slot, wording in enumerate(self.slots) if room.of(wording.keys)}
        for likeness, slot in [*self._settled.items()] if shown else ():
            if slot in shown:
                self.scanner.settle(likeness, NO_SLOT)
                del self._settled[likeness]

    def settle(self, likenesses: Iterable[int], wording: Wording) -> None:
        """Let the scanner count further rows of some likenesses without their findings."""
        kind = (*wording.keys, *wording.fitting)
        slot = self._slot_of.setdefault(kind, len(self.slots))
        if slot == len(self.slots):
            self.slots.append(wording)
        for likeness in likenesses:
            self._settled[likeness] = slot
            self.scanner.settle(likeness, slot)


class TakenViolations:
    """The violations of taken rows of one block.

    A row is parsed only if a rule is in doubt or a violation may be shown; of all others the
    violations follow from their likeness.
    """

    def __init__(
        self,
        fast_path: ScanPlan,
        data: bytes,
        tally: Tally,
        findings: BlockFindings,
        groups: Mapping[int, RowGroup],
        memory: ScannerMemory,
    ) -> None:
        self._fast_path, self._data, self._tally = fast_path, data, tally
        self._findings, self._groups, self._memory = findings, groups, memory
        self._hash_digits = fast_path.setting.demands.hash_digits
        self._settles = not (findings.needs_numbers or fast_path.setting.demands.lists_all)

    def of(
        self, rows: ScannedRows, offset: Callable[[int, int], int]
    ) -> tuple[list[LineViolations], list[AlikeLines], int]:
        """Return the violations of rows that may be shown, in order, and those of the others.

        The number is that of the rows that rules in Python were asked about.
        """
        if not rows or self._are_sound(rows):
            return [], [], 0
        batch = _Batch(rows, offset)
        doubtful: list[int] = []
        certain: list[AlikeRows] = []
        for likeness, places in self._imperfect(batch.likenesses).items():
            if likeness[2] & _UNCERTAIN:
                doubtful += places
            else:
                certain.append((places, self._wording(batch, places[0])))
        shown, hidden = _part_rows(certain, self._findings.room())
        for places, wording in hidden:
            self._count_fitting(wording, batch.numbers[places[0]], len(places))
            if self._settles:
                likenesses = {batch.numbered[place] for place in places} - {NO_LIKENESS}
                self._memory.settle(likenesses, wording)
        found = self._of_rows(batch, sorted([*doubtful, *shown]))
        alike = [
            AlikeLines(len(places), wording.keys, [batch.numbers[place] for place in places])
            for places, wording in hidden
        ]
        return [line for line in found if line.violations], alike, len(doubtful)

    def _are_sound(self, rows: ScannedRows) -> bool:
        """Tell whether all listed rows are certainly sound."""
        if any(group.violations or group.is_unknown for group in self._groups.values()):
            return False
        return not any(rows.column("signature")) and not any(rows.column("doubts"))

    def count_settled(self) -> None:
        """Count the rows of which no violation could be shown, and that were not listed."""
        slots = self._memory.slots
        for slot, count, first in self._memory.scanner.take_unlisted(len(slots)):
            self._count_fitting(slots[slot], first, count)
            self._findings.count(AlikeLines(count, slots[slot].keys))

    def _imperfect(self, likenesses: list[_Likeness]) -> dict[_Likeness, list[int]]:
        """Return the rows that are not certainly sound, by what decides their violations."""
        by_likeness: dict[_Likeness, list[int]] = {}
        for likeness in {*likenesses}:
            group = self._groups[likeness[0]]
            if likeness[1] or likeness[2] or group.violations or group.is_unknown:
                by_likeness[likeness] = []
        if len(by_likeness) == 1 and by_likeness.keys() == {*likenesses}:
            return {likeness: [*range(len(likenesses))] for likeness in by_likeness}
        if by_likeness:
            for place, likeness in enumerate(likenesses):
                if likeness in by_likeness:
                    by_likeness[likeness].append(place)
        return by_likeness

    def _of_rows(self, batch: _Batch, places: Sequence[int]) -> list[LineViolations]:
        wordings = [self._wording(batch, place) for place in places]
        paths, starts = [*chain.from_iterable(wording.paths for wording in wordings)], list[int]()
        for place, wording in zip(places, wordings, strict=True):
            starts += [batch.starts[place]] * len(wording.paths)
        texts = iter(find_values(self._fast_path.loaded, self._data, starts, paths))
        rows = zip(places, wordings, strict=True)
        return [self._of_row(batch, place, wording, texts) for place, wording in rows]

    def _of_row(
        self, batch: _Batch, place: int, wording: Wording, texts: Iterator[bytes]
    ) -> LineViolations:
        """Return all violations of a row; `texts` goes on with the values that are shown of it."""
        number, start, doubts = batch.numbers[place], batch.starts[place], batch.doubts[place]
        offset, sample, shown = batch.offset(number, start), next(texts), wording.violations
        sample_id = json.fast_known(sample) if sample else None
        digest = batch.digest(place)[: self._hash_digits] if doubts & CERTAIN_HASH else ""
        values = wording.values(texts, digest)
        self._count_fitting(wording, number, 1)
        if not doubts & _UNCERTAIN:
            return LineViolations(number, offset, sample_id, shown, wording.keys, values)
        row = json.fast_known(self._data[start : batch.stops[place]])
        more = map(self._findings.shorten, self._of_doubtful_rules(row, doubts, number))
        certain = map(with_values, shown, values)
        found, keys = self._findings.prepare([*certain, *more])
        return LineViolations(number, offset, sample_id, found, keys, [None] * len(keys))

    def _of_doubtful_rules(self, row: Row, doubts: int, number: int) -> Iterator[Violation]:
        for doubt, check in self._fast_path.checks:
            if doubts & doubt:
                for violation in check(row):
                    if is_aggregated_notice(violation):
                        self._tally.notices.add(notice_key(violation), number)
                    else:
                        yield violation
        if doubts & DOUBTFUL_HASH and not doubts & CERTAIN_HASH:
            wrong = self._fast_path.check_hash(row, number, self._tally)
            if wrong is not None:
                yield wrong

    def _wording(self, batch: _Batch, place: int) -> Wording:
        """Return the wording of a row but for rules that are in doubt."""
        likeness, wordings = batch.likenesses[place], self._memory.wordings
        known = wordings.get(likeness)
        if known is None:
            if len(wordings) >= MOST_TEMPLATES:
                wordings.clear()
            known = wordings[likeness] = self._word(batch, place)
        return known

    def _word(self, batch: _Batch, place: int) -> Wording:
        likeness, plan = batch.likenesses[place], self._fast_path
        violations = [*self._template(batch, likeness, place)]
        violations += self._groups[likeness[0]].violations
        if likeness[2] & CERTAIN_HASH:
            violations.append(plan.wrong_hash)
        return Wording(plan, *self._findings.prepare(violations))

    def _template(self, batch: _Batch, likeness: _Likeness, place: int) -> Template:
        if not likeness[1] and not self._groups[likeness[0]].is_unknown:
            return ()
        key, templates = self._key(likeness), self._fast_path.templates
        known = templates.find_template(key, likeness[3])
        if known is not None:
            return known
        row = json.fast_known(self._data[batch.starts[place] : batch.stops[place]])
        made = templates.made(key, likeness[3], row)
        if likeness[1] and templates.is_shared(key):
            self._memory.scanner.ignore_shapes(likeness[1])
        return made

    def _key(self, likeness: _Likeness) -> Key:
        keys, scanner = self._memory.keys, self._memory.scanner
        key = keys.get(likeness[:2])
        if key is None:
            group, number = self._groups[likeness[0]], likeness[1]
            unknown = group.declared if group.is_unknown else None
            key = keys[likeness[:2]] = unknown, scanner.signature(number) if number else b""
            if number and self._fast_path.templates.is_shared(key):
                scanner.ignore_shapes(number)
        return key

    def _count_fitting(self, wording: Wording, first: int, times: int) -> None:
        for versions in wording.fitting:
            self._tally.fitting.add(versions, first, times)


AlikeRows = tuple[list[int], Wording]
"""The places of rows that are alike, and their wording."""

_UNCERTAIN: Final = CERTAIN_HASH - 1


def _part_rows(alike: list[AlikeRows], room: Room) -> tuple[list[int], list[AlikeRows]]:
    """Return the rows of which a violation may be shown, and the others."""
    if room.is_endless:
        return [place for places, _ in alike for place in places], []
    keys = [wording.keys for _, wording in alike]
    hidden: list[list[int]] = []
    candidates: list[tuple[int, int]] = []
    for number, (places, _) in enumerate(alike):
        most = room.of(keys[number])
        candidates += [(place, number) for place in places[:most]]
        hidden.append(places[most:])
    shown: list[int] = []
    for place, number in sorted(candidates):
        if room.of(keys[number]) == 0:
            hidden[number].append(place)
        else:
            room.take(keys[number])
            shown.append(place)
    pairs = zip(hidden, alike, strict=True)
    return shown, [(sorted(places), wording) for places, (_, wording) in pairs if places]


class _Batch:
    """Columns of listed rows."""

    def __init__(self, rows: ScannedRows, offset: Callable[[int, int], int]) -> None:
        self.offset, self.digest = offset, rows.digest
        self.numbers, self.numbered = map(rows.column, ("line", "likeness"))
        self.starts, self.stops = map(rows.column, ("start", "stop"))
        scopes, signatures, shapes = map(rows.column, ("scope", "signature", "shape"))
        self.doubts = rows.column("doubts")
        likenesses = zip(scopes, signatures, self.doubts, shapes, strict=True)
        self.likenesses: list[_Likeness] = [*likenesses]
