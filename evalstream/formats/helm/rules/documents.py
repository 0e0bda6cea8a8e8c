"""HLM1 and HLM4: rules about the structure of documents, and about statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from evalstream.formats.helm import requests
from evalstream.formats.helm.claims import Claimed, Instances, find_absent, find_repeated
from evalstream.formats.helm.format import RUN_SPEC, SCENARIO, STATE
from evalstream.formats.helm.statistics import (
    DERIVED,
    FIGURES,
    WORST,
    InstanceEntry,
    RunTotals,
    Stat,
    describe_perturbation,
    is_near,
    make_name,
)
from evalstream.model.finding import Violation
from evalstream.parsing.json import member, pointer, short_text, type_name
from evalstream.parsing.json_values import (
    is_number,
    is_text_map,
    is_texts,
    list_or_empty,
    numbered_texts,
)
from evalstream.rules.base import declare_rule
from evalstream.rules.claims import find_open, find_refuted
from evalstream.rules.members import MemberRequirement, check_members, is_a
from evalstream.stats.claims.judgement import Judgement

_MOST: Final = 1 << 1000
"""The largest whole number that is read as a floating-point number."""


def _is_spec(value: Any) -> bool:
    """Tell whether a value names a class, and has its arguments if it takes some."""
    is_named = isinstance(value, dict) and isinstance(value.get("class_name"), str)
    return is_named and isinstance(value.get("args"), (dict, type(None)))


def _are(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a test whether a value is a list of values that another test accepts."""
    return lambda value: isinstance(value, list) and all(map(accepts, value))


def _is_in_range(value: Any) -> bool:
    """Tell whether a value is a number that floating-point numbers hold."""
    return is_number(value) and (isinstance(value, float) or abs(value) <= _MOST)


def _optional(key: str, noun: str, accepts: Callable[[Any], bool]) -> MemberRequirement:
    """Return a requirement on a member that may be missing or null."""
    return MemberRequirement(key, noun, lambda value: value is None or accepts(value), None, False)


_ADAPTER: Final = MemberRequirement("adapter_spec", "an object", is_a(dict))
_OBJECTS: Final = _are(is_a(dict))
MEMBERS: Final = {
    RUN_SPEC: (
        MemberRequirement("name", "a text", is_a(str)),
        MemberRequirement("scenario_spec", "an object with a class_name", _is_spec),
        _ADAPTER,
        MemberRequirement("metric_specs", "a list of objects with a class_name", _are(_is_spec)),
        _optional("data_augmenter_spec", "an object", is_a(dict)),
        _optional("groups", "a list of texts", is_texts),
    ),
    STATE: (_ADAPTER,),
    SCENARIO: (
        MemberRequirement("name", "a text", is_a(str)),
        _optional("description", "a text", is_a(str)),
        _optional("tags", "a list of texts", is_texts),
        _optional("definition_path", "a text", is_a(str)),
    ),
}
"""The members of documents that are read, or that all of them have (RunSpec, Scenario)."""

_REQUEST: Final = {
    "": (
        MemberRequirement("instance", "an object", is_a(dict)),
        MemberRequirement("train_trial_index", "a count", requests.is_trial),
        _optional("reference_index", "an integer", is_a(int)),
        _optional("request_mode", "a text", is_a(str)),
        _optional("output_mapping", "an object of texts", is_text_map),
        _optional("num_train_instances", "an integer", is_a(int)),
        _optional("prompt_truncated", "true or false", is_a(bool)),
        MemberRequirement("request", "an object", is_a(dict), is_needed=False),
        MemberRequirement("result", "an object", is_a(dict), is_needed=False),
    ),
    "instance": (
        MemberRequirement("id", "a text", requests.is_instance_id),
        MemberRequirement("input", "an object", is_a(dict, str)),
        _optional("split", "a text", is_a(str)),
        _optional("sub_split", "a text", is_a(str)),
        _optional("perturbation", "an object", is_a(dict)),
        _optional("references", "a list of objects", _OBJECTS),
    ),
    "instance/input": (MemberRequirement("text", "a text", is_a(str), is_needed=False),),
    "instance/references/*": (
        MemberRequirement("output", "an object", is_a(dict, str)),
        _optional("tags", "a list of texts", is_texts),
    ),
    "instance/references/*/output": (MemberRequirement("text", "a text", is_a(str)),),
    "request": (_optional("prompt", "a text", is_a(str)),),
    "result": (
        _optional("success", "true or false", is_a(bool)),
        MemberRequirement("completions", "a list of objects", _OBJECTS, is_needed=False),
    ),
    "result/completions/*": (
        MemberRequirement("text", "a text", is_a(str)),
        MemberRequirement("logprob", "a number", _is_in_range, is_needed=False),
    ),
}
"""The members of requests that are read, by the paths of the objects that have them."""

_ENTRY: Final = (
    MemberRequirement("instance_id", "a text", requests.is_instance_id),
    MemberRequirement("train_trial_index", "a count", requests.is_trial),
    MemberRequirement("stats", "a list", is_a(list)),
    MemberRequirement("perturbation", "an object", is_a(dict, type(None)), is_needed=False),
)


def find_malformed_member(value: Any) -> tuple[str, str] | None:
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
        if not is_number(found) or (key == "count" and (not isinstance(found, int) or found < 0)):
            return key, f"{key} must be a {'count' if key == 'count' else 'number'}"
        if isinstance(found, int) and abs(found) > (1 << 60 if key == "count" else _MOST):
            return key, f"{key} is out of range"
    return None


