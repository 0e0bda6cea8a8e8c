"""EVG2: rules about the ids, references, layout and schemas of a folder, and lists of documents."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from evalstream.formats.evalguard.format import (
    GUARDRAIL,
    LISTS,
    METRIC,
    MODEL,
    POLICY,
    REPORT,
    TASK,
    THRESHOLD,
)
from evalstream.formats.evalguard.views import POLICIES, SPECIFICATION, FolderItem, iterate_tables
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing.json import pointer, resolve_pointer
from evalstream.parsing.json_schema import compile_schema
from evalstream.parsing.json_values import is_number, list_or_empty, object_or_empty
from evalstream.parsing.schema_errors import SchemaError, Validator
from evalstream.rules.base import Rule, declare_rule
from evalstream.rules.schema import explain_schema


def _unknown_metric_of_task(subject: FolderItem) -> Iterator[Violation]:
    document, folder = subject
    if document.kind != TASK:
        return
    names = list_or_empty(document.value.get("metrics"))
    if not folder.followed:
        if names:
            yield _not_followed(EVG201, "/metrics", "the metrics of the task")
        return
    for index, name in enumerate(names):
        if isinstance(name, str) and not folder.knows(METRIC, name):
            message = "no metric document has this id"
            yield EVG201.violation(message, f"/metrics/{index}", found=name)


def _unknown_task(subject: FolderItem) -> Iterator[Violation]:
    document, folder = subject
    tasks: list[tuple[str, str, str | None]] = []
    if document.kind == THRESHOLD and document.id is not None:
        tasks = [("/task", document.id, document.id)]
    elif document.kind == POLICY:
        thresholds = document.value.get("thresholds")
        names = thresholds if isinstance(thresholds, dict) else ()
        # The key is the name, so that there is no value to show.
        tasks = [(pointer(("thresholds", name)), name, None) for name in names]
    if not folder.followed:
        for place, _, _ in tasks[:1]:
            yield _not_followed(EVG202, place, "the task and its metrics")
        return
    for place, name, found in tasks:
        if not folder.knows(TASK, name):
            which = "this id" if found is not None else f"the id {name}"
            yield EVG202.violation(f"no task document has {which}", place, found=found)


def _unknown_metric_of_threshold(subject: FolderItem) -> Iterator[Violation]:
    document, folder = subject
    if not folder.followed:
        return
    for table in iterate_tables(document):
        for name in table.metrics:
            severity = None
            if not folder.knows(METRIC, name):
                message = f"no metric document has the id {name}"
            elif table.task is not None and not folder.lists(table.task, name):
                message, severity = f"the task does not list the metric {name}", Severity.WARNING
            else:
                continue
            yield EVG203.violation(message, (*table.path, name), severity=severity)


def _several_thresholds(subject: FolderItem) -> Iterator[Violation]:
    document, folder = subject
    owner = folder.owner(document)
    if document.kind == THRESHOLD and owner is not document:
        message = f"the task has other thresholds, too: {owner.name}"
        yield EVG204.violation(message, "/task", found=document.id)


def _repeated_id(subject: FolderItem) -> Iterator[Violation]:
    document, folder = subject
    if document.kind not in (*_UNIQUE, *_LATER) or document.id is None:
        return
    owner = folder.owner(document)
    is_copy = document.kind == REPORT and owner.value == document.value
    if owner is not document and not is_copy:
        message = f"another document has this id: {owner.name}"
        severity = Severity.WARNING if document.kind in _LATER else None
        yield EVG205.violation(message, "/id", found=document.id, severity=severity)
    is_named = document.stem is None or document.is_named_after_id
    if document.kind != REPORT and not is_named:
        message = "the file is not named after the id in it"
        yield EVG205.violation(
            message, "/id", expected=document.stem, found=document.id, severity=Severity.INFO
        )


def _not_followed(rule: Rule, place: str, what: str) -> Violation:
    message = f"{what} were not looked up; name their folder with --aggregate"
    return rule.violation(message, place, severity=Severity.WARNING)


_UNIQUE: Final = (TASK, METRIC, REPORT)
"""Kinds whose ids the specification calls unique (sections 4.1.2, 4.2.2 and 4.4.2)."""

_LATER: Final = (GUARDRAIL, POLICY, MODEL)
"""Kinds that the specification does not have, and whose texts say nothing about their ids."""


_PLACE: Final = "/pagination"


def paging(endpoint: str, response: Mapping[str, Any]) -> Iterator[Violation]:
    """Compare the paging of a response with the entries that it has."""
    page = object_or_empty(response.get("pagination"))
    total, limit, offset = (_count(page.get(name)) for name in ("total", "limit", "offset"))
    if endpoint not in LISTS or total is None or limit is None or offset is None:
        return
    shown = len(list_or_empty(response.get(endpoint)))
    if shown > limit:
        message = f"there are {shown:,} {endpoint}, more than the limit"
        yield EVG209.violation(message, f"{_PLACE}/limit", found=limit)
    if shown and offset + shown > total:
        message = f"the last of {shown:,} {endpoint} is number {offset + shown:,}, beyond the total"
        yield EVG209.violation(message, f"{_PLACE}/total", found=total)
        return
    more, said = offset + shown < total, page.get("has_more")
    if isinstance(said, bool) and said is not more:
        message = f"{offset + shown:,} of {total:,} {endpoint} are shown up to here"
        yield EVG209.violation(message, f"{_PLACE}/has_more", expected=more, found=said)


def _count(value: Any) -> int | None:
    return int(value) if is_number(value) and value % 1 == 0 and value >= 0 else None


SCHEMA: Final = "$schema"
API: Final = "openapi"
SIGNS: Final = frozenset({SCHEMA, API})
"""Members of which a schema has one; a description of an API contains schemas."""

ENDPOINTS: Final[Mapping[str, tuple[str, ...]]] = {
    "/reports": ("model_name", "model_source", "task_ref", "metric", "limit", "offset"),
    "/reports/{report_id}": (),
    "/reports/{report_id}/metrics": (),
    "/thresholds": ("tasks", "metrics"),
    "/models": (),
    "/tasks": (),
}
"""The endpoints of the API and their query parameters (sections 4.5.2 and 4.5.3)."""

_REPLACED, _REPLACING = "/thresholds", "/policies"
"""The endpoint that the later layout has no more (commit d02d1b1), and the one in its place."""

REQUIRED: Final = frozenset({("/thresholds", "tasks")})
"""Query parameters that a client must give (section 4.5.3)."""

_NEWEST: Final = "https://json-schema.org/draft/2020-12/schema"
_META_SCHEMAS: Final[Mapping[str, str]] = {
    "draft/2020-12/schema": _NEWEST,
    "draft/2019-09/schema": "https://json-schema.org/draft/2019-09/schema",
    "draft-07/schema": "http://json-schema.org/draft-07/schema#",
    "draft-06/schema": "http://json-schema.org/draft-06/schema#",
    "draft-04/schema": "http://json-schema.org/draft-04/schema#",
}
"""The meta-schemas by the end of their URI; EvalGuard's own schemas write http for https."""

