"""Read the statistics of an instance: quickly where they are written as those of others."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from evalstream.formats.helm.statistics import (
    FIGURES,
    Name,
    Stat,
    make_name,
    make_stat,
    perturbation_text,
)
from evalstream.formats.helm.store import Instance
from evalstream.model.options import Options
from evalstream.parsing.json import FAST_DEPTH
from evalstream.parsing.native.helm import NO_FIGURES, EntryForm, entry_library
from evalstream.parsing.native.items import ItemScanner, item_scanner

WORTH_BYTES: Final = 512 << 10
"""The size of a document from which on loading the scanner takes less time than it saves."""

CONFIDENCE: Final = ("max_prob", "exact_match")
"""The statistics that calibration needs."""

MOST_FORMS: Final = 256
"""Most ways of writing entries that are known at once."""

_MEMBERS: Final = ("sum", "sum_squared", *FIGURES)
_NUMBER: Final = re.compile(
    rb'"(?P<key>%s)"[ \t\n\r]*:[ \t\n\r]*(?P<number>-?[0-9.eE+-]+)' % "|".join(_MEMBERS).encode()
)
_ID: Final = re.compile(rb'"instance_id"[ \t\n\r]*:[ \t\n\r]*("[^"\\]*")')


class Form(NamedTuple):
    """Entries that differ in their ids and figures alone: what they have in common.

    `names` are those of the statistics, and `places` the places of their values among those that
    `scanner` reads, NO_FIGURES for statistics without a value. `numbers` are those in totals, and
    `scores` the names and places of the scores that follow from requests. `confidence` are the
    places of the probability of the answer, and of whether it is right.
    """

    scanner: EntryForm
    perturbation: str
    trial: int
    names: Sequence[Name]
    places: array[int]
    numbers: array[int]
    scores: Sequence[tuple[str, int]]
    confidence: tuple[int, int] | None


class InstanceEntry(NamedTuple):
    """The statistics of an instance with their names.

    With a form they are those over the `values` of single values.
    """

    instance: Instance
    names: Sequence[Name]
    own_stats: Sequence[Stat] = ()
    form: Form | None = None
    values: array[float] | None = None

    @property
    def stats(self) -> Sequence[Stat]:
        """The statistics, in the order of the names."""
        if self.form is None or self.values is None:
            return self.own_stats
        values, places = self.values, self.form.places
        return [
            Stat(0, 0.0, 0.0) if place == NO_FIGURES else Stat.of_value(values[place])
            for place in places
        ]

    @property
    def scores(self) -> Iterable[tuple[str, float]]:
        """The scores of single values by name; with a form, those that follow from requests."""
        if self.form is not None and self.values is not None:
            return [(name, self.values[place]) for name, place in self.form.scores]
        pairs = zip(self.names, self.own_stats, strict=True)
        return ((name.name, stat.sum) for name, stat in pairs if stat.count == 1)

    @property
    def confidence(self) -> tuple[float, int] | None:
        """The probability of the answer, and whether it is right, as 1 or 0; None for none."""
        if self.form is not None and self.values is not None:
            places = self.form.confidence
            found = None if places is None else [self.values[place] for place in places]
        else:
            stats = [self.own_stats[at] for at in _find_confidence(self.names) or ()]
            found = [one.sum / one.count for one in stats if one.count]
        return (found[0], int(found[1])) if found and len(found) == len(CONFIDENCE) else None


def _find_confidence(names: Sequence[Name]) -> tuple[int, int] | None:
    """Return the indices of the two statistics that calibration needs, None unless both are one."""
    known = [name.name for name in names]
    if any(known.count(name) != 1 for name in CONFIDENCE):
        return None
    return known.index(CONFIDENCE[0]), known.index(CONFIDENCE[1])


def quick_scanner(options: Options, size: int) -> ItemScanner | None:
    """Return what finds plain items in a document of some size, None where that is not worth it."""
    is_quick = options.engine == "auto" and options.max_depth >= FAST_DEPTH
    return item_scanner() if is_quick and size >= WORTH_BYTES else None


class EntryForms:
    """The ways in which entries are written that were met; `scored` are metrics with scores."""

    def __init__(self, scored: Sequence[str]) -> None:
        self._scored = scored
        self._forms: list[Form] = []
        self._next: dict[int, int] = {}
        self._last = 0

    def read(self, text: bytes) -> InstanceEntry | None:
        """Return an entry that has the form of one before, None for any other."""
        likely = self._next.get(self._last, self._last)
        for place in (likely, *range(len(self._forms))):
            if place >= len(self._forms):
                continue
            form = self._forms[place]
            found = form.scanner.read(text)
            if found is not None:
                self._next[self._last] = self._last = place
                instance = Instance(found[0], form.perturbation, form.trial)
                return InstanceEntry(instance, form.names, (), form, found[1])
        return None

    def learn(self, text: bytes, entry: InstanceEntry) -> None:
        """Remember how a sound entry is written."""
        loaded, known = entry_library(), [stat for stat in entry.own_stats if stat.count]
        ids, numbers = list(_ID.finditer(text)), list(_NUMBER.finditer(text))
        keys = [found["key"].decode() for found in numbers]
        expected = [key for one in entry.own_stats for key in _MEMBERS[: 7 if one.count else 2]]
        is_usual = loaded is not None and len(ids) == 1 and keys == expected
        if loaded is None or not is_usual or len(self._forms) >= MOST_FORMS:
            return
        if any(one.count != 1 for one in known) or ids[0].end() > numbers[0].start():
            return
        blanks, places = [ids[0].span(1)], array("I")
        found = iter(numbers)
        for one in entry.own_stats:
            places.append((len(blanks) - 1) // len(_MEMBERS) if one.count else NO_FIGURES)
            spans = [next(found).span("number") for _ in _MEMBERS[: 7 if one.count else 2]]
            blanks += spans if one.count else []
        starts = [0, *(stop for _, stop in blanks)]
        stops = [*(start for start, _ in blanks), len(text)]
        texts = [text[start:stop] for start, stop in zip(starts, stops, strict=True)]
        scanner = EntryForm(loaded, texts, len(known))
        scores = [
            (name.name, place)
            for name, place in zip(entry.names, places, strict=True)
            if place != NO_FIGURES and name.name.partition("@")[0] in self._scored
        ]
        _, perturbation, trial = entry.instance
        pair = _find_confidence(entry.names)
        confidence = None if pair is None else (places[pair[0]], places[pair[1]])
        if confidence is not None and NO_FIGURES in confidence:
            confidence = None
        self._forms.append(
            Form(scanner, perturbation, trial, entry.names, places, array("I"), scores, confidence)
        )


def make_entry(value: Mapping[str, Any]) -> InstanceEntry:
    """Return the entry in a value that is not malformed."""
    perturbation = perturbation_text(value.get("perturbation"))
    names = []
    for one in value["stats"]:
        name = make_name(one["name"])
        # Releases before March 2023 wrote it into the entry alone.
        names.append(name if name.perturbation else name._replace(perturbation=perturbation))
    instance = Instance(str(value["instance_id"]), perturbation, value["train_trial_index"])
    return InstanceEntry(instance, names, [make_stat(one) for one in value["stats"]])
