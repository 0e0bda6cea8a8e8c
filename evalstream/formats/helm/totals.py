"""The statistics of instances, summed up by trial as HELM does, in memory of bounded size.

The formulas are those of crfm-helm 0.5.16: `metrics/metric.py` (Metric.evaluate,
compute_worst_case_metrics) and `metrics/basic_metrics.py` (compute_perplexity_metrics).
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar

from evalstream.formats.helm.statistics import (
    ORIGINAL,
    WORST,
    InstanceEntry,
    Name,
    perturbation_text,
)
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.native.items import SumTerms, ValueSums, entry_library

T = TypeVar("T")

FLAGS: Final = ("robustness", "fairness")
"""The kinds of perturbations over which the worst case of an instance is taken."""

LONE: Final = "lone"
"""Stands for a perturbation in the sums over instances without a perturbed copy."""

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
    """A sum over instances: those that have the statistic, its values, their sum, the largest."""

    entries: int = 0
    values: int = 0
    sum: float = 0.0
    largest: float = 0.0


class Recomputed(NamedTuple):
    """A statistic computed from the instances: its mean in each trial that has values.

    `rows` counts the instances, and `largest` bounds the numbers that were summed.
    """

    means: Sequence[float]
    rows: int
    largest: float


class RunTotals:
    """The sums of a run by trial. Copies of an instance must be added together."""

    def __init__(self) -> None:
        self._sums = ValueSums(entry_library())
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
        stats = [one.stats for one in copies]
        for known, name, found, is_least in self._iterate_terms(copies, stats):
            least = [stat.min for stat in found if stat.min is not None]
            if not is_least:
                self._sums.add(self._number(known, name), found[0].count, found[0].sum)
            elif least:
                self._sums.add(self._number(known, name), 1, min(least))

    def make_terms(
        self, copies: Sequence[InstanceEntry], places: Sequence[Sequence[int | None]], stride: int
    ) -> SumTerms:
        """Return what copies add whose statistics have the values at some places, or none."""
        terms = []
        for known, name, found, is_least in self._iterate_terms(copies, places):
            values = [place for place in found if place is not None]
            if values or not is_least:
                terms.append((self._number(known, name), values))
        return SumTerms(terms, stride)

    def add_values(self, terms: SumTerms, values: array[float], start: int, times: int) -> None:
        """Add terms over the values from a place on, one after the other, some times."""
        self._sums.add_values(terms, values, start, times)

    def _iterate_terms(
        self, copies: Sequence[InstanceEntry], stats: Sequence[Sequence[T]]
    ) -> Iterator[tuple[dict[Name, int], Name, Sequence[T], bool]]:
        """Iterate over what copies with some statistics add: to which sum, and whether the least.

        What an instance without a perturbed copy adds to the worst cases is under `LONE`.
        """
        trial = copies[0].instance.trial
        known, over = self._plain.setdefault(trial, {}), self._over_copies.setdefault(trial, {})
        is_lone = len(copies) == 1 and not copies[0].instance.perturbation
        by_name: dict[Name, list[tuple[str, T]]] = {}
        for one, its in zip(copies, stats, strict=True):
            for name, stat in zip(one.names, its, strict=True):
                yield known, name, [stat], False
                if is_lone:
                    yield over, name._replace(perturbation=LONE), [stat], True
                else:
                    base = name._replace(perturbation="")
                    by_name.setdefault(base, []).append((one.instance.perturbation, stat))
        for base, found in by_name.items():
            original = next((stat for perturbation, stat in found if not perturbation), None)
            for key, compared in _iterate_groups(found):
                yield over, base._replace(perturbation=f"{WORST} {key}"), compared, True
                if original is not None and key not in FLAGS:
                    yield over, base._replace(perturbation=f"{ORIGINAL} {key}"), [original], False

    def _number(self, known: dict[Name, int], name: Name) -> int:
        """Return the number of a statistic among the sums, a new one if it is new."""
        if name not in known:
            known[name] = self._sums.add_number()
        return known[name]

    def _find(self, known: Mapping[Name, int], name: Name) -> Total | None:
        number, sums = known.get(name), self._sums
        if number is None:
            return None
        counts = int(sums.entries[number]), int(sums.values[number])
        return Total(*counts, sums.sum[number], sums.largest[number])

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
        known = self._over_copies.get(trial, {})
        over = self._find(known, name._replace(perturbation=f"{computed_on} {key}"))
        is_worst = key in FLAGS and computed_on == WORST
        lone = self._find(known, name._replace(perturbation=LONE)) if is_worst else None
        if lone is None:
            return over
        found = over or Total()
        return Total(
            found.entries + lone.entries,
            found.values + lone.values,
            found.sum + lone.sum,
            max(found.largest, lone.largest),
        )

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


def _iterate_groups(found: Sequence[tuple[str, T]]) -> Iterator[tuple[str, list[T]]]:
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
    if not text:
        return "", ""
    said: dict[str, Any] = json.loads(text)
    computed_on = said.pop("computed_on", "")
    is_kind = computed_on == WORST and said.get("name") in FLAGS
    key = said["name"] if is_kind else perturbation_text(said)
    return key, computed_on if isinstance(computed_on, str) else ""
