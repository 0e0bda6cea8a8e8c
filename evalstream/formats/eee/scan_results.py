"""Read columns of the rows that the scanner took, and find their violations."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine.result import AlikeLines, BlockFindings, LineViolations, Room, shorten_values
from evalstream.formats.eee.fast_path import MOST_TEMPLATES, Key, ScanPlan, Template
from evalstream.formats.eee.row_groups import RowGroup, is_aggregated_notice, notice_key
from evalstream.formats.eee.rules.sample_hash import ES401
from evalstream.formats.eee.rules.version import ES216
from evalstream.model.finding import CountKey, Values, Violation, with_values
from evalstream.model.row_record import RECORD_BYTES
from evalstream.model.sample_record import ROW_WORDS
from evalstream.parsing import json
from evalstream.parsing.native.binding import (
    CERTAIN_HASH,
    COLUMNS,
    DOUBTFUL_HASH,
    NO_LIKENESS,
    NO_SLOT,
)
from evalstream.parsing.native.scanner import Scanner

if TYPE_CHECKING:
    from evalstream.model.block import Lines
    from evalstream.stats.tally import Tally

Row = Mapping[str, Any]

_COLUMN: Final = {name: place for place, name in enumerate(COLUMNS)}
_WORDS: Final = len(COLUMNS)
_RECORD_WORDS: Final = RECORD_BYTES // 8
_SAMPLE_GROUP: Final = 3
"""The index of the word of a sample row that numbers its group."""

_OUTPUT: Final = 6
"""The index of the word of a record that digests the model's output."""


class ScannedRows:
    """The scanner's results for some lines.

    `lines` counts all lines, `kinds` the rows that it took by what they have in common, and
    `records` are their row records. The columns are those of listed rows that it took.
    """

    def __init__(self, scanner: Scanner, first: int) -> None:
        self._scanner, self._words = scanner, scanner.words()
        self.records, self.kinds = scanner.records(), scanner.kinds()
        self.lines, self._first = scanner.line - first, first
        flags = self._all("flags")
        self._taken: Sequence[int] = range(len(flags))
        if 0 in flags:
            self._taken = [place for place, flag in enumerate(flags) if flag]
        self._has_left = len(self._taken) < len(flags)

    def __len__(self) -> int:
        """Return how many rows are listed."""
        return len(self._taken)

    def left(self) -> Sequence[tuple[int, int, int]]:
        """Return index, start and end of the lines that were not taken."""
        if not self._has_left:
            return ()
        columns = map(self._all, ("line", "start", "stop", "flags"))
        return [
            (line - self._first, start, stop)
            for line, start, stop, flags in zip(*columns, strict=True)
            if not flags
        ]

    def column(self, name: str) -> list[int]:
        """Return a column of the listed rows."""
        column = self._all(name)
        return [column[place] for place in self._taken] if self._has_left else column

    def texts(self, name: str, behind: str) -> list[bytes]:
        """Return a text of each listed row; each text ends where the next one starts."""
        texts = self._scanner.texts()
        places = zip(self.column(name), self.column(behind), strict=True)
        return [texts[start:stop] for start, stop in places]

    def links(self) -> list[int]:
        """Return the words that link the rows to those of other runs, LINK_WORDS for each."""
        return self._scanner.links()

    def samples(self, groups: Mapping[int, int]) -> array[int]:
        """Return the words of the rows for a comparison; `groups` numbers the row groups."""
        words = array("Q", self._scanner.samples())
        if any(scope != group for scope, group in groups.items()):
            scopes = words[_SAMPLE_GROUP::ROW_WORDS]
            words[_SAMPLE_GROUP::ROW_WORDS] = array("Q", map(groups.__getitem__, scopes))
        return words

    def add_outputs(self, digests: Iterator[int]) -> None:
        """Join digests of the model's output with those of the choices in the records."""
        words = array("Q", self.records)
        both = zip(words[_OUTPUT::_RECORD_WORDS], digests, strict=True)
        words[_OUTPUT::_RECORD_WORDS] = array("Q", [choices ^ said for choices, said in both])
        self.records = words.tobytes()

    def _all(self, name: str) -> list[int]:
        return self._words[_COLUMN[name] :: _WORDS].tolist()


_Likeness = tuple[int, int, int, int]
"""What decides the violations of a row: its scope, its signature, its doubts, and its shape."""


class Wording:
    """The violations of rows that are alike, which are reported, with code and severity of each.

    `fitting` has the versions that fit the rows, where a violation says so.
    """

    def __init__(self, plan: ScanPlan, reported: list[Violation], keys: list[CountKey]) -> None:
        self._plan, self._reported, self.keys = plan, reported, keys
        fitting = (one.expected["enum"] for one in reported if one.code == ES216.code)
        self.fitting = [*map(frozenset, fitting)]

    @cached_property
    def violations(self) -> list[Violation]:
        """The violations as they are shown; of most kinds of rows none is."""
        context = self._plan.context
        return [shorten_values(one, context.options, context.selection) for one in self._reported]

    @cached_property
    def _fillers(self) -> list[tuple[int, Callable[[Row], Values]]]:
        """What returns the values of a row, and the places of the violations that have them."""
        return [
            (
                place,
                self._plan.hash_values if one.code == ES401.code else partial(_find_values, one),
            )
            for place, one in enumerate(self.violations)
            if one.code == ES401.code or one.found is not None
        ]

    def values(self, row: Row) -> list[Values | None]:
        """Return the values of each violation in a row, None for those that all rows share."""
        values: list[Values | None] = [None] * len(self.keys)
        for place, filler in self._fillers:
            values[place] = filler(row)
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
        """Let the scanner count further rows of some likenesses, of which none is shown."""
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
        found = [self._of_row(batch, place) for place in sorted([*doubtful, *shown])]
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

    def _of_row(self, batch: _Batch, place: int) -> LineViolations:
        """Return all violations of a row."""
        doubts, number = batch.likenesses[place][2], batch.numbers[place]
        start, wording = batch.starts[place], self._wording(batch, place)
        line, offset = self._data[start : batch.stops[place]], batch.offset(number, start)
        self._count_fitting(wording, number, 1)
        row = json.fast_known(line)
        sample, shown, values = row.get("sample_id"), wording.violations, wording.values(row)
        if not doubts & _UNCERTAIN:
            return LineViolations(number, offset, sample, shown, wording.keys, values)
        more = map(self._findings.shorten, self._of_doubtful_rules(row, doubts, number))
        certain = map(with_values, shown, values)
        found, keys = self._findings.prepare([*certain, *more])
        return LineViolations(number, offset, sample, found, keys, [None] * len(keys))

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
        """Make the wording of a row."""
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
        """Count rows that another version fits."""
        for versions in wording.fitting:
            self._tally.fitting.add(versions, first, times)


def _find_values(violation: Violation, row: Row) -> Values:
    """Return what a violation expects, and the value that a row has at its pointer."""
    return violation.expected, json.shorten(json.resolve_pointer(row, violation.pointer or ""))


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
        self.offset, self.numbers, self.numbered = offset, *map(rows.column, ("line", "likeness"))
        self.starts, self.stops = map(rows.column, ("start", "stop"))
        parts = map(rows.column, ("scope", "signature", "doubts", "shape"))
        self.likenesses: list[_Likeness] = [*zip(*parts, strict=True)]
