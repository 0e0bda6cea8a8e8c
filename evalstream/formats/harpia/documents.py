"""The documents of HarpIA Lab: the input of an evaluation, its output and its log.

The documentation (Inputs and Outputs, 11/05/2025) is prose: it gives the names of the members, but
not their spelling or the objects around them. So members are found under any spelling, and lists by
the shape of their items.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from evalstream.io.beginning import ARRAY, OBJECT, OTHER, Beginning, peek
from evalstream.model.data_class import NamedTuple
from evalstream.parsing.json import UTF8_MARK, pointer
from evalstream.parsing.json_values import parse_or_none

NAME: Final = "harpia"

INPUT: Final = "input"
OUTPUT: Final = "output"
LOG: Final = "log"
UNSURE: Final = "unsure"
"""The kind of a document with the shape of one of an input's lists, which many others have."""

METRIC_NAMES: Final = ("metric", "metric_id", "metric_name", "id", "name")
"""The members that may name the metric of an output or a log record, the surest first."""

ON_SEVERAL_LINES: Final = (
    "a record of this log goes over several lines; write each record on one line, for example with "
    "`jq -c . FILE`"
)
IN_ONE_OBJECT: Final = (
    "the records of this log are in a list inside an object; write each record on one line, for "
    "example with `jq -c '.[][]' FILE`"
)

_LINES_LOOKED_AT: Final = 64
_RECORD_KEYS: Final = frozenset(
    {"instanceid", "metric", "metricid", "metricname", "parameters", "result"}
)

_SEPARATORS: Final = re.compile(r"[\s_-]+")
_INSTANCE_WORD: Final = re.compile("inst[aâ]nc")
_METRIC_WORD: Final = re.compile("m[eé]tric")


class Member(NamedTuple):
    """A member of an object, with its key as written there."""

    key: str
    value: Any


class InputLists(NamedTuple):
    """The lists of an input, each with its key; None for a list that was not found.

    `rivals` holds, by the list searched for, the keys of candidates that cannot be decided between.
    """

    instances: Member | None
    metrics: Member | None
    rivals: Mapping[str, tuple[str, ...]]


class MetricOutput(NamedTuple):
    """An output's object for one metric, its pointer, and its key.

    `key` is None in a list.
    """

    value: Any
    pointer: str
    key: str | None


def normalise_key(key: str) -> str:
    """Return a key in normal spelling: `actual-output` equals `Actual Output`."""
    return _spelled_usual(key) if len(key) <= _USUAL_KEY else _plain(key)


def _plain(key: str) -> str:
    return _SEPARATORS.sub("", key).lower()


_USUAL_KEY: Final = 40
_spelled_usual: Final = lru_cache(maxsize=4096)(_plain)
"""Most objects have the same few keys, so their spellings are kept; very long ones are not."""


def find_member(holder: Mapping[str, Any], name: str) -> Member | None:
    """Return the member of an object with a name in any spelling, the exact one first."""
    if name in holder:
        return Member(name, holder[name])
    return next(iter(find_members(holder, name)), None)


def find_members(holder: Mapping[str, Any], name: str) -> list[Member]:
    """Return all members of an object with a name in any spelling."""
    wanted = normalise_key(name)
    return [Member(key, value) for key, value in holder.items() if normalise_key(key) == wanted]


def read_member(holder: Any, name: str) -> Any:
    """Return the value of an object's member with a name in any spelling, None without one."""
    found = find_member(holder, name) if isinstance(holder, dict) else None
    return None if found is None else found.value


def find_metric(holder: Mapping[str, Any]) -> Member | None:
    """Return the member that names the metric of an output or log record."""
    found = (find_member(holder, name) for name in METRIC_NAMES)
    return next((entry for entry in found if entry is not None), None)


