"""HLM1: rules about the structure of documents, and about one statistic alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from evalstream.formats.helm import requests
from evalstream.formats.helm.documents import RUN_SPEC, SCENARIO
from evalstream.formats.helm.statistics import (
    InstanceEntry,
    Stat,
    find_contradiction,
    find_malformed,
)
from evalstream.model.finding import Violation
from evalstream.parsing.json import pointer, resolve_pointer, type_name
from evalstream.parsing.json_values import list_or_empty
from evalstream.rules.declaration import declare_rule

_MEMBERS: Final[Mapping[str, Sequence[tuple[str, type, str]]]] = {
    RUN_SPEC: (("adapter_spec", dict, "an object"), ("metric_specs", list, "a list")),
    SCENARIO: (("name", str, "a text"),),
}
"""The members of small documents that are read, or that all of them have."""


def check_object(kind: str, value: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield the members of a small document that are missing or malformed."""
    for key, accepted, noun in _MEMBERS[kind]:
        if not isinstance(value.get(key), accepted):
            message = f"{key} must be {noun}" if key in value else f"{key} is missing"
            where = pointer([key]) if key in value else ""
            yield HLM101.violation(message, pointer=where, found=value.get(key))


def check_statistic(value: Any, place: str) -> Iterator[Violation]:
    """Yield what is malformed in a statistic."""
    found = find_malformed(value)
    if found is not None:
        key, message = found
        where = f"{place}/{key}" if key else place
        yield HLM101.violation(message, pointer=where, found=value.get(key) if key else None)


def check_entry(value: Any, place: str) -> Iterator[Violation]:
    """Yield what is malformed in the statistics of an instance."""
    if not isinstance(value, dict):
        message = f"an entry must be an object, not {type_name(value)}"
        yield HLM101.violation(message, pointer=place)
        return
    for key, is_sound, noun in (
        ("instance_id", requests.is_instance_id(value.get("instance_id")), "a text"),
        ("train_trial_index", requests.is_trial(value.get("train_trial_index")), "a count"),
        ("stats", isinstance(value.get("stats"), list), "a list"),
        ("perturbation", isinstance(value.get("perturbation"), (dict, type(None))), "an object"),
    ):
        if not is_sound:
            where = place + pointer([key]) if key in value else place
            message = f"{key} must be {noun}" if key in value else f"{key} is missing"
            yield HLM101.violation(message, pointer=where, found=value.get(key))
    for index, stat in enumerate(list_or_empty(value.get("stats"))):
        yield from check_statistic(stat, f"{place}/stats/{index}")


def check_request(value: Any, place: str) -> Iterator[Violation]:
    """Yield what is malformed in a request."""
    found = requests.find_malformed(value)
    if found is not None:
        where, message = found
        yield HLM101.violation(message, pointer=place + where, found=resolve_pointer(value, where))


def check_members(
    stat: Stat, place: str, value: Mapping[str, Any] | None = None
) -> Iterator[Violation]:
    """Yield a contradiction between the members of a statistic; `value` is its JSON value."""
    found = find_contradiction(stat)
    if found is not None:
        key, expected, why = found
        where = place if getattr(stat, key) is None else place + pointer([key])
        given = None if value is None else value.get(key)
        yield HLM102.violation(f"{key}: {why}", pointer=where, expected=expected, found=given)


def check_values(found: InstanceEntry, place: str) -> Iterator[Violation]:
    """Yield contradictions in an entry: in its statistics, and between their names."""
    first = found.names[0] if found.names else None
    for index, (name, stat) in enumerate(zip(found.names, found.stats, strict=True)):
        value = stat.sum
        is_single = stat.count == 1 and value == stat.min == stat.max == stat.mean
        if not (
            is_single and stat.sum_squared == value * value and 0 == stat.variance == stat.stddev
        ):
            yield from check_members(stat, f"{place}/stats/{index}")
        if first is not None and name[1:3] != first[1:3]:
            message = f"{name.name} is of another split than {first.name} of the same instance"
        elif name.perturbation != found.instance.perturbation:
            message = f"{name.name} is of another perturbation than its instance"
        else:
            continue
        yield HLM103.violation(message, pointer=f"{place}/stats/{index}/name")


HLM101: Final = declare_rule("HLM101")
HLM102: Final = declare_rule("HLM102")
HLM103: Final = declare_rule("HLM103")

RULES: Final = (HLM101, HLM102, HLM103)
