"""Read one document of EvalGuard, from YAML or JSON, and check its text."""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Final

from evalstream.engine.layout import FOREIGN, LM_EVAL, LOGS_OF_FORMATS
from evalstream.engine.positions import json_locator
from evalstream.formats.base import Detector
from evalstream.formats.evalguard.files import File
from evalstream.formats.evalguard.format import (
    JSON_ENDING,
    LEGACY_IMPACT,
    NAME,
    REPORT,
    RESPONSE,
    THRESHOLD,
    detect_endpoint,
    is_response,
    kind_of_folder,
    kind_of_members,
    likely_kind,
)
from evalstream.formats.evalguard.report import FLAT, is_flat
from evalstream.formats.evalguard.rules.documents import EVG101
from evalstream.formats.evalguard.views import is_legacy
from evalstream.io.beginning import PEEK_BYTES, Beginning
from evalstream.io.inputs import document_bytes
from evalstream.io.names import is_yaml_name
from evalstream.io.readers import Watch
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Excerpt, Locator, PlacedViolation, Severity, Violation
from evalstream.model.text import with_article
from evalstream.parsing import yaml
from evalstream.parsing.json import UTF8_MARK, SyntaxIssue, blank_values, shorten, type_name
from evalstream.parsing.json_values import fast_or_none, list_or_empty
from evalstream.parsing.limits import TooLarge, refuse_many_values
from evalstream.parsing.yaml_scalars import INVALID, Mark, settle_scalars
from evalstream.rules.syntax import BEGINS_WITH_MARK, ES102, ES109, explain, read_object

LARGEST_DOCUMENT: Final = 32 << 20
"""The largest size of a JSON document in bytes; memory holds all of them at once."""

_START: Final = 64
"""How many bytes the first look at the beginning of a document reads."""

_BRACKETS: Final = (b"{", b"[")

DEEPEST: Final = 200
"""The deepest nesting that is read, whatever the options allow; usual documents have a dozen."""


class Reading(NamedTuple):
    """The kind and value of a document, its violations, and what finds positions in it.

    `kind` is None if it is unknown, `value` if the document is not an object. `replaced` holds the
    pointers of numbers that JSON does not allow, whose values are None. `mark` is the root of YAML.
    """

    kind: str | None
    value: dict[str, Any] | None
    locator: Locator
    violations: list[PlacedViolation]
    replaced: frozenset[str | None] = frozenset()
    mark: Mark = yaml.NOWHERE


def read_bytes(path: str, watch: Watch) -> bytes | None:
    """Return the bytes of a document, or None if there are too many.

    The state of a local file goes to `watch`. Raises OSError, and CannotCheck for a remote file.
    """
    try:
        return document_bytes(path, watch, most=LARGEST_DOCUMENT)
    except TooLarge:
        return None


def read(file: File, text: bytes, max_depth: int) -> Reading:
    """Read a document.

    Raises MissingExtra if it needs a library that is not installed, and TooLarge.
    """
    violations: list[PlacedViolation] = []
    if text.startswith(UTF8_MARK):
        text = text[len(UTF8_MARK) :]
        violations.append(PlacedViolation(ES102.violation(BEGINS_WITH_MARK), 1))
    is_named_json = file.path.lower().endswith(JSON_ENDING)
    if is_named_json or text[:_START].lstrip()[:1] in _BRACKETS or text[:_START].isspace():
        refuse_many_values(text)
    # libyaml rejects some valid JSON.
    is_json = is_named_json or isinstance(fast_or_none(text), dict)
    read_as = _read_json if is_json else _read_yaml
    reading = read_as(file, text, min(max_depth, DEEPEST))
    blank_values(reading.value, reading.replaced)
    return reading._replace(violations=[*violations, *reading.violations])


def is_of_another(file: File, text: bytes, detect: Detector) -> bool:
    """Return whether a file in a folder is not a document of EvalGuard.

    `detect` recognises files of all formats. Raw output of lm-evaluation-harness is a document,
    since EvalGuard keeps it as a report, and so is YAML that no format knows.
    """
    if not file.is_found or file.is_schema:
        return False
    whole = Beginning(file.path, text[:PEEK_BYTES], lambda: text)
    kind = detect(whole)
    if kind is None and is_yaml_name(file.path):
        return False
    if kind is not None:
        log = LOGS_OF_FORMATS.get(f"{kind.format} {kind.document}")
        is_kept = kind.format == FOREIGN and kind.document.startswith(LM_EVAL)
        is_kept = is_kept or (log is not None and log.harness == LM_EVAL)
        return kind.format != NAME and not is_kept
    found = whole.document
    return _kind(file, found if isinstance(found, dict) else None) is None


