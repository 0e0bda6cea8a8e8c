"""The documents of EvalGuard: tasks, metrics, thresholds, reports and more, in a folder.

The facts come from the specification of August 2025 (schema version v1), and from EvalGuard's own
repository: its later layout has policies and models in place of thresholds, and still calls its
schemas v1.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, ClassVar, Final

from evalstream.engine.layout import LM_EVAL
from evalstream.formats.base import Detector, FolderFormat, Place, Show
from evalstream.io.beginning import OBJECT, Beginning
from evalstream.io.names import YAML_ENDINGS, is_yaml_name
from evalstream.io.progress import Progress
from evalstream.model.changes import SealedText
from evalstream.model.errors import UsageError
from evalstream.model.options import Options
from evalstream.model.run import STDIN, NoInput, Run
from evalstream.model.run_summary import RunSummary

NAME: Final = "evalguard"
VERSION: Final = "v1"

TASK: Final = "task"
METRIC: Final = "metric"
THRESHOLD: Final = "threshold"
REPORT: Final = "report"
GUARDRAIL: Final = "guardrail"
POLICY: Final = "policy"
MODEL: Final = "model"
KINDS: Final = (TASK, METRIC, THRESHOLD, REPORT, GUARDRAIL, POLICY, MODEL)

TASK_DEFINITION: Final = "task_definition"
METRIC_DEFINITION: Final = "metric_definition"
MANIFEST: Final = "manifest"
RESPONSE: Final = "response"
LISTS: Final = {"reports": REPORT, "thresholds": THRESHOLD, "tasks": TASK, "models": None}
"""The endpoints of the API that answer with a list, and the kind of documents in it."""

METRICS: Final = "metrics"
ERROR: Final = "error"
SCHEMAS: Final = (
    *KINDS,
    TASK_DEFINITION,
    METRIC_DEFINITION,
    MANIFEST,
    *(f"{name}_response" for name in (*LISTS, METRICS, ERROR)),
)
"""The kinds of document, the schemas of tasks and metrics beside policies, of a manifest, and of
the responses of the API."""

MANIFEST_FILE: Final = "evalguard.manifest.json"
"""The file that lists the digests of all documents below its folder."""

JSON_ENDING: Final = ".json"
ENDINGS: Final = (*YAML_ENDINGS, JSON_ENDING)
SCHEMA_ENDING: Final = ".schema"
"""The end of the stem of a schema's file (section 6.2); a schema is not a document."""

IMPACTS: Final = ("no_measurable", "very_low", "low", "moderate", "high", "severe")
"""The impact levels, lowest first (section 4.3.3)."""

LOWER_IS_BETTER: Final = "lower_is_better"
HIGHER_IS_BETTER: Final = "higher_is_better"

LEGACY_IMPACT: Final = "label"
"""The member that the specification's last threshold example has instead of `impact`."""

_MEMBER: Final = re.compile(r"""^(["']?)([A-Za-z_]+)\1[ \t]*:(?=[ \t\r\n]|$)""", re.MULTILINE)

_KIND_OF_NAME: Final = {
    **{kind: kind for kind in KINDS},
    **{f"{kind}s": kind for kind in KINDS if kind != POLICY},
    "policies": POLICY,
}
"""The kind of the documents in a folder, by its name."""

_KINDS_BY_MEMBERS: Final = (
    (THRESHOLD, frozenset({"task", "thresholds"})),
    (POLICY, frozenset({"id", "name", "thresholds"})),
    (GUARDRAIL, frozenset({"id", "targets", "scope"})),
    (METRIC, frozenset({"id", "name", "direction"})),
    (TASK, frozenset({"id", "name", "metrics"})),
    (REPORT, frozenset({"tasks", "results"})),
    (MODEL, frozenset({"id", "name", "namespace"})),
)
"""Members that together show the kind of a document."""