_URI: Final = re.compile(r"https?://json-schema\.org/(.+?)#?")
_VARIABLE: Final = re.compile(r"\{[^{}]*\}")


def check_schema(value: Mapping[str, Any], engine: str) -> Iterator[Violation]:
    """Yield the violations of the schema, or the OpenAPI document, in a file."""
    if API in value:
        yield from _missing_endpoints(value)
        return
    declared = value.get(SCHEMA, _NEWEST)
    uri = _URI.fullmatch(declared) if isinstance(declared, str) else None
    known = _META_SCHEMAS.get(uri.group(1)) if uri is not None else None
    if known is None:
        message = "the schema was not validated, as its meta-schema is not one of JSON Schema's"
        yield EVG210.violation(message, f"/{SCHEMA}", found=declared, severity=Severity.WARNING)
        return
    # The meta-schema knows the URI only with https.
    errors = map(_nearest, _meta_schema(known, engine).errors({**value, SCHEMA: known}))
    yield from (
        violation._replace(code=EVG210.code) for violation in explain_schema(errors, own=False)
    )


def _nearest(error: SchemaError) -> SchemaError:
    """Return the error of the branch of `anyOf` whose type the value has, if there is one."""
    branches = (branch[0] for branch in error.variants if branch)
    return next((one for one in branches if one.keyword != "type"), error)


@lru_cache(maxsize=len(_META_SCHEMAS))
def _meta_schema(uri: str, engine: str) -> Validator:
    return compile_schema({SCHEMA: uri, "$ref": uri}, engine)