def _read_json(file: File, text: bytes, max_depth: int) -> Reading:
    reading = read_object(text, max_depth, torn=False, noun="a document")
    violations: list[PlacedViolation] = []
    for one in reading.violations:
        violation = one.violation
        if violation.code == ES109.code:
            violation = violation._replace(code=EVG101.code, keyword="type", pointer="")
        violations.append(one._replace(violation=violation))
    kind = _kind(file, reading.value)
    return Reading(kind, reading.value, json_locator(text), violations, reading.replaced)


def _read_yaml(file: File, text: bytes, max_depth: int) -> Reading:
    seen = yaml.read_yaml(text, max_depth)
    locator = partial(yaml.find_marks, seen.mark)
    violations = [
        PlacedViolation(_violation(issue), issue.line, issue.column) for issue in seen.issues
    ]
    if not seen.readable:
        return Reading(_kind(file, None), None, locator, violations)
    if not isinstance(seen.value, dict):
        violations.append(PlacedViolation(_no_object(seen)))
        return Reading(_kind(file, None), None, locator, violations)
    kind = _kind(file, seen.value)
    value, issues = settle_scalars(seen.value, seen.mark)
    violations += [PlacedViolation(_violation(issue)) for issue in issues]
    replaced = frozenset(issue.pointer for issue in issues)
    return Reading(kind, value, locator, violations, replaced, seen.mark)


def _no_object(seen: yaml.Yaml) -> Violation:
    kind = "empty" if seen.value is None else with_article(type_name(seen.value))
    message, expected = f"a document must be an object, not {kind}", {"type": "object"}
    return EVG101.violation(message, "", keyword="type", expected=expected, found=seen.value)


def _violation(issue: SyntaxIssue) -> Violation:
    """Return the violation for an issue, under the shared code of all formats if there is one."""
    if issue.name in (INVALID, yaml.OLDER):
        severity = Severity.WARNING if issue.name == yaml.OLDER else None
        found = issue.found or Excerpt(issue.excerpt or "", issue.caret)
        return EVG101.violation(issue.message, issue.pointer, found=found, severity=severity)
    (violation,) = explain([issue], torn=False)
    if issue.name == "byte-order-mark":
        violation = violation._replace(severity=Severity.ERROR)
    return violation


def _kind(file: File, value: dict[str, Any] | None) -> str | None:
    within = kind_of_folder(file.folders)
    if within is not None:
        return within
    keys = frozenset(value or ())
    if value and (is_response(value) if file.is_found else detect_endpoint(value) is not None):
        return RESPONSE
    return kind_of_members(keys) or kind_of_folder((file.root,)) or likely_kind(keys)


def unread_document(file: File, violation: Violation) -> Reading:
    """Return the reading of a file that could not be read, with the reason as a violation."""
    locator, placed = partial(yaml.find_marks, yaml.NOWHERE), PlacedViolation(violation)
    return Reading(_kind(file, None), None, locator, [placed])


def with_spelling(violation: Violation, reading: Reading) -> Violation:
    """Return the violation of a number that should be a string with how the number is written."""
    if violation.keyword != "type" or violation.expected != _STRING or violation.pointer is None:
        return violation
    spelling = yaml.spelling_at(reading.mark, violation.pointer)
    if spelling is None:
        return violation
    message = f"{violation.message}; YAML 1.2 reads {shorten(spelling)} as a number, so quote it"
    return violation._replace(message=message)


_STRING: Final = {"type": "string"}


_ANY_IMPACT: Final = "no_measurable"


def conform(kind: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return a document in the shape that its schema requires, otherwise unchanged.

    The last threshold example of the specification has `label` instead of `impact`; its report
    example lists tasks without a name around each.
    """
    if kind == THRESHOLD and isinstance(value.get("thresholds"), dict):
        thresholds = {metric: _with_impacts(items) for metric, items in value["thresholds"].items()}
        return {**value, "thresholds": thresholds}
    if kind == REPORT and isinstance(value.get("tasks"), list):
        return {
            **value,
            "tasks": [{FLAT: item} if is_flat(item) else item for item in value["tasks"]],
        }
    return value


def true_pointer(kind: str, value: dict[str, Any], place: str | None) -> str | None:
    """Return the pointer in a document for a pointer in its conformed shape."""
    found = re.match(r"/tasks/([0-9]+)(/[^/]*)", place or "") if kind == REPORT else None
    if (
        place is None
        or found is None
        or not is_flat(list_or_empty(value["tasks"])[int(found.group(1))])
    ):
        return place
    return place[: found.start(2)] + place[found.end(2) :]


def _with_impacts(items: Any) -> Any:
    if not isinstance(items, list):
        return items
    return [
        _with_impact(item) if isinstance(item, dict) and is_legacy(item) else item for item in items
    ]


def _with_impact(item: dict[str, Any]) -> dict[str, Any]:
    kept = {member: value for member, value in item.items() if member != LEGACY_IMPACT}
    return {**kept, "impact": _ANY_IMPACT}
