"""Read the statistics of an instance: quickly where they are as HELM writes them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from evalstream.formats.helm.requests import MOST_TRIALS
from evalstream.formats.helm.statistics import (
    KEY_END,
    Entry,
    Name,
    Names,
    Stat,
    make_name,
    make_stat,
    perturbation_text,
)
from evalstream.formats.helm.store import Instance
from evalstream.parsing.json import FAST_DEPTH

_DECODER: Final = msgspec.json.Decoder(Entry)

_ENTRY_KEYS: Final = 3
_STAT_KEYS: Final = 9
_EMPTY_KEYS: Final = 4
"""The members that every entry has, a statistic with values, and one without."""


class ReadEntry(NamedTuple):
    """The statistics of an instance with their names."""

    instance: Instance
    stats: list[tuple[Name, Stat]]


class EntryReader:
    """Reads entries, and remembers the names of their statistics."""

    def __init__(self, most_depth: int) -> None:
        self._names, self._is_quick = Names(), most_depth >= FAST_DEPTH

    def read(self, text: bytes) -> ReadEntry | None:
        """Return an entry that is as the harness writes it, None for any other.

        The number of its keys shows that no member is repeated or unknown.
        """
        if not self._is_quick:
            return None
        try:
            entry = _DECODER.decode(text)
            perturbation, keys = self._names.perturbation(entry.perturbation)
            stats = []
            for stat in entry.stats:
                name, number = self._names.read(stat.name)
                if stat.count:
                    figures = (stat.min, stat.max, stat.mean, stat.variance, stat.stddev)
                    if stat.count < 0 or None in figures:
                        return None
                    keys += _STAT_KEYS + number
                else:
                    keys += _EMPTY_KEYS + number
                if not name.perturbation and perturbation:
                    # Releases before March 2023 wrote it into the entry alone.
                    name = name._replace(perturbation=perturbation)
                stats.append((name, stat))
        except (ValueError, RecursionError, msgspec.MsgspecError):
            return None
        is_known = keys + _ENTRY_KEYS == text.count(KEY_END)
        trial = entry.train_trial_index
        if not is_known or not 0 <= trial < MOST_TRIALS:
            return None
        return ReadEntry(Instance(str(entry.instance_id), perturbation, trial), stats)


def make_entry(value: dict[str, Any]) -> ReadEntry:
    """Return the entry in a value that is not malformed."""
    perturbation = perturbation_text(value.get("perturbation"))
    stats = []
    for one in value["stats"]:
        name = make_name(one["name"])
        if not name.perturbation:
            name = name._replace(perturbation=perturbation)
        stats.append((name, make_stat(one)))
    instance = Instance(str(value["instance_id"]), perturbation, value["train_trial_index"])
    return ReadEntry(instance, stats)