def _missing_endpoints(api: Mapping[str, Any]) -> Iterator[Violation]:
    paths = api.get("paths")
    if not isinstance(paths, dict):
        yield EVG211.violation("the document has no paths", "")
        return
    places = {_VARIABLE.sub("{}", path): path for path in paths}
    for endpoint, names in ENDPOINTS.items():
        if endpoint == _REPLACED and _REPLACING in places:
            continue
        path = places.get(_VARIABLE.sub("{}", endpoint), "")
        operation = paths[path].get("get") if isinstance(paths.get(path), dict) else None
        if not isinstance(operation, dict):
            yield EVG211.violation(f"the endpoint GET {endpoint} is missing", "/paths")
            continue
        held = (list_or_empty(holder.get("parameters")) for holder in (paths[path], operation))
        parameters = [_resolve_parameter(api, one) for one in chain.from_iterable(held)]
        if None not in parameters:
            yield from _missing_parameters(endpoint, names, parameters, path)


def _missing_parameters(
    endpoint: str, names: tuple[str, ...], parameters: list[Any], path: str
) -> Iterator[Violation]:
    place = ("paths", path, "get")
    given = {one.get("name"): one for one in parameters if one.get("in") == "query"}
    for name in names:
        if name not in given:
            yield EVG211.violation(f"GET {endpoint} lacks the query parameter {name}", place)
        elif (endpoint, name) in REQUIRED and given[name].get("required") is not True:
            message = f"the query parameter {name} of GET {endpoint} is not required"
            yield EVG211.violation(message, place)


def _resolve_parameter(api: Mapping[str, Any], parameter: Any) -> Mapping[str, Any] | None:
    """Return a parameter, also one that the document refers to; None if it is elsewhere."""
    reference = parameter.get("$ref") if isinstance(parameter, dict) else None
    if isinstance(reference, str) and reference.startswith("#/"):
        parameter = resolve_pointer(api, reference[1:])
    is_whole = isinstance(parameter, dict) and "$ref" not in parameter
    return parameter if is_whole else None


_FILE: Final = re.compile(r"[A-Za-z0-9_-]+\.schema\.yaml")
_VERSION: Final = re.compile(r"v[0-9]+(\.[0-9]+)?")


def _check_mixed(subject: FolderItem) -> Iterator[Violation]:
    """Report the first document of the layout that has fewer of them."""
    shown = subject.folder.shown
    if not {SPECIFICATION, POLICIES} <= shown.keys():
        return
    fewer = min((POLICIES, SPECIFICATION), key=lambda layout: len(shown[layout]))
    if shown[fewer][0] is subject.document:
        message = (
            f"the folder mixes two layouts: {count_noun(len(shown[SPECIFICATION]), 'document')} of the "
            "specification's (thresholds, tasks with metrics) and "
            f"{count_noun(len(shown[POLICIES]), 'document')} of the later one (policies, models)"
        )
        yield EVG206.violation(message, "")


def check_schema_name(path: str, *, is_nested: bool) -> Iterator[Violation]:
    """Report a schema whose file, or the folder that it is in, is not named as section 6.2 asks.

    `is_nested` says that it is below the named folder, so that its own folder is part of the layout.
    """
    folder, name = os.path.split(path)
    if not _FILE.fullmatch(name):
        yield EVG208.violation("the file of a schema is named {type}.schema.yaml", found=name)
    if is_nested and not _VERSION.fullmatch(os.path.basename(folder)):
        message = "the folder of a schema is named after its version, v{major} or v{major}.{minor}"
        yield EVG208.violation(message, found=os.path.basename(folder))


EVG201: Final = declare_rule("EVG201", record=_unknown_metric_of_task)
EVG202: Final = declare_rule("EVG202", record=_unknown_task)
EVG203: Final = declare_rule("EVG203", record=_unknown_metric_of_threshold)
EVG204: Final = declare_rule("EVG204", record=_several_thresholds)
EVG205: Final = declare_rule("EVG205", record=_repeated_id)
EVG206: Final = declare_rule("EVG206", record=_check_mixed)
EVG208: Final = declare_rule("EVG208")
EVG209: Final = declare_rule("EVG209")
EVG210: Final = declare_rule("EVG210")
EVG211: Final = declare_rule("EVG211")

RULES: Final = (EVG201, EVG202, EVG203, EVG204, EVG205, EVG206, EVG208, EVG209, EVG210, EVG211)
