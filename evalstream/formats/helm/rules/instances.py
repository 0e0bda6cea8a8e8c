"""HLM2: rules about instances: their requests, their statistics, and what the run declares."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeGuard

from evalstream.formats.helm.documents import NOUNS, RUN_SPEC
from evalstream.formats.helm.store import InstanceStore, Placed
from evalstream.model.finding import Severity, Violation, at_most
from evalstream.parsing.json import member
from evalstream.rules.declaration import declare_rule


def check_instances(
    store: InstanceStore, *, has_basic: bool, is_windowed: bool
) -> Iterator[tuple[Placed, Violation, bool]]:
    """Yield instances that lack requests or statistics, each with whether it is a request.

    With `has_basic` every instance has statistics. A windowed run has several requests and entries
    for one instance.
    """
    severity = None if has_basic else Severity.WARNING
    for one in store.without_entry():
        message = f"there are no statistics of instance {one.instance}"
        found = {"pointer": f"/request_states/{one.place}/instance/id", "found": one.instance.id}
        yield one, HLM202.violation(message, severity=severity, **found), True
    for one in store.without_request():
        message = f"there is no request for instance {one.instance}"
        place = f"/{one.place}/instance_id"
        yield one, HLM203.violation(message, pointer=place, found=one.instance.id), False
    for one in store.other_splits():
        message = f"instance {one.instance} is of the split {one.more}"
        yield one, HLM203.violation(message, pointer=f"/{one.place}/stats"), False
    if is_windowed:
        for one in store.other_numbers():
            message = f"instance {one.instance} has {one.more:,} requests, not as many entries"
            yield one, HLM201.violation(message, pointer=f"/{one.place}"), False


def check_repeats(
    store: InstanceStore, repeats: frozenset[str]
) -> Iterator[tuple[Placed, Violation]]:
    """Yield entries that repeat the metrics of another; `repeats` are those that may do so."""
    for one in store.repeated():
        if one.more not in repeats:
            message = f"instance {one.instance} has {one.more} in several entries"
            where = f"/{one.place}/instance_id"
            yield one, HLM201.violation(message, pointer=where, found=one.instance.id)


def check_scores(
    store: InstanceStore, metrics: Sequence[str]
) -> Iterator[tuple[Placed, Violation]]:
    """Yield scores that the requests contradict, of metrics in their order in the store."""
    names = [*metrics, *(f"{metric}@k" for metric in metrics)]
    for one, own, again in store.scored_otherwise():
        number = len(metrics) if len(own) == len(metrics) else len(names)
        places = [*range(number), *map(int, own[number::2])]
        for place, score in zip(places, [*own[:number], *own[number + 1 :: 2]], strict=True):
            expected, metric = again[place], names[place]
            if score != expected and not math.isnan(score):
                message = (
                    f"{metric} of instance {one.instance} is {score:g}, by its answer {expected:g}"
                )
                where = f"/{one.place}/stats"
                yield one, HLM301.violation(message, pointer=where, expected=expected)


def check_declared(adapter: Mapping[str, Any], ids: int, trials: list[int]) -> Iterator[Violation]:
    """Yield what the specification of a run does not allow: instances and trials."""
    most = adapter.get("max_eval_instances")
    if _is_count(most) and ids > most:
        message = f"there are {ids:,} instances, more than max_eval_instances"
        where = "/adapter_spec/max_eval_instances"
        yield HLM205.violation(message, pointer=where, expected={"minimum": ids}, found=most)
    number = adapter.get("num_train_trials")
    if _is_count(number) and trials and max(trials) >= number:
        message = f"there are statistics of trial {max(trials):,}, and trials count from 0"
        shown = {"expected": {"exclusiveMinimum": max(trials)}, "found": number}
        yield HLM204.violation(message, pointer="/adapter_spec/num_train_trials", **shown)
    elif _is_count(number) and trials and len(trials) < number <= 1000:
        absent = next(trial for trial in range(number) if trial not in trials)
        message = f"there are no statistics of trial {absent:,}"
        where = "/adapter_spec/num_train_trials"
        yield HLM204.violation(message, pointer=where, expected=at_most(len(trials)), found=number)


def check_specifications(
    run_spec: Mapping[str, Any], state: Mapping[str, Any]
) -> Iterator[Violation]:
    """Yield members of the adapter in which the state and the specification of a run differ."""
    own, other = state.get("adapter_spec"), run_spec.get("adapter_spec")
    if not isinstance(own, dict) or not isinstance(other, dict):
        return
    for key in sorted({*own, *other}):
        if own.get(key) != other.get(key):
            message = f"{NOUNS[RUN_SPEC]} has another {key}"
            where = f"/adapter_spec/{key}" if key in own else "/adapter_spec"
            shown = {"expected": other.get(key), "found": own.get(key)}
            yield HLM206.violation(message, pointer=where, **shown)


def check_model(model: str | None, adapter: Mapping[str, Any], place: str) -> Iterator[Violation]:
    """Yield a request to another model than that of the run."""
    expected = adapter.get("model")
    if model is not None and isinstance(expected, str) and model != expected:
        message = f"the run is of the model {expected}"
        where = f"{place}/request/model"
        yield HLM206.violation(message, pointer=where, expected=expected, found=model)


def describe_adapter(*documents: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the adapter of a run, from the first document that has it."""
    found = (member(one, "adapter_spec") for one in documents)
    return next((one for one in found if isinstance(one, dict)), {})


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


HLM201: Final = declare_rule("HLM201")
HLM202: Final = declare_rule("HLM202")
HLM203: Final = declare_rule("HLM203")
HLM204: Final = declare_rule("HLM204")
HLM205: Final = declare_rule("HLM205")
HLM206: Final = declare_rule("HLM206")
HLM301: Final = declare_rule("HLM301")

RULES: Final = (HLM201, HLM202, HLM203, HLM204, HLM205, HLM206, HLM301)
