"""The statistics of instances in their order: quickly where they are written as those of others."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Final

from evalstream.formats.helm.requests import arrange_scores
from evalstream.formats.helm.statistics import FIGURES, InstanceEntry, Name, RunTotals, Stat
from evalstream.formats.helm.store import InstanceStore, RawRow
from evalstream.io.spill_table import encode_name
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.array_elements import Piece
from evalstream.parsing.native.binding import library
from evalstream.parsing.native.items import EntryScanner, ItemPlace, SumTerms

if TYPE_CHECKING:
    from evalstream.formats.helm.compared import EntrySamples

MOST_COPIES: Final = 10_000
"""Most copies of one instance that are summed up together."""

FIRST_OF_BASIC: Final = "num_references"
"""The first statistic in entries of the class of metrics whose scores follow from the requests."""

CONFIDENCE: Final = ("max_prob", "exact_match")
"""The statistics that calibration needs."""

_MEMBERS: Final = ("sum", "sum_squared", *FIGURES)
_NUMBER: Final = re.compile(
    rb'"(?P<key>%s)"[ \t\n\r]*:[ \t\n\r]*(?P<number>-?[0-9.eE+-]+)' % "|".join(_MEMBERS).encode()
)
_ID: Final = re.compile(rb'"instance_id"[ \t\n\r]*:[ \t\n\r]*("[^"\\]*")')


class Form(NamedTuple):
    """Entries that differ in their ids and figures alone: one of them, and the kind of its row.

    `places` are those of the values of its statistics, None for one without a value, and `values`
    is their number; `scores` and `confidence` are the places of those that the store keeps, None
    for a score that is missing.
    """

    entry: InstanceEntry
    kind: int
    places: Sequence[int | None]
    values: int
    scores: Sequence[int | None]
    confidence: Sequence[int]

    @property
    def trial(self) -> int:
        """The trial of the entries."""
        return self.entry.instance.trial

    def make_entry(self, id_: bytes, values: array[float], at: int) -> InstanceEntry:
        """Return the entry of an instance whose values begin at a place."""
        stats = [
            Stat(0, 0.0, 0.0) if place is None else Stat.of_value(values[at + place])
            for place in self.places
        ]
        instance = self.entry.instance._replace(id=id_.decode())
        return InstanceEntry(instance, self.entry.names, stats)


class EntryCollector:
    """Takes entries in their order: for the totals, for the store, and for a comparison.

    `scored` are the metrics whose scores follow from requests. In a windowed run an instance has
    several entries of one kind.
    """

    def __init__(
        self,
        store: InstanceStore,
        scored: Sequence[str],
        samples: EntrySamples | None,
        *,
        is_windowed: bool,
    ) -> None:
        self.totals, self.count = RunTotals(), 0
        self._store, self._scored, self._samples = store, scored, samples
        self._is_windowed = is_windowed
        self._copies: list[InstanceEntry] = []
        self._last: tuple[bytes, int] | None = None
        self._cluster = 0
        self._scanner: EntryScanner | None = None
        self._forms: list[Form] = []
        self._terms: dict[tuple[int, ...], SumTerms] = {}

    def make_scanner(self, take_plain: Callable[[Piece, ItemPlace], None]) -> EntryScanner | None:
        """Return what takes entries that are written as one before, None without the library.

        Plain entries of another form go to `take_plain`.
        """
        loaded = library()
        if loaded is not None:
            self._scanner = EntryScanner(loaded, self._take_alike, take_plain)
        return self._scanner

    def add(self, found: InstanceEntry, line: int, column: int | None, offset: int) -> None:
        """Take an entry at a position."""
        if found.is_of_request:
            self.totals.add_request(found)
            self._keep(found, line, column, offset)
            return
        last = encode_name(found.instance.id), found.instance.trial
        if last != self._last or self._is_windowed or len(self._copies) >= MOST_COPIES:
            self.close()
            self._last = last
        self._copies.append(found)
        self._keep(found, line, column, offset)

    def _keep(self, found: InstanceEntry, line: int, column: int | None, offset: int) -> None:
        self._store.add([self._make_row(found, line, column)])
        self.count += 1
        if self._samples is not None:
            self._samples.add(found, line, offset)

    def close(self) -> None:
        """Add the copies of the last instance to the totals."""
        if self._copies:
            self.totals.add(self._copies)
        self._copies = []
        self._cluster += 1

    def learn(self, text: bytes, entry: InstanceEntry) -> None:
        """Remember how a sound entry is written, unless that is unusual."""
        ids, numbers = list(_ID.finditer(text)), list(_NUMBER.finditer(text))
        members = [_MEMBERS if one.count else _MEMBERS[:2] for one in entry.stats]
        is_usual = [found["key"].decode() for found in numbers] == list(chain(*members))
        if self._scanner is None or not is_usual or len(ids) != 1 or not numbers:
            return
        if entry.is_of_request:
            return
        if any(one.count > 1 for one in entry.stats) or ids[0].end() > numbers[0].start():
            return
        blanks, rest = [ids[0].span(1)], iter(numbers)
        for its in members:
            spans = [found.span("number") for found in islice(rest, len(its))]
            blanks += spans if its is _MEMBERS else []
        starts = [0, *(stop for _, stop in blanks)]
        stops = [*(start for start, _ in blanks), len(text)]
        texts = [text[start:stop] for start, stop in zip(starts, stops, strict=True)]
        form = self._make_form(entry)
        if form is not None and self._scanner.add_form(texts, form.values):
            self._forms.append(form)

    def _make_form(self, entry: InstanceEntry) -> Form | None:
        """Return the form of an entry of single values, None where a score is in it twice."""
        numbers = count()
        places = [next(numbers) if one.count else None for one in entry.stats]
        pairs = [
            (name.name, float(place))
            for name, place in zip(entry.names, places, strict=True)
            if place is not None
        ]
        scores = self._arrange(entry.names, pairs) or ()
        if len(scores) > 2 * len(self._scored):
            return None
        kept = [None if math.isnan(place) else int(place) for place in scores]
        confidence = [places[at] for at in _find_confidence(entry.names)]
        known = [place for place in confidence if place is not None]
        kind = self._make_row(entry, 0, None)[1]
        known = known if len(known) == len(CONFIDENCE) else []
        return Form(entry, kind, places, next(numbers), kept, known)

    def _make_row(self, found: InstanceEntry, line: int, column: int | None) -> RawRow:
        (id_, perturbation, trial), first = found.instance, next(iter(found.names), Name(""))
        kind = self._store.number_kind(perturbation, trial, *first[:3])
        known = [found.stats[at] for at in _find_confidence(found.names)]
        sums = [one.sum / one.count for one in known if one.count]
        confidence = (sums[0], int(sums[1])) if len(sums) == len(CONFIDENCE) else (None, None)
        scores = self._arrange(found.names, found.scores)
        packed = None if scores is None else scores.tobytes()
        key = encode_name(id_), kind, self.count, line, column
        return (*key, packed, self._cluster, *confidence)

    def _arrange(
        self, names: Sequence[Name], scores: Iterable[tuple[str, float]]
    ) -> array[float] | None:
        is_basic = self._scored and names and names[0].name == FIRST_OF_BASIC
        return arrange_scores(scores, self._scored) if is_basic else None

    def _take_alike(self, piece: Piece, places: Sequence[ItemPlace], values: array[float]) -> None:
        """Take entries of known forms, with the values of all of them one behind the other."""
        rows, at = [], 0
        # What was summed up last, with the values from a place on, and what waits: forms of copies.
        run, run_at, times = tuple[int, ...](), 0, 0
        copies, copies_at = list[int](), 0
        for start, _, line, column, number, id_start, id_stop in places:
            form, id_ = self._forms[number], piece.data[id_start:id_stop]
            last = id_, form.trial
            is_new = last != self._last or self._is_windowed
            if is_new or len(copies) + len(self._copies) >= MOST_COPIES:
                if tuple(copies) == run:
                    times += 1
                else:
                    self._add_run(run, values, run_at, times)
                    run, run_at, times = tuple(copies), copies_at, 1
                self.close()
                copies, copies_at, self._last = [], at, last
            if self._copies:
                self._copies.append(form.make_entry(id_, values, at))
            else:
                copies.append(number)
            scores = [math.nan if one is None else values[at + one] for one in form.scores]
            known = [values[at + place] for place in form.confidence]
            where = self.count, line, column, _pack(*scores), self._cluster
            confidence = (known[0], int(known[1])) if known else (None, None)
            rows.append((id_, form.kind, *where, *confidence))
            if self._samples is not None:
                found = form.make_entry(id_, values, at)
                self._samples.add(found, line, piece.offset + start)
            at += form.values
            self.count += 1
        self._add_run(run, values, run_at, times)
        self._store.add(rows)
        for number in copies:
            form = self._forms[number]
            self._copies.append(form.make_entry(rows[-1][0], values, copies_at))
            copies_at += form.values

    def _add_run(
        self, copies: tuple[int, ...], values: array[float], start: int, times: int
    ) -> None:
        """Add the copies of instances to the totals whose forms are the same."""
        if not copies:
            return
        if copies not in self._terms:
            forms, stride, places = [self._forms[number] for number in copies], 0, []
            for form in forms:
                places.append([None if one is None else stride + one for one in form.places])
                stride += form.values
            entries = [form.entry for form in forms]
            self._terms[copies] = self.totals.make_terms(entries, places, stride)
        self.totals.add_values(self._terms[copies], values, start, times)


@lru_cache(maxsize=1024)
def _pack(*scores: float) -> bytes | None:
    """Return scores as rows have them, None for none."""
    return array("d", scores).tobytes() or None


def _find_confidence(names: Sequence[Name]) -> Sequence[int]:
    """Return the indices of the two statistics that calibration needs, none unless both are one."""
    known = [name.name for name in names]
    if any(known.count(name) != 1 for name in CONFIDENCE):
        return ()
    return [known.index(name) for name in CONFIDENCE]
