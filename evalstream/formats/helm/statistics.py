"""Statistics as HELM writes them: their names, their members, and how these depend on each other.

The formulas are those of crfm-helm 0.5.16 (`metrics/statistic.py`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from evalstream.io.spill_table import encode_name
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import canonical, type_name

NEAR: Final = 1e-9
"""The largest rounding error of sums, relative to the largest number that is summed."""

ORIGINAL: Final = "original"
WORST: Final = "worst"
"""The values of `computed_on` in figures over perturbations, beside `perturbed`."""

FIGURES: Final = ("min", "max", "mean", "variance", "stddev")
"""The members of a statistic over at least one value, beside its sums."""


class Name(NamedTuple):
    """The name of a statistic; `perturbation` is its JSON in a fixed order, "" for none."""

    name: str
    split: str | None = None
    sub_split: str | None = None
    perturbation: str = ""

    def __str__(self) -> str:
        """Return the name as people read it."""
        parts = [self.name, self.split, self.sub_split]
        if self.perturbation:
            said = json.loads(self.perturbation)
            computed_on = said.get("computed_on", "perturbed")
            parts.append(f"{said.get('name')} ({computed_on})")
        return ":".join(str(part) for part in parts if part is not None)


class Stat(msgspec.Struct):
    """A statistic without its name."""

    count: int
    sum: float
    sum_squared: float
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    variance: float | None = None
    stddev: float | None = None

    @classmethod
    def of_value(cls, value: float) -> Stat:
        """Return the statistic over one value."""
        return cls(1, value, value * value, value, value, value, 0.0, 0.0)


class Instance(NamedTuple):
    """One instance, or a perturbed copy of it, in one trial; `perturbation` is "" for none."""

    id: str
    perturbation: str
    trial: int

    def __str__(self) -> str:
        """Return the instance as people read it."""
        name = json.loads(self.perturbation).get("name") if self.perturbation else None
        copy = "" if name is None else f" under {name}"
        return f"{self.id}{copy}" + (f" in trial {self.trial:,}" if self.trial else "")


def instance_key(one: Instance) -> tuple[bytes, bytes, int]:
    """Return an instance as it is kept in tables."""
    return encode_name(one.id), encode_name(one.perturbation), one.trial


class InstanceEntry(NamedTuple):
    """The statistics of an instance with their names."""

    instance: Instance
    names: Sequence[Name]
    stats: Sequence[Stat]

    @property
    def scores(self) -> Iterable[tuple[str, float]]:
        """The statistics of single values, by the name of the metric."""
        pairs = zip(self.names, self.stats, strict=True)
        return ((name.name, stat.sum) for name, stat in pairs if stat.count == 1)


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


def make_name(value: Any) -> Name:
    """Return the name in a value. Raises ValueError if it is none."""
    parts = [value.get(key) for key in Name._fields[:3]] if isinstance(value, dict) else [None]
    perturbation = value.get("perturbation") if isinstance(value, dict) else None
    are_texts = all(part is None or isinstance(part, str) for part in parts)
    if parts[0] is None or not are_texts or not isinstance(perturbation, (dict, type(None))):
        raise ValueError("a name must be an object with texts and an optional perturbation")
    name, split, sub_split = parts
    return Name(str(name), split, sub_split, perturbation_text(perturbation))


def perturbation_text(value: Mapping[str, Any] | None) -> str:
    """Return a perturbation as JSON in a fixed order, "" for none."""
    return "" if value is None else canonical(value).decode(errors="replace")


def find_malformed(value: Any) -> tuple[str, str] | None:
    """Return the member of a statistic that is malformed, "" for the whole, and the message."""
    if not isinstance(value, dict):
        return "", f"a statistic must be an object, not {type_name(value)}"
    try:
        make_name(value.get("name"))
    except ValueError as error:
        return "name", str(error)
    for key in ("count", "sum", "sum_squared", *FIGURES):
        found = value.get(key)
        if key not in value:
            if key in FIGURES:
                continue
            return "", f"{key} is missing"
        is_number = isinstance(found, (int, float)) and not isinstance(found, bool)
        if not is_number or (key == "count" and (not isinstance(found, int) or found < 0)):
            return key, f"{key} must be a {'count' if key == 'count' else 'number'}"
        if isinstance(found, int) and abs(found) > 1 << (60 if key == "count" else 1000):
            return key, f"{key} is out of range"
    return None


def make_stat(value: Mapping[str, Any]) -> Stat:
    """Return a statistic that is not malformed."""
    numbers = {key: float(value[key]) for key in ("sum", "sum_squared", *FIGURES) if key in value}
    return Stat(value["count"], **numbers)


def find_contradiction(stat: Stat) -> tuple[str, float | None, str] | None:
    """Return a member of a statistic that contradicts the others: it, its value, and why."""
    count, mean, least, most = stat.count, stat.mean, stat.min, stat.max
    if not count:
        wrong = next((key for key in ("sum", "sum_squared", *FIGURES) if getattr(stat, key)), None)
        return None if wrong is None else (wrong, None, "there is no value")
    if mean is None or least is None or most is None or None in (stat.variance, stat.stddev):
        absent = next(key for key in FIGURES if getattr(stat, key) is None)
        return absent, None, f"it is missing, and count is {count:,}"
    size = max(abs(least), abs(most))
    single = (("min", mean, 0.0), ("max", mean, 0.0), ("variance", 0.0, size * size))
    is_single = count == 1 and math.isfinite(size)
    for key, figure, scale in (*_derive(stat, size), *(single if is_single else ())):
        if not is_near(getattr(stat, key), figure, scale):
            return key, figure, "the other members give another"
    least_squared, squares = stat.sum * mean, count * size * size
    if stat.sum_squared < least_squared and not is_near(stat.sum_squared, least_squared, squares):
        return "sum_squared", None, "it is less than sum * mean"
    is_between = least <= mean <= most or is_near(mean, min(max(mean, least), most), size)
    return None if least <= most and is_between else ("mean", None, "it is not from min to max")


def _derive(stat: Stat, size: float) -> Iterator[tuple[str, float, float]]:
    """Iterate over the figures that follow from others, each with the size of the summed values."""
    expected = stat.sum / stat.count
    yield "mean", expected, size
    variance = stat.sum_squared / stat.count - expected * expected
    # Written so that NaN stays, which is the variance of an infinite sum.
    yield "variance", 0.0 if variance < 0 else variance, size * size
    declared = stat.variance or 0.0
    yield "stddev", declared if math.isnan(declared) else math.sqrt(max(0.0, declared)), 0.0


def is_near(one: float, other: float, scale: float) -> bool:
    """Tell whether two figures are equal up to the rounding of sums over numbers of some size."""
    if one == other or (math.isnan(one) and math.isnan(other)):
        return True
    return abs(one - other) <= NEAR * max(abs(one), abs(other), scale) < math.inf
