"""The statistics of instances, summed up by trial as HELM does, in memory of bounded size.

The formulas are those of crfm-helm 0.5.16: `metrics/metric.py` (Metric.evaluate,
compute_worst_case_metrics) and `metrics/basic_metrics.py` (compute_perplexity_metrics).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from evalstream.formats.helm.entries import InstanceEntry
from evalstream.formats.helm.statistics import ORIGINAL, WORST, Name, Stat, perturbation_text
from evalstream.parsing.native.helm import EntrySums

FLAGS: Final = ("robustness", "fairness")
"""The kinds of perturbations over which the worst case of an instance is taken."""

_PERPLEXITY: Final = "perplexity"
_BITS: Final = "bits_per_byte"
_LOGPROB: Final = "logprob_per_byte"

DERIVED: Final[Mapping[str, str]] = {
    _PERPLEXITY: "num_perplexity_tokens",
    _BITS: "num_bytes",
    _LOGPROB: "num_bytes",
}
"""Figures that follow from the sum of `logprob` and another sum."""


class Total(NamedTuple):
    """A sum over instances: the number of values, their sum, and the largest of them.

    `entries` counts the instances that have the statistic. `lone` and `lone_sum` are over the least
    values of the instances without a perturbed copy.
    """

    entries: int = 0
    values: int = 0
    sum: float = 0.0
    largest: float = 0.0
    lone: int = 0
    lone_sum: float = 0.0


class Recomputed(NamedTuple):
    """What the instances give for a statistic: its mean in each trial that has values.

    `rows` counts the instances, and `largest` bounds the numbers that were summed.
    """

    means: Sequence[float]
    rows: int
    largest: float


class RunTotals:
    """The sums of a run by trial. Copies of an instance must be added together."""

    def __init__(self) -> None:
        self._sums = EntrySums()
        self._plain: dict[int, dict[Name, int]] = {}
        self._over_copies: dict[int, dict[Name, int]] = {}

    @property
    def trials(self) -> Sequence[int]:
        """The numbers of the trials."""
        return list(self._plain)

    @property
    def names(self) -> Iterator[Name]:
        """The names of the statistics that instances have, each once."""
        return iter(dict.fromkeys(name for trial in self._plain.values() for name in trial))

    def add(self, copies: Sequence[InstanceEntry]) -> None:
        """Add the copies of one instance in one trial, each with its perturbation."""
        trial, sums = copies[0].instance.trial, self._sums
        known = self._plain.setdefault(trial, {})
        is_lone = len(copies) == 1 and not copies[0].instance.perturbation
        for one in copies:
            form = one.form
            if form is not None and one.values is not None:
                if not form.numbers:
                    form.numbers.extend(self._number(known, name) for name in one.names)
                sums.add_entry(one.values, form.numbers, form.places, is_lone=is_lone)
                continue
            for name, stat in zip(one.names, one.stats, strict=True):
                number = self._number(known, name)
                sums.entries[number] += 1
                sums.add(number, stat.count, stat.sum)
                if is_lone and stat.min is not None:
                    sums.lone[number] += 1
                    sums.lone_sum[number] += stat.min
        if not is_lone:
            self._add_copies(self._over_copies.setdefault(trial, {}), copies)

    def _number(self, known: dict[Name, int], name: Name) -> int:
        """Return the number of a statistic among the sums, a new one if it is new."""
        if name not in known:
            known[name] = self._sums.add_number()
        return known[name]

    def _find(self, known: Mapping[Name, int], name: Name) -> Total | None:
        number, sums = known.get(name), self._sums
        if number is None:
            return None
        return Total(
            *(int(sums.entries[number]), int(sums.values[number]), sums.sum[number]),
            *(sums.largest[number], int(sums.lone[number]), sums.lone_sum[number]),
        )

    def _add_copies(self, known: dict[Name, int], copies: Sequence[InstanceEntry]) -> None:
        """Add an instance with perturbed copies to the figures over them."""
        by_name: dict[Name, list[tuple[str, Stat]]] = {}
        for one in copies:
            for name, stat in zip(one.names, one.stats, strict=True):
                base = name._replace(perturbation="")
                by_name.setdefault(base, []).append((one.instance.perturbation, stat))
        for base, found in by_name.items():
            original = next((stat for perturbation, stat in found if not perturbation), None)
            for key, compared in _iterate_groups(found):
                least = [one.min for one in compared if one.min is not None]
                if least:
                    worst = base._replace(perturbation=f"{WORST} {key}")
                    self._sums.add(self._number(known, worst), 1, min(least))
                if original is not None and key not in FLAGS:
                    before = base._replace(perturbation=f"{ORIGINAL} {key}")
                    number = self._number(known, before)
                    self._sums.add(number, original.count, original.sum)

    def has_metric(self, name: str) -> bool:
        """Tell whether instances have a metric, in whatever split and perturbation."""
        return any(known.name == name for known in self.names)

    def count_entries(self, name: Name) -> int:
        """Return how many entries of instances, in all trials, have a statistic."""
        found = (self._find(known, name) for known in self._plain.values())
        return sum(total.entries for total in found if total is not None)

    def recompute(self, name: Name) -> Recomputed | None:
        """Return what the instances give for a statistic, None where they give nothing."""
        key, computed_on = describe_perturbation(name.perturbation)
        if computed_on in (ORIGINAL, WORST):
            found = [self._find_over_copies(trial, name, key, computed_on) for trial in self._plain]
        elif any(name in known for known in self._plain.values()):
            found = [self._find(known, name) for known in self._plain.values()]
        elif name.name in DERIVED:
            return self._derive(name)
        else:
            return None
        known = [total for total in found if total is not None]
        if not known:
            return None
        means = [total.sum / total.values for total in known if total.values]
        rows = sum(total.values for total in known)
        return Recomputed(means, rows, max(total.largest for total in known))

    def _find_over_copies(self, trial: int, name: Name, key: str, computed_on: str) -> Total | None:
        worst = name._replace(perturbation=f"{computed_on} {key}")
        over = self._find(self._over_copies.get(trial, {}), worst)
        lone = self._find(self._plain[trial], name._replace(perturbation=""))
        found = over or Total()
        if lone is not None and key in FLAGS and computed_on == WORST:
            found = found._replace(
                values=found.values + lone.lone,
                sum=found.sum + lone.lone_sum,
                largest=max(found.largest, lone.largest),
            )
        return found if found.values or over is not None else None

    def _derive(self, name: Name) -> Recomputed | None:
        """Return a figure that follows from two sums of each trial."""
        means, rows = [], 0
        for known in self._plain.values():
            logprob = self._find(known, name._replace(name="logprob"))
            other = self._find(known, name._replace(name=DERIVED[name.name]))
            if logprob is None or other is None or not other.sum > 0:
                continue
            rows += logprob.entries
            share = logprob.sum / other.sum
            if name.name == _PERPLEXITY:
                means.append(math.exp(-share) if -share < math.log(1.7e308) else math.inf)
            else:
                means.append(share if name.name == _LOGPROB else -share / math.log(2))
        return Recomputed(means, rows, max(map(abs, means))) if means else None


def _iterate_groups(found: Sequence[tuple[str, Stat]]) -> Iterator[tuple[str, list[Stat]]]:
    """Iterate over the statistics of which the worst is taken: the original is in each group."""
    own = [stat for perturbation, stat in found if not perturbation]
    for flag in FLAGS:
        yield flag, own + [stat for one, stat in found if one and _has_flag(one, flag)]
    for one, stat in found:
        if one:
            yield describe_perturbation(one)[0], [*own, stat]


@lru_cache(maxsize=1024)
def _has_flag(perturbation: str, flag: str) -> bool:
    return bool(json.loads(perturbation).get(flag))


@lru_cache(maxsize=1024)
def describe_perturbation(text: str) -> tuple[str, str]:
    """Return a key of a perturbation without what it is computed on, and that, "" for none.

    The worst over all copies of a kind has the name of the kind as its key.
    """
    said: dict[str, Any] = json.loads(text) if text else {}
    computed_on = said.pop("computed_on", "")
    is_kind = computed_on == WORST and said.get("name") in FLAGS
    key = said["name"] if is_kind else perturbation_text(said)
    return key, computed_on if isinstance(computed_on, str) else ""
