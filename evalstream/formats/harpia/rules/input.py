"""HAR1: rules about the input of an evaluation of HarpIA Lab and its instances."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from evalstream.formats.harpia import requirements as demands
from evalstream.formats.harpia.documents import find_member, find_misplaced, read_member
from evalstream.formats.harpia.requirements import at
from evalstream.formats.harpia.values import is_supervised
from evalstream.formats.harpia.views import Input, InputInstance
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import with_article
from evalstream.parsing.json import canonical, pointer, short_text, type_name
from evalstream.rules.base import declare_rule


def _malformed_metric(read: Input) -> Iterator[Violation]:
    for place, value, *_ in read.metrics or ():
        if not isinstance(value, dict):
            yield demands.no_object(HAR104, "a metric", place, value)
            continue
        yield from demands.require_one_spelling(HAR104, place, value, demands.METRIC_MEMBERS)
        yield from demands.require_member(HAR104, place, value, "id", "a string")
        name = find_member(value, "id")
        if name is not None and name.value == "":
            yield HAR104.violation("id is empty", at(place, name))
        yield from demands.require_member(HAR104, place, value, "enable", "true or false")
        yield from demands.require_member(HAR104, place, value, "parameters", "an object")


def _idle_or_repeated_metric(read: Input) -> Iterator[Violation]:
    if read.metrics is None or read.listed.metrics is None:
        return
    if all(metric.enabled is False for metric in read.metrics):
        place = pointer([read.listed.metrics.key])
        yield HAR105.violation("no metric is enabled, so nothing is computed", place)
    first: dict[tuple[str, bytes], str] = {}
    for metric in read.metrics:
        if metric.id is None or metric.key is None:
            continue
        before = first.setdefault((metric.id, metric.key), metric.pointer)
        if before != metric.pointer:
            message = f"the same metric with the same parameters as at {before}"
            yield HAR105.violation(message, metric.pointer, found=metric.value)


HAR104: Final = declare_rule("HAR104", record=_malformed_metric)
HAR105: Final = declare_rule("HAR105", record=_idle_or_repeated_metric)


USUAL_KEYS: Final = {"instances": "instances", "metrics": "metrics"}
"""The keys of the two lists of an input, as the documentation names them."""


def _lists_not_found(read: Input) -> Iterator[Violation]:
    found = {"instances": read.listed.instances, "metrics": read.listed.metrics}
    for noun, entry in found.items():
        rivals = read.listed.rivals.get(noun)
        if entry is None and rivals:
            shown = ", ".join(map(short_text, rivals))
            yield HAR101.violation(f"several lists look like the list of {noun}: {shown}", "")
        elif entry is None:
            yield _no_list(read, noun)
        elif noun == "instances" and not entry.value:
            yield HAR101.violation("the list of instances is empty", (entry.key,))
    taken = {noun: entry.key for noun, entry in found.items() if entry is not None}
    if len(taken) == len(found) and taken != USUAL_KEYS:
        message = (
            f"by its shape, {short_text(taken['instances'])} is used as the list of instances "
            f"and {short_text(taken['metrics'])} as the list of metrics"
        )
        yield HAR101.violation(message, severity=Severity.INFO)


def _no_list(read: Input, noun: str) -> Violation:
    wrong = find_misplaced(read.document, noun)
    if wrong is None:
        return HAR101.violation(f"the list of {noun} is missing", "")
    kind = type_name(wrong.value)
    message = f"the {noun} must be a list, not {with_article(kind)}"
    return HAR101.violation(message, (wrong.key,), expected={"type": "array"}, found=wrong.value)


def _malformed_instance(read: Input) -> Iterator[Violation]:
    older: list[str] = []
    for instance in read.instances or ():
        if not isinstance(instance.value, dict):
            yield demands.no_object(HAR102, "an instance", instance.pointer, instance.value)
            continue
        yield from demands.require_one_spelling(
            HAR102, instance.pointer, instance.value, demands.INSTANCE_MEMBERS
        )
        yield from _identity(instance)
        place, value = instance.pointer, instance.value
        yield from demands.require_member(HAR102, place, value, "input", "a string")
        yield from _response(instance, older)
        yield from _references(instance)
    if older:
        message = "actual-output is a list, as in older files, not a string"
        yield HAR102.violation(message, older[0], count=len(older), severity=Severity.INFO)


def _identity(instance: InputInstance) -> Iterator[Violation]:
    place, value = instance.pointer, instance.value
    yield from demands.require_member(HAR102, place, value, "id", "a string or an integer")
    found = find_member(value, "id")
    if found is not None and found.value == "":
        yield HAR102.violation("id is empty", at(place, found), severity=Severity.WARNING)


def _response(instance: InputInstance, older: list[str]) -> Iterator[Violation]:
    found = find_member(instance.value, "actual-output")
    if found is None:
        yield HAR102.violation("actual-output is missing", instance.pointer)
    elif isinstance(found.value, list):
        place = at(instance.pointer, found)
        if not found.value:
            yield HAR102.violation(f"{found.key} has no response", place)
        elif all(isinstance(text, str) for text in found.value):
            older.append(place)
        yield from demands.require_texts(HAR102, place, found.value, found.key)
    elif not isinstance(found.value, str):
        yield demands.wrong_type(HAR102, instance.pointer, found, "a string")


def _references(instance: InputInstance) -> Iterator[Violation]:
    found = find_member(instance.value, "expected-output")
    if found is None:
        return
    place = at(instance.pointer, found)
    if isinstance(found.value, str):
        message = f"{found.key} must be a list of strings, not a string"
        yield HAR102.violation(message, place, severity=Severity.WARNING)
    elif isinstance(found.value, list):
        yield from demands.require_texts(HAR102, place, found.value, found.key)
    else:
        yield demands.wrong_type(HAR102, instance.pointer, found, "a list of strings")


def _repeated_instance(read: Input) -> Iterator[Violation]:
    yield from _find_copies(read)
    first: dict[str, InputInstance] = {}
    for instance in read.instances or ():
        if instance.id is None:
            continue
        before = first.setdefault(instance.id, instance)
        if before is instance:
            continue
        found, other = find_member(instance.value, "id"), find_member(before.value, "id")
        place = instance.pointer if found is None else at(instance.pointer, found)
        types = [isinstance(one.value, str) for one in (found, other) if one is not None]
        same = len(types) == 2 and types[0] == types[1]
        message = f"the same id as the instance at {before.pointer}" + (
            "" if same else ", apart from its type"
        )
        severity = None if same else Severity.WARNING
        value = instance.id if found is None else found.value
        yield HAR103.violation(message, place, found=value, severity=severity)


def _find_copies(read: Input) -> Iterator[Violation]:
    first: dict[bytes, InputInstance] = {}
    for instance in read.instances or ():
        texts = [read_member(instance.value, name) for name in _TEXTS]
        if instance.id is None or None in texts:
            continue
        digest = blake2b(canonical(texts), digest_size=DIGEST_BYTES).digest()
        before = first.setdefault(digest, instance)
        if before.id != instance.id:
            message = f"the same input, response and reference as the instance at {before.pointer}"
            severity = Severity.WARNING
            yield HAR103.violation(message, instance.pointer, found=instance.id, severity=severity)


_TEXTS: Final = ("input", "expected-output", "actual-output")
DIGEST_BYTES: Final = 16


def _missing_reference(read: Input) -> Iterator[Violation]:
    supervised = [
        metric.id
        for metric in read.metrics or ()
        if metric.enabled and metric.id is not None and is_supervised(metric.id)
    ]
    for instance in read.instances or ():
        if not supervised or not isinstance(instance.value, dict):
            continue
        found = find_member(instance.value, "expected-output")
        if found is None or found.value in ([], "", [""]):
            gap = "missing" if found is None else "empty"
            message = f"expected-output is {gap}, but {short_text(supervised[0])} compares responses with it"
            place = instance.pointer if found is None else at(instance.pointer, found)
            yield HAR106.violation(message, place)


HAR101: Final = declare_rule("HAR101", record=_lists_not_found)
HAR102: Final = declare_rule("HAR102", record=_malformed_instance)
HAR103: Final = declare_rule("HAR103", record=_repeated_instance)
HAR106: Final = declare_rule("HAR106", record=_missing_reference)

RULES: Final = (HAR101, HAR102, HAR103, HAR104, HAR105, HAR106)