def find_lists(document: Mapping[str, Any]) -> InputLists:
    """Find the lists of instances and of metrics: by their items, then by their keys.

    If one of them is known and only one other list remains, that is the other one.
    """
    lists = {key: value for key, value in document.items() if isinstance(value, list)}
    kinds = {key: _kind_of_list(value) or _kind_of_key(key) for key, value in lists.items()}
    rivals: dict[str, tuple[str, ...]] = {}
    found = {kind: _only(kind, kinds, rivals) for kind in (_INSTANCES, _METRICS)}
    left = [key for key, kind in kinds.items() if kind is None]
    for kind, other in ((_INSTANCES, _METRICS), (_METRICS, _INSTANCES)):
        if found[kind] is None and kind not in rivals and found[other] and len(left) == 1:
            found[kind] = left[0]
    instances, metrics = (
        None if key is None else Member(key, lists[key]) for key in found.values()
    )
    return InputLists(instances, metrics, rivals)


def find_misplaced(document: Mapping[str, Any], noun: str) -> Member | None:
    """Return a member named `instances` or `metrics` that is not a list."""
    found = (Member(key, value) for key, value in document.items() if _kind_of_key(key) == noun)
    return next((entry for entry in found if not isinstance(entry.value, list)), None)


def list_outputs(document: Any) -> list[MetricOutput]:
    """Return the object of each metric in an output.

    An output is a list of objects, an object that holds such lists, or an object keyed by metric,
    which may be the only member of another object.
    """
    if isinstance(document, list):
        return [MetricOutput(value, pointer([place]), None) for place, value in enumerate(document)]
    if not isinstance(document, dict):
        return []
    lists = {key: value for key, value in document.items() if isinstance(value, list)}
    holding = [key for key, value in lists.items() if any(map(_is_output, value))]
    if holding:
        return [_below(key, entry) for key in holding for entry in list_outputs(document[key])]
    if not _spelled_keys(document).isdisjoint({"score", "parameters"}):
        return [MetricOutput(document, "", None)]
    keyed = {key: value for key, value in document.items() if isinstance(value, dict)}
    named = [MetricOutput(value, pointer([key]), key) for key, value in keyed.items()]
    if any(_is_output(output.value) for output in named):
        return [output for output in named if _may_be_output(output.value)]
    inner = [key for key, value in keyed.items() if any(map(_is_output, value.values()))]
    return [_below(key, entry) for key in inner for entry in list_outputs(keyed[key])]


def detect_parsed(document: Any) -> str | None:
    """Return the kind of a parsed document, if its shape leaves no doubt."""
    if isinstance(document, dict):
        if _is_log_record(document):
            return LOG
        lists = [value for value in document.values() if isinstance(value, list)]
        if any(_kind_of_list(value) for value in lists):
            return INPUT
        known = {_kind_of_key(key) for key, value in document.items() if isinstance(value, list)}
        if {_INSTANCES, _METRICS} <= known:
            return INPUT
    elif isinstance(document, list) and any(map(_is_log_record, document[:1])):
        return LOG
    sure = [entry for entry in list_outputs(document) if _is_surely_output(entry.value)]
    return OUTPUT if sure else None


def is_surely_input(document: Any) -> bool:
    """Return whether a parsed document has both lists of an input, which hardly any other has."""
    lists = document.items() if isinstance(document, dict) else ()
    kinds = {_kind_of_list(one) or _kind_of_key(key) for key, one in lists if isinstance(one, list)}
    return {_INSTANCES, _METRICS} <= kinds


def detect_kind(file: Beginning) -> str | None:
    """Return the kind of a file of this format, or None for any other file.

    A document whose first members show nothing is parsed completely, if possible.
    """
    seen = file.seen
    keys = frozenset(map(normalise_key, seen.keys))
    if _is_record(keys) and seen.kind != OTHER:
        return LOG
    if seen.kind not in (OBJECT, ARRAY):
        return None
    if {_INSTANCES, _METRICS} <= {_kind_of_key(key) for key in seen.keys}:
        return INPUT
    return OUTPUT if _are_of_output(keys) else detect_parsed(file.document)