def check_statistic(value: Any, place: str) -> Iterator[Violation]:
    """Yield the malformed members of a statistic."""
    found = find_malformed_member(value)
    if found is not None:
        key, message = found
        where = f"{place}/{key}" if key else place
        yield HLM101.violation(message, where, found=value.get(key) if key else None)


def check_entry(value: Any, place: str) -> Iterator[Violation]:
    """Yield the malformed members of the statistics of an instance."""
    if not isinstance(value, dict):
        yield HLM101.violation(f"an entry must be an object, not {type_name(value)}", place)
        return
    yield from check_members(HLM101, value, _ENTRY, place)
    for index, stat in enumerate(list_or_empty(value.get("stats"))):
        yield from check_statistic(stat, f"{place}/stats/{index}")


def check_state(value: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield the malformed members of the state of a scenario, beside its requests."""
    return check_members(HLM101, value, MEMBERS[STATE])


def check_request(value: Any, place: str) -> Iterator[Violation]:
    """Yield the malformed members of a request."""
    if not isinstance(value, dict):
        yield HLM101.violation(f"a request must be an object, not {type_name(value)}", place)
        return
    for path, members in _REQUEST.items():
        for where, one in _iterate_objects(value, path.split("/") if path else [], place):
            yield from check_members(HLM101, one, members, where)


def _iterate_objects(
    value: Any, path: Sequence[str], place: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Iterate over the objects at a path, in which `*` stands for any item, with their pointers."""
    if path:
        key, *rest = path
        is_list = key == "*" and isinstance(value, list)
        items = enumerate(value) if is_list else [(key, member(value, key))]
        for name, one in items:
            yield from _iterate_objects(one, rest, place + pointer([name]))
    elif isinstance(value, dict):
        yield place, value


def find_contradiction(stat: Stat) -> tuple[str, float | None, str] | None:
    """Return a member of a statistic that contradicts the others: it, its value, and why."""
    count, mean, least, most = stat.count, stat.mean, stat.min, stat.max
    if not count:
        wrong = [key for key in FIGURES if getattr(stat, key) is not None]
        wrong += [key for key in ("sum", "sum_squared") if getattr(stat, key)]
        return (wrong[0], None, "there is no value") if wrong else None
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


def check_consistency(
    stat: Stat, place: str, value: Mapping[str, Any] | None = None
) -> Iterator[Violation]:
    """Yield a contradiction between the members of a statistic; `value` is its JSON value."""
    found = find_contradiction(stat)
    if found is not None:
        key, expected, why = found
        where = place if getattr(stat, key) is None else place + pointer([key])
        given = None if value is None else value.get(key)
        yield HLM102.violation(f"{key}: {why}", where, expected=expected, found=given)


def check_values(found: InstanceEntry, place: str) -> Iterator[Violation]:
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
        elif not found.is_of_request and name.perturbation != found.instance.perturbation:
            message = f"{name.name} is of another perturbation than its instance"
        else:
            continue
        yield HLM103.violation(message, f"{place}/stats/{index}/name")


HLM101: Final = declare_rule("HLM101")
HLM102: Final = declare_rule("HLM102")
HLM103: Final = declare_rule("HLM103")


def check_figures(
    found: Sequence[Claimed], judgements: Sequence[Judgement], known: Instances
) -> Iterator[Violation]:
    """Yield refuted and open statistics of a run, and those that it lacks or has too often."""
    yield from find_refuted(HLM401, judgements)
    yield from find_open(HLM402, (one.claim for one in judgements))
    for name in find_absent(found, known):
        is_worst = describe_perturbation(name.perturbation)[1] == WORST
        verb = "give" if name.name in DERIVED else "have"
        message = f"all instances {verb} {name}, and the run has no such statistic"
        if is_worst:
            message = f"the run has no {name}, and other metrics have such a worst case"
        yield HLM403.violation(message)
    for one in find_repeated(found, known):
        message = f"{one.name} stands twice, and instances have it once"
        yield HLM404.violation(message, f"/{one.place}/name")


def check_declared_metrics(run_spec: Mapping[str, Any], totals: RunTotals) -> Iterator[Violation]:
    """Yield the metrics that a run declares and that no instance of a split and perturbation has.

    HELM computes them with max_prob, for each instance with references, and fails where it does not
    know one. Source: `compute_reference_metrics` of crfm-helm 0.2.4 to 0.5.16.
    """
    names = set(totals.names)
    arguments = (args for kind, args in requests.iterate_specs(run_spec) if kind == requests.BASIC)
    declared = [name for args in arguments for _, name in numbered_texts(args.get("names"))]
    for place in sorted((one for one in names if one.name == "max_prob"), key=str):
        for metric in dict.fromkeys(declared):
            name = place._replace(name=metric)
            if name not in names:
                message = f"the run declares {short_text(metric)}, and no instance has {name}"
                yield HLM403.violation(message, "/metric_specs")


HLM401: Final = declare_rule("HLM401")
HLM402: Final = declare_rule("HLM402")
HLM403: Final = declare_rule("HLM403")
HLM404: Final = declare_rule("HLM404")

RULES: Final = (HLM101, HLM102, HLM103, HLM401, HLM402, HLM403, HLM404)