_MEMBERS: Final = {
    THRESHOLD: frozenset({"task", "thresholds"}),
    METRIC: frozenset({"id", "name", "description", "type", "direction", "tags"}),
    TASK: frozenset({"id", "name", "description", "category", "metrics", "tags", "languages"}),
    REPORT: frozenset({"id", "metadata", "context", "tasks", "results"}),
    GUARDRAIL: frozenset(
        {"id", "name", "description", "targets", "scope", "external_references", "instructions"}
    ),
    POLICY: frozenset({"id", "name", "description", "thresholds"}),
    MODEL: frozenset({"id", "name", "namespace", "aliases", "reference_links"}),
}
_HINTS: Final = {
    THRESHOLD: frozenset({"thresholds"}),
    METRIC: frozenset({"direction"}),
    TASK: frozenset({"metrics"}),
    REPORT: frozenset({"context", "tasks", "results"}),
    GUARDRAIL: frozenset({"targets", "scope", "instructions"}),
    POLICY: frozenset({"thresholds"}),
}
"""Members that hardly any other kind of document has."""

_PAGING: Final = "pagination"
_ENTRIES: Final = {
    "reports": frozenset({"results"}),
    "thresholds": frozenset({"task", "thresholds"}),
    "tasks": frozenset({"id", "name"}),
    "models": frozenset({"name", "report_count"}),
}
"""Members that the entries of each list have."""

_HARNESS: Final = frozenset({"results", "configs", "versions", "n-shot"})
"""Members of the raw output of lm-evaluation-harness, which EvalGuard keeps as reports."""


def schema_name(kind: str) -> str:
    """Return the name of a schema, one of `SCHEMAS`."""
    return f"{NAME}/{VERSION}/{kind}"


def is_document_name(path: str) -> bool:
    """Return whether a file may be a document by its ending."""
    return path.lower().endswith(ENDINGS)


def file_stem(path: str) -> str:
    """Return a file's name without its ending."""
    return os.path.splitext(os.path.basename(path))[0]


def is_harness_output(keys: Set[str]) -> bool:
    """Return whether a document is the raw output of lm-evaluation-harness."""
    return len(_HARNESS & keys) >= 3 and "results" in keys


def kind_of_folder(folders: Sequence[str]) -> str | None:
    """Return the kind of the documents in a folder, by the nearest known folder name."""
    names = (name.lower() for name in reversed(folders))
    return next((_KIND_OF_NAME[name] for name in names if name in _KIND_OF_NAME), None)


def kind_of_members(keys: Set[str]) -> str | None:
    """Return the kind of a document if its members leave no doubt."""
    found = next((kind for kind, members in _KINDS_BY_MEMBERS if members <= keys), None)
    # Other documents have a namespace, too.
    return None if found == MODEL and not keys <= _MEMBERS[MODEL] else found


def detect_endpoint(value: Mapping[str, Any]) -> str | None:
    """Return the endpoint whose response an object is by its members; `error` for a failed call.

    A report lists tasks, too, but its tasks have no id.
    """
    keys = value.keys()
    if {"report_id", METRICS} <= keys:
        return METRICS
    if isinstance(value.get(ERROR), str) and keys <= {ERROR, "code", "details"}:
        return ERROR
    names = sorted(keys - {_PAGING})
    if len(names) != 1 or names[0] not in LISTS or not isinstance(value[names[0]], list):
        return None
    name, entries = names[0], value[names[0]]
    have_ids = all(isinstance(one, dict) and "id" in one for one in entries)
    return None if name == "tasks" and not have_ids else name


def is_response(value: Any) -> bool:
    """Tell whether a value is certainly a response of the API: its entries show it, too."""
    name = detect_endpoint(value) if isinstance(value, dict) else None
    if name == METRICS:
        return isinstance(value[METRICS], list) and value.keys() == {"report_id", METRICS}
    if name is None or name == ERROR or not value[name]:
        return False
    return all(isinstance(one, dict) and one.keys() >= _ENTRIES[name] for one in value[name])


def likely_kind(keys: Set[str]) -> str | None:
    """Return the kind of a document by most of its members, some of which may be missing."""
    if is_harness_output(keys):
        return REPORT
    for kind in (THRESHOLD, METRIC, TASK, REPORT, GUARDRAIL, POLICY):
        known = len(_MEMBERS[kind] & keys)
        if _HINTS[kind] & keys and known > len(keys) - known:
            return kind
    return None


