"""The documents of SWE-bench: run reports, reports of instances, predictions and submissions.

The members are those of swebench 2.0.0 to 5.0.2 (harness/reporting.py, harness/grading.py) and of
the repository SWE-bench/experiments.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import Any, Final

from evalstream.io.beginning import ARRAY, LINES, OBJECT, Beginning, read_beginning
from evalstream.parsing.lazy_regex import LazyPattern

NAME: Final = "swe_bench"

REPORT: Final = "report"
INSTANCE: Final = "instance"
PREDICTIONS: Final = "predictions"
RESULTS: Final = "results"
DETAILS: Final = "details"
GROUPS: Final = "groups"
SETTINGS: Final = "settings"
METADATA: Final = "metadata"
REPORT_FILE: Final = "report.json"
DETAILS_FILE: Final = "per_instance_details.json"
METADATA_FILES: Final = ("metadata.yaml", "metadata.yml")

NOUNS: Final = {
    REPORT: "a run report",
    INSTANCE: "the report of an instance",
    PREDICTIONS: "a file of predictions",
    RESULTS: "the results of a submission",
    DETAILS: "details of instances",
    GROUPS: "resolved instances by group",
    SETTINGS: "the settings of a run",
    METADATA: "the metadata of a submission",
}
"""The kinds of document, as messages call them."""

LOG_FOLDERS: Final = ("run_evaluation", "run_instance_logs")
"""The folders of logs, which have those of a run, a model and an instance; the second is of 2.0."""

REPORT_OF_INSTANCE: Final = LazyPattern(
    rf"(?:^|/)(?:{'|'.join(LOG_FOLDERS)})/[^/]+/[^/]+/[^/]+/report\.json$"
)

OUTCOME_MEMBERS: Final = frozenset({"patch_successfully_applied", "resolved"})
"""Members of an instance's report."""

_PREDICTION: Final = frozenset({"instance_id", "model_patch"})
_REPORT_LISTS: Final = frozenset({"resolved_ids", "completed_ids"})
_RESULTS: Final = frozenset({"resolved", "no_generation"})
_DETAIL: Final = frozenset({"resolved", "api_calls"})
_GROUP: Final = frozenset({"resolved", "total"})
_SETTINGS: Final = frozenset({"dataset", "split", "task_repo", "created_at"})
_METADATA: Final = LazyPattern(rb"^info[ \t]*:[ \t]*$", flags=re.MULTILINE)
_MODEL: Final = LazyPattern(rb'"model_name_or_path"\s*:\s*("(?:[^"\\]|\\.)*")', flags=0)


def detect_kind(file: Beginning) -> str | None:
    """Return the kind of a file, or None for a file of another format."""
    seen = file.seen
    if seen.keys >= _PREDICTION and seen.kind in (OBJECT, LINES, ARRAY):
        return PREDICTIONS
    if os.path.basename(file.name) in METADATA_FILES and _METADATA.search(file.head):
        return METADATA
    if seen.kind != OBJECT:
        return None
    names = {one.rpartition("/")[2] for one in seen.inner}
    is_named = os.path.basename(file.name) == DETAILS_FILE
    signs = (
        (REPORT, "total_instances" in seen.keys and bool(seen.keys & _REPORT_LISTS)),
        (INSTANCE, (seen.keys if len(seen.keys) > 1 else names) >= OUTCOME_MEMBERS),
        (RESULTS, seen.keys >= _RESULTS),
        (SETTINGS, seen.keys >= _SETTINGS),
        (PREDICTIONS, names >= _PREDICTION),
        (DETAILS, names >= _DETAIL or (is_named and "resolved" in names)),
        (GROUPS, names == _GROUP and len(seen.inner) == len(_GROUP) * len(seen.keys)),
    )
    return next((kind for kind, is_shown in signs if is_shown), None)


def is_outcome(value: Any) -> bool:
    """Tell whether a JSON value is the report of an instance, as its members show."""
    inner = value
    if isinstance(value, dict) and len(value) == 1:
        (inner,) = value.values()
    return isinstance(inner, dict) and inner.keys() >= OUTCOME_MEMBERS


def kind_by_path(path: str, has_neighbour: Callable[[], bool]) -> str | None:
    """Return the kind of a document that has the path of one, or None."""
    if REPORT_OF_INSTANCE.search(path):
        return INSTANCE
    return METADATA if os.path.basename(path) in METADATA_FILES and has_neighbour() else None


def kind_of_file(path: str) -> str | None:
    """Return the kind of a local file, or None for a file of another format."""
    return detect_kind(read_beginning(path))


def first_model(path: str) -> str | None:
    """Return the model that the first prediction of a local file names, None where it names none.

    It is written as the harness writes it into names of files: with `__` for `/`.
    """
    found = _MODEL.search(read_beginning(path).head)
    try:
        return None if found is None else model_folder(json.loads(found[1]))
    except ValueError:
        return None


def model_folder(model: str) -> str:
    """Return the name of the folder that the harness makes for a model."""
    return model.replace("/", "__")
