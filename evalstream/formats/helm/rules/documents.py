"""HLM1 and HLM4: rules about the structure of documents, and about statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from evalstream.formats.helm import requests, statistics
from evalstream.formats.helm.claims import Claimed, Instances, find_absent, find_repeated
from evalstream.formats.helm.format import RUN_SPEC, SCENARIO
from evalstream.model.finding import Violation
from evalstream.parsing.json import pointer, resolve_pointer, type_name
from evalstream.parsing.json_values import list_or_empty
from evalstream.rules.base import declare_rule
from evalstream.rules.claims import find_open, find_refuted
from evalstream.rules.members import MemberRequirement, check_members, is_a
from evalstream.stats.claims.judgement import Judgement

_ADAPTER: Final = MemberRequirement("adapter_spec", "an object", is_a(dict))
_METRICS: Final = MemberRequirement("metric_specs", "a list", is_a(list))
_MEMBERS: Final = {
    RUN_SPEC: (_ADAPTER, _METRICS),
    SCENARIO: (MemberRequirement("name", "a text", is_a(str)),),
}
"""The members of small documents that are read, or that all of them have."""

_ENTRY: Final = (
    MemberRequirement("instance_id", "a text", requests.is_instance_id),
    MemberRequirement("train_trial_index", "a count", requests.is_trial),
    MemberRequirement("stats", "a list", is_a(list)),
    MemberRequirement("perturbation", "an object", is_a(dict, type(None)), is_needed=False),
)


def check_object(kind: str, value: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield the members of a small document that are missing or malformed."""
    return check_members(HLM101, value, _MEMBERS[kind])


def check_statistic(value: Any, place: str) -> Iterator[Violation]:
    """Yield the malformed members of a statistic."""
    found = statistics.find_malformed(value)
    if found is not None:
        key, message = found
        where = f"{place}/{key}" if key else place
        yield HLM101.violation(message, pointer=where, found=value.get(key) if key else None)


def check_entry(value: Any, place: str) -> Iterator[Violation]:
    """Yield the malformed members of the statistics of an instance."""
    if not isinstance(value, dict):
        message = f"an entry must be an object, not {type_name(value)}"
        yield HLM101.violation(message, pointer=place)
        return
    yield from check_members(HLM101, value, _ENTRY, place)
    for index, stat in enumerate(list_or_empty(value.get("stats"))):
        yield from check_statistic(stat, f"{place}/stats/{index}")


def check_request(value: Any, place: str) -> Iterator[Violation]:
    """Yield the first malformed member of a request."""
    found = requests.find_malformed(value)
    if found is not None:
        where, message = found
        yield HLM101.violation(message, pointer=place + where, found=resolve_pointer(value, where))


def check_consistency(
    stat: statistics.Stat, place: str, value: Mapping[str, Any] | None = None
) -> Iterator[Violation]:
    """Yield a contradiction between the members of a statistic; `value` is its JSON value."""
    found = statistics.find_contradiction(stat)
    if found is not None:
        key, expected, why = found
        where = place if getattr(stat, key) is None else place + pointer([key])
        given = None if value is None else value.get(key)
        yield HLM102.violation(f"{key}: {why}", pointer=where, expected=expected, found=given)


def check_values(found: statistics.InstanceEntry, place: str) -> Iterator[Violation]:
    """Yield contradictions in an entry: in its statistics, and between their names."""
    first = found.names[0] if found.names else None
    for index, (name, stat) in enumerate(zip(found.names, found.stats, strict=True)):
        value = stat.sum
        is_single = stat.count == 1 and value == stat.min == stat.max == stat.mean
        if not (
            is_single and stat.sum_squared == value * value and 0 == stat.variance == stat.stddev
        ):
            yield from check_consistency(stat, f"{place}/stats/{index}")
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


def check_figures(judgements: Sequence[Judgement]) -> Iterator[Violation]:
    """Yield the refuted and open statistics of a run."""
    yield from find_refuted(HLM401, judgements)
    yield from find_open(HLM402, (one.claim for one in judgements))


def check_names(found: Sequence[Claimed], known: Instances) -> Iterator[Violation]:
    """Yield statistics that the run lacks, and those that it has too often."""
    for name in find_absent(found, known):
        yield HLM403.violation(f"all instances have {name}, and the run has no such statistic")
    for one in find_repeated(found, known):
        message = f"{one.name} stands twice, and instances have it once"
        yield HLM404.violation(message, pointer=f"/{one.place}/name")


HLM401: Final = declare_rule("HLM401")
HLM402: Final = declare_rule("HLM402")
HLM403: Final = declare_rule("HLM403")
HLM404: Final = declare_rule("HLM404")

RULES: Final = (HLM101, HLM102, HLM103, HLM401, HLM402, HLM403, HLM404)
