"""HLM2: rules about instances: their requests, their statistics, and what the run declares."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any, Final, TypeGuard

from evalstream.formats.helm.adapter import find_other_mapping, lacks_texts
from evalstream.formats.helm.claims import Claimed, Instances, is_score
from evalstream.formats.helm.format import NOUNS, REQUESTS, RUN_SPEC
from evalstream.formats.helm.requests import TOLD, PlainRequest, Settings
from evalstream.formats.helm.statistics import FIRST_OF_REQUESTS
from evalstream.formats.helm.store import InstanceFacts, InstanceRow
from evalstream.formats.helm.tokens import score_choices
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Severity, Violation, at_most
from evalstream.model.text import count_noun
from evalstream.parsing.json import member, short_text, text_or_none
from evalstream.rules.base import declare_rule

MANY: Final = 5
"""Tokenizers may count other tokens than a request shows; so many times as often they do not."""


class Compared(NamedTuple):
    """How the requests and entries of instances are compared.

    Every instance has an entry that begins with `first_of_basic`, unless it is None. A windowed run
    has several requests and entries for one instance. Metrics in `repeats` may stand in several
    entries. Without `has_requests` those of some instances may be missing.
    """

    metrics: Sequence[str]
    repeats: frozenset[str]
    has_requests: bool
    first_of_basic: str | None
    is_windowed: bool


def check_copy(
    rows: Sequence[InstanceRow], compared: Compared
) -> Iterator[tuple[InstanceRow, Violation]]:
    """Yield what contradicts between the requests and the entries of an instance."""
    requests = [row for row in rows if row.kind.metric is None]
    by_metric: dict[str, list[InstanceRow]] = {}
    for row in rows:
        if row.kind.metric is not None:
            by_metric.setdefault(row.kind.metric, []).append(row)
    if compared.has_requests and requests:
        yield from _check_requests(requests, by_metric.keys(), compared)
    for metric, entries in by_metric.items():
        last, where = entries[-1], f"/{entries[-1].place}"
        if compared.has_requests and not requests:
            message = f"there is no request for instance {last.instance}"
            shown = {"pointer": f"{where}/instance_id", "found": last.instance.id}
            yield last, HLM203.violation(message, **shown)
        elif compared.has_requests and metric != FIRST_OF_REQUESTS:
            yield from _check_entries(requests, entries, compared)
        most = len(requests) or len(entries) if metric == FIRST_OF_REQUESTS else 1
        is_repeated = len(entries) > most and not compared.is_windowed
        if is_repeated and metric not in compared.repeats:
            message = f"instance {last.instance} has {metric} in several entries"
            shown = {"pointer": f"{where}/instance_id", "found": last.instance.id}
            yield last, HLM201.violation(message, **shown)


def _check_requests(
    requests: Sequence[InstanceRow], metrics: Collection[str], compared: Compared
) -> Iterator[tuple[InstanceRow, Violation]]:
    """Yield requests that lack statistics, and too many or too few requests of an instance."""
    first, last = requests[0], requests[-1]
    if compared.first_of_basic not in (None, *metrics) or not metrics:
        noun = "statistics" if not metrics else compared.first_of_basic
        message = f"there {'are' if not metrics else 'is'} no {noun} of instance {first.instance}"
        place, found = f"/{REQUESTS}/{first.place}/instance/id", first.instance.id
        severity = None if compared.first_of_basic else Severity.WARNING
        yield first, HLM202.violation(message, place, found=found, severity=severity)
    if len(requests) > 1 and last.kind.is_plain and not compared.is_windowed:
        message = f"instance {last.instance} has several requests"
        place, found = f"/{REQUESTS}/{last.place}/instance/id", last.instance.id
        yield last, HLM201.violation(message, place, found=found)
    wanted = last.kind.references or 0
    if len(requests) < wanted:
        number = count_noun(len(requests), "request")
        message = f"instance {last.instance} has {number} for {wanted:,} references"
        place = f"/{REQUESTS}/{last.place}/instance/references"
        yield last, HLM206.violation(message, place, expected=wanted, found=len(requests))


def _check_entries(
    requests: Sequence[InstanceRow], entries: Sequence[InstanceRow], compared: Compared
) -> Iterator[tuple[InstanceRow, Violation]]:
    """Yield what contradicts between requests and the entries of one class of metrics."""
    first, last = requests[0], entries[-1]
    splits = first.kind.split, last.kind.split
    if splits[0] != splits[1] and None not in splits:
        message = f"instance {last.instance} is of the split {splits[0]}"
        yield last, HLM203.violation(message, f"/{last.place}/stats")
    if compared.is_windowed and len(entries) != len(requests):
        number = count_noun(len(requests), "request")
        message = f"instance {last.instance} has {number}, not as many entries"
        yield last, HLM201.violation(message, f"/{last.place}")
    if not first.kind.is_plain:
        yield from _check_choices(requests, entries, compared.metrics)
        return
    are_windows = compared.is_windowed and len(entries) == len(requests)
    if len(requests) > 1 and not are_windows:
        return
    for request, row in zip(requests if are_windows else cycle(requests), entries, strict=False):
        scores = request.scores or b""
        if scores and row.scores is not None and not scores.startswith(row.scores):
            for violation in _check_scores(row, scores, compared.metrics):
                yield row, violation


def _check_choices(
    requests: Sequence[InstanceRow], entries: Sequence[InstanceRow], metrics: Sequence[str]
) -> Iterator[tuple[InstanceRow, Violation]]:
    """Yield entries whose score is not that of the most likely reference."""
    for row in entries:
        again = score_choices((one.scores for one in requests), metrics, row.scores)
        if again is not None:
            for violation in _check_scores(row, again, metrics):
                yield row, violation


def check_doubted(facts: InstanceFacts) -> Iterator[tuple[InstanceRow, Violation]]:
    """Warn of scores that do not follow from tokens, where those of most instances do."""
    row = facts.doubt
    if row is not None and facts.scored >= MANY * facts.doubted:
        number = count_noun(facts.doubted, "instance")
        message = f"exact_match and max_prob of {number} do not follow from tokens, as of others"
        yield row, HLM301.violation(message, f"/{row.place}/stats", severity=Severity.WARNING)


def check_unscored(facts: InstanceFacts) -> Iterator[tuple[InstanceRow, Violation]]:
    """Yield a request whose answer gives no scores, where those of others do."""
    row = facts.unscored
    if row is not None and facts.scored:
        message = f"instance {row.instance} has scores, and its request gives none, as others do"
        yield row, HLM301.violation(message, f"/{REQUESTS}/{row.place}")


def check_shared(found: Sequence[Claimed], known: Instances) -> Iterator[Violation]:
    """Yield the scores of a run that are means over a part of its instances."""
    if known.totals is None or known.is_windowed or not known.is_whole:
        return
    for one in found:
        some, name = known.totals.count_entries(one.name), one.name
        if some and is_score(name) and known.lacks_some(name):
            every = known.facts.entries[name._replace(name="")]
            message = f"{some:,} of {count_noun(every, 'instance')} have {name}"
            yield HLM202.violation(message, f"/{one.place}/name", severity=Severity.WARNING)


def _check_scores(row: InstanceRow, packed: bytes, metrics: Sequence[str]) -> Iterator[Violation]:
    """Yield the scores of an entry that are not those of its request."""
    names = [*metrics, *(f"{metric}@k" for metric in metrics)]
    own, again = array("d", row.scores or b""), array("d", packed)
    number = len(metrics) if len(own) == len(metrics) else len(names)
    places = [*range(number), *map(int, own[number::2])]
    for place, score in zip(places, [*own[:number], *own[number + 1 :: 2]], strict=True):
        expected, metric = again[place], names[place]
        is_known = not (math.isnan(score) or math.isnan(expected))
        if is_known and not math.isclose(score, expected, rel_tol=1e-9):
            source = "request" if metric.removesuffix("@k") in TOLD else "answer"
            message = (
                f"{metric} of instance {row.instance} is {score:g}, by its {source} {expected:g}"
            )
            yield HLM301.violation(message, f"/{row.place}/stats", expected=expected)


def check_declared(adapter: Mapping[str, Any], ids: int, trials: list[int]) -> Iterator[Violation]:
    """Yield what the specification of a run does not allow: instances and trials."""
    most = adapter.get("max_eval_instances")
    if _is_count(most) and ids > most:
        message = f"there are more instances than max_eval_instances: {ids:,}"
        where = "/adapter_spec/max_eval_instances"
        yield HLM205.violation(message, where, expected={"minimum": ids}, found=most)
    number = adapter.get("num_train_trials")
    if _is_count(number) and trials and max(trials) >= number:
        message = f"there are statistics of trial {max(trials):,}, and trials count from 0"
        shown = {"expected": {"exclusiveMinimum": max(trials)}, "found": number}
        yield HLM204.violation(message, "/adapter_spec/num_train_trials", **shown)
    elif _is_count(number) and trials and len(trials) < number <= 1000:
        absent = next(trial for trial in range(number) if trial not in trials)
        message = f"there are no statistics of trial {absent:,}"
        where = "/adapter_spec/num_train_trials"
        yield HLM204.violation(message, where, expected=at_most(len(trials)), found=number)


def check_specifications(
    run_spec: Mapping[str, Any], state: Mapping[str, Any]
) -> Iterator[Violation]:
    """Yield members of the adapter in which the state and the specification of a run differ."""
    own, other = state.get("adapter_spec"), run_spec.get("adapter_spec")
    if not isinstance(own, dict) or not isinstance(other, dict):
        return
    for key in sorted({*own, *other}):
        pair = own.get(key), other.get(key)
        # To Python, true is 1.
        if pair[0] != pair[1] or isinstance(pair[0], bool) != isinstance(pair[1], bool):
            where = ("adapter_spec", *([key] if key in own else []))
            shown = {"expected": other.get(key), "found": own.get(key)}
            yield HLM206.violation(f"{NOUNS[RUN_SPEC]} has another {key}", where, **shown)


def check_scenario(run_spec: Mapping[str, Any], scenario: Mapping[str, Any]) -> Iterator[Violation]:
    """Warn of a scenario of HELM whose source file is not that of the class which a run declares.

    A class of one's own may be named by another module than its own. Source: Scenario in
    benchmark/scenarios/scenario.py of crfm-helm 0.2.4 to 0.5.16.
    """
    named = text_or_none(member(run_spec.get("scenario_spec"), "class_name")) or ""
    found = text_or_none(scenario.get("definition_path"))
    file = f"/{named.rpartition('.')[0].replace('.', '/')}.py"
    if named.startswith(_OF_HELM) and found and not found.endswith(file):
        message = f"the run declares the scenario {short_text(named)}"
        yield HLM206.violation(message, "/definition_path", found=found, severity=Severity.WARNING)


_OF_HELM: Final = "helm.benchmark.scenarios."


def check_settings(
    one: Settings, declared: Mapping[str, Sequence[Any]], place: str
) -> Iterator[Violation]:
    """Yield a request to another model, or with another setting, than the run declares."""
    for name, allowed in declared.items():
        found = getattr(one, name)
        if found is not None and (found not in allowed or isinstance(found, bool)):
            message, where = f"the run has another {name}", f"{place}/request/{name}"
            yield HLM206.violation(message, where, expected=allowed[0], found=found)


def check_request(
    request: PlainRequest,
    adapter: Mapping[str, Any],
    settings: Mapping[str, Sequence[Any]],
    place: str,
) -> Iterator[Violation]:
    """Yield what a request does not have from its adapter and its instance."""
    yield from check_settings(request.request, settings, place)
    answers, examples = request.result.completions, request.num_train_instances
    limits = (
        ("num_train_instances", "example", examples, adapter.get("max_train_instances")),
        ("result/completions", "answer", len(answers), request.request.num_completions),
    )
    for name, noun, found, most in limits:
        if _is_count(most) and found is not None and found > most:
            message = f"the run has at most {count_noun(most, noun)}"
            yield HLM206.violation(message, f"{place}/{name}", expected=at_most(most), found=found)
    yield from _check_mapping(request, adapter, place)
    if lacks_texts(request, adapter):
        message = "the prompt does not have the input and the choices of the instance"
        yield HLM206.violation(message, f"{place}/request/prompt")
    if request.result.success is False and any(one.text for one in answers):
        message = "the request failed, and has an answer"
        yield HLM206.violation(message, f"{place}/result/success", expected=True, found=False)


def _check_mapping(
    request: PlainRequest, adapter: Mapping[str, Any], place: str
) -> Iterator[Violation]:
    """Yield a request whose letters do not stand for its references in their order."""
    expected, found = find_other_mapping(request, adapter), request.output_mapping
    if expected is not None:
        message = "the letters do not stand for the references in their order"
        where = place if found is None else f"{place}/output_mapping"
        yield HLM206.violation(message, where, expected=expected, found=found)


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