def is_manifest(path: str) -> bool:
    """Tell whether a file is the manifest of its folder, which is not a document."""
    return os.path.basename(path) == MANIFEST_FILE


def _kind_in_folder(path: str, keys: Set[str]) -> str | None:
    """Return the kind of a task without metrics, which only its folder and its members show."""
    folder = os.path.basename(os.path.dirname(os.path.abspath(path)))
    is_task = kind_of_folder((folder,)) == TASK and {"id", "name"} <= keys <= _MEMBERS[TASK]
    return TASK if is_task else None


def yaml_members(file: Beginning) -> frozenset[str]:
    """Return the members at the beginning of a YAML file without parsing it."""
    text = file.head.decode(errors="replace")
    return file.seen.keys.union(found.group(2) for found in _MEMBER.finditer(text))


class EvalGuardFormat(FolderFormat):
    """Tasks, metrics, thresholds or policies, and reports in a folder."""

    __slots__ = ()

    name = NAME
    label = "EvalGuard"
    title = "EvalGuard: tasks, metrics, thresholds or policies, and reports in a folder"
    noun = "document"
    versions: Mapping[str, Sequence[str]] = {VERSION: sorted(SCHEMAS)}
    places: ClassVar[Mapping[str, Place]] = dict.fromkeys((*KINDS, MANIFEST, RESPONSE), "rows")
    has_answers = False
    kept_logs = (LM_EVAL,)
    has_yaml = True
    seals_itself = True

    def detect_kind(self, file: Beginning) -> str | None:
        if is_manifest(file.name):
            return MANIFEST
        if is_yaml_name(file.name):
            members = yaml_members(file)
            return kind_of_members(members) or _kind_in_folder(file.name, members)
        seen, is_ours = file.seen, not file.name or file.name.lower().endswith(JSON_ENDING)
        kind = kind_of_members(seen.keys) if is_ours and seen.kind == OBJECT else None
        # A JSON object may be of another format: it has only members of its kind.
        return kind if kind is not None and seen.keys <= _MEMBERS[kind] else None

    def detect_late(self, file: Beginning, /) -> str | None:
        is_json = file.seen.kind == OBJECT and not is_yaml_name(file.name)
        return RESPONSE if is_json and is_response(file.document) else None

    def is_like(self, keys: Set[str], /) -> bool:
        return bool(kind_of_members(keys) or likely_kind(keys))

    def kind_of_folder(self, folders: Sequence[str]) -> str | None:
        return kind_of_folder(folders)

    def files(self, path: str) -> Iterator[str]:
        return (file.path for file in self.load("files").iterate_files(path))

    def find(self, path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
        # `aggregate` is the folder, or a document, that the one named document refers to.
        if inputs is not None:
            raise UsageError(f"--inputs-file does not go with files of {NAME}")
        if path == STDIN and aggregate == STDIN:
            raise UsageError("standard input can be named only once")
        reason = self.load("files").describe_empty(path)
        if reason is not None:
            yield NoInput(path, reason, format=NAME)
            return
        yield Run(path, aggregate, format=NAME)

    def together(self, folders: Sequence[str], /) -> Iterator[Sequence[str]]:
        groups: Iterator[Sequence[str]] = self.load("files").together(folders)
        return groups

    def check(
        self, run: Run, options: Options, show: Show, progress: Progress, detect: Detector, /
    ) -> RunSummary:
        summary: RunSummary = self.load("checker").check(run, options, show, progress, detect)
        return summary

    def make_seal(self, run: Run, _options: Options, /) -> SealedText:
        if run.rows is None or run.beside or not os.path.isdir(run.rows):
            raise UsageError("one folder is sealed at a time, with all of its documents")
        text: SealedText = self.load("manifest").sealed_folder(run.rows)
        return text


FORMAT: Final[FolderFormat] = EvalGuardFormat()