def holds_records(head: bytes) -> bool:
    """Return whether the first bytes of a log show a record, or do not exclude one."""
    if detect_parsed(parse_or_none(head)) in (INPUT, OUTPUT):
        return False
    lines = map(parse_or_none, head.split(b"\n", _LINES_LOOKED_AT))
    objects = [_spelled_keys(value) for value in lines if isinstance(value, dict)]
    if any(map(_is_record, objects)):
        return True
    seen = peek(head)
    if objects and seen.kind != OBJECT:
        return any(not _RECORD_KEYS.isdisjoint(keys) for keys in objects)
    return not seen.keys or not _RECORD_KEYS.isdisjoint(map(normalise_key, seen.keys))


def spread_records(head: bytes) -> str | None:
    """Return the message about a log whose records lie on several lines or in one object.

    It is None for a log with one record in each line, for an array, and for a record that is longer
    than the first bytes of the log.
    """
    from json import JSONDecoder  # every search in a folder loads this module

    text = head.removeprefix(UTF8_MARK).decode(errors="replace").lstrip()
    try:
        value, end = JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    if _is_log_record(value):
        return ON_SEVERAL_LINES if "\n" in text[:end] else None
    lists = (inner for inner in value.values() if isinstance(inner, list))
    return IN_ONE_OBJECT if any(map(_is_log_record, chain.from_iterable(lists))) else None


_INSTANCES: Final = "instances"
_METRICS: Final = "metrics"


def _only(kind: str, kinds: Mapping[str, str | None], rivals: dict[str, tuple[str, ...]]) -> Any:
    """Return the only list of a kind, or the one among several with a matching key."""
    some = [key for key, found in kinds.items() if found == kind]
    named = [key for key in some if _kind_of_key(key) == kind]
    if len(some) > 1 and len(named) != 1:
        rivals[kind] = tuple(some)
        return None
    return named[0] if len(some) > 1 else some[0] if some else None


def _kind_of_list(items: Iterable[Any]) -> str | None:
    """Return the kind of most objects of a list, or None if they do not show it."""
    counts = {_INSTANCES: 0, _METRICS: 0}
    for item in items:
        kind = _kind_of_item(_spelled_keys(item)) if isinstance(item, dict) else None
        if kind is not None:
            counts[kind] += 1
    if counts[_INSTANCES] == counts[_METRICS]:
        return None
    return max(counts, key=lambda kind: counts[kind])


def _kind_of_item(keys: frozenset[str]) -> str | None:
    if keys & {"score", "result", "elapsedtime"}:
        return None
    if keys & {"actualoutput", "expectedoutput"}:
        return _INSTANCES
    if "enable" in keys or {"id", "parameters"} <= keys:
        return _METRICS
    return _INSTANCES if {"id", "input"} <= keys else None


def _kind_of_key(key: str) -> str | None:
    name = normalise_key(key)
    if _INSTANCE_WORD.search(name):
        return _INSTANCES
    return _METRICS if _METRIC_WORD.search(name) else None


def _spelled_keys(holder: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(map(normalise_key, holder))


def _is_record(keys: frozenset[str]) -> bool:
    marks = keys & {"metric", "metricid", "metricname", "parameters", "result"}
    return ("instanceid" in keys and bool(marks)) or {"metric", "parameters", "result"} <= keys


def _is_log_record(value: Any) -> bool:
    return isinstance(value, dict) and _is_record(_spelled_keys(value))


def _is_output(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    keys = _spelled_keys(value)
    return bool(keys & {"score", "elapsedtime"}) or (
        "parameters" in keys and "enable" not in keys and "result" not in keys
    )


def _may_be_output(value: Mapping[str, Any]) -> bool:
    """Return whether an object among outputs is one, even if most members are missing."""
    return not value or _is_output(value) or find_metric(value) is not None


def _is_surely_output(value: Any) -> bool:
    return isinstance(value, dict) and _are_of_output(_spelled_keys(value))


def _are_of_output(keys: frozenset[str]) -> bool:
    """Tell whether members are those of a metric's output: many other files have one of them."""
    return len(keys & {"score", "parameters", "elapsedtime"}) > 1


def _below(key: str, entry: MetricOutput) -> MetricOutput:
    return entry._replace(pointer=pointer([key]) + entry.pointer)
