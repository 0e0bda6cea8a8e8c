"""The documents of SWE-bench, and how they go together: by run report, submission and folder.

The members are those of swebench 2.0.0 to 5.0.2 (harness/reporting.py, harness/grading.py) and of
the repository SWE-bench/experiments.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Final

from evalstream.engine.layout import is_of_relative
from evalstream.formats.base import Documents, PairedFormat, Place, other_formats
from evalstream.io.beginning import ARRAY, LINES, OBJECT, Beginning, read_beginning
from evalstream.io.containment import files_inside
from evalstream.io.names import is_local
from evalstream.model.errors import UsageError
from evalstream.model.run import NoInput, Run
from evalstream.parsing.json import fast
from evalstream.parsing.json_values import parse_or_none
from evalstream.parsing.lazy_regex import LazyPattern

if TYPE_CHECKING:
    from evalstream.engine.row_lookup import RowPlaces
    from evalstream.model.comparison import Answered
    from evalstream.model.options import Options

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
SETTINGS_FILE: Final = "run.json"
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

_LOGS: Final = ("logs/run_evaluation", "run_instance_logs")
"""Where the harness writes the logs of runs; the second is that of swebench 2.0."""

_OF_SUBMISSIONS: Final = (
    "results/results.json",
    "results/resolved_by_repo.json",
    "results/resolved_by_time.json",
    DETAILS_FILE,
    "all_preds.jsonl",
    "preds.json",
)

REPORT_OF_INSTANCE: Final = LazyPattern(
    rf"(?:^|/)(?:{'|'.join(LOG_FOLDERS)})/[^/]+/[^/]+/[^/]+/report\.json$"
)

_IN_INSTANCE: Final = LazyPattern(r"(?:^|/)[^/]+__[^/]+-\d+/report\.json$")
"""A report in a folder with the name of an instance: `owner__repository-number`."""

_SETTINGS_OF_RUN: Final = LazyPattern(rf"(?:^|/)(?:{'|'.join(LOG_FOLDERS)})/[^/]+/run\.json$")

OUTCOME_MEMBERS: Final = frozenset({"patch_successfully_applied", "resolved"})
"""Members of an instance's report."""

_PREDICTION: Final = frozenset({"instance_id", "model_patch"})
_REPORT_LISTS: Final = frozenset({"resolved_ids", "completed_ids"})
_REPORT_COUNTS: Final = frozenset(f"{one}_instances" for one in ("total", "completed", "resolved"))
_RESULTS: Final = frozenset({"no_generation", "no_logs", "with_logs", "no_apply"})
_DETAIL: Final = frozenset({"resolved", "api_calls"})
_GROUP: Final = frozenset({"resolved", "total"})
_SETTINGS: Final = frozenset({"dataset", "split", "task_repo", "created_at"})
_METADATA: Final = LazyPattern(rb"^info[ \t]*:[ \t]*$", flags=re.MULTILINE)
_MODEL: Final = LazyPattern(rb'"model_name_or_path"\s*:\s*("(?:[^"\\]|\\.)*")', flags=0)
_INSTANCE: Final = LazyPattern(rb'"instance_id"\s*:\s*("(?:[^"\\]|\\.)*")', flags=0)


def detect_kind(file: Beginning) -> str | None:
    """Return the kind of a file, or None for a file of another format."""
    seen = file.seen
    if seen.keys >= _PREDICTION and seen.kind in (OBJECT, LINES, ARRAY):
        return PREDICTIONS
    if os.path.basename(file.name) in METADATA_FILES and _METADATA.search(file.head):
        return METADATA
    if seen.kind != OBJECT or is_of_relative(OBJECT, seen.keys, file.head):
        return None
    names = {one.rpartition("/")[2] for one in seen.inner}
    is_named = os.path.basename(file.name) == DETAILS_FILE
    signs = (
        (REPORT, bool(seen.keys & _REPORT_COUNTS) and bool(seen.keys & _REPORT_LISTS)),
        (INSTANCE, (seen.keys if len(seen.keys) > 1 else names) >= OUTCOME_MEMBERS),
        (RESULTS, "resolved" in seen.keys and bool(seen.keys & _RESULTS)),
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


def kind_of_file(path: str) -> str | None:
    """Return the kind of a local file, or None for a file of another format."""
    return detect_kind(read_beginning(path))


def first_model(path: str) -> str | None:
    """Return the model that the first prediction of a local file names, None where it names none.

    It is written as the harness writes it into names of files: with `__` for `/`.
    """
    found = _MODEL.search(read_beginning(path).head)
    try:
        return None if found is None else model_folder(fast(found[1]))
    except ValueError:
        return None


def model_folder(model: str) -> str:
    """Return the name of the folder that the harness makes for a model."""
    return model.replace("/", "__")


class _Files:
    def __init__(self) -> None:
        self._by_kind: dict[str, dict[str, None]] = {}

    def add(self, path: str, kind: str) -> None:
        """Add a file once."""
        self._by_kind.setdefault(kind, {})[os.path.normpath(path) if is_local(path) else path] = (
            None
        )

    def add_neighbours(self) -> None:
        """Add the files that lie where the harness or a submission has them."""
        for path in self._of(REPORT):
            for logs in _LOGS:
                self._add_logs(os.path.join(os.path.dirname(path), logs), os.path.basename(path))
        for folder in self._submissions():
            for name in _OF_SUBMISSIONS:
                self._add_found(os.path.join(folder, name))
            for path in (os.path.join(folder, name) for name in METADATA_FILES):
                if is_local(path) and is_plain_file(path):
                    self.add(path, METADATA)
            self._add_reports(os.path.join(folder, "logs"))

    def _add_logs(self, logs: str, report: str) -> None:
        for run in list_folders(logs):
            for model in list_folders(run):
                if _report_name(model) == report:
                    self._add_reports(model)

    def _add_reports(self, folder: str) -> None:
        for instance in list_folders(folder):
            path = os.path.join(instance, REPORT_FILE)
            if is_plain_file(path):
                self.add(path, INSTANCE)

    def _add_found(self, path: str) -> None:
        kind = kind_of_file(path) if is_local(path) and is_plain_file(path) else None
        if kind is not None:
            self.add(path, kind)

    def runs(self) -> Iterator[Run]:
        # The reports of instances are in the folder that has those of one model and run.
        logs = _group_paths(self._of(INSTANCE), lambda path: os.path.dirname(os.path.dirname(path)))
        predictions = self._of(PREDICTIONS)
        used: set[str] = set()
        reports = self._of(REPORT)
        submissions = self._submissions()
        by_folder = _group_paths(predictions, os.path.dirname)
        metadata = _group_paths(self._of(METADATA), os.path.dirname)
        for folder, about in submissions.items():
            own = by_folder.get(folder, [])
            used.update(own)
            own_logs = logs.pop(os.path.join(folder, "logs"), [])
            rows = own[0] if len(own) == 1 else None
            unused = own if rows is None else []
            beside = (*about[1:], *metadata.pop(folder, ()), *unused, *own_logs)
            yield Run(rows, about[0], format=NAME, beside=beside)
        rows_of = _find_predictions(reports, predictions)
        named = _group_paths(logs, _report_name)
        for report in reports:
            fitting = named.get(os.path.basename(report), ())
            nearest = _nearest(report, [one for one in fitting if one in logs])
            if nearest is None and len(reports) == len(logs) == 1:
                nearest = next(iter(logs))
            predicted = rows_of[report]
            used.update(() if predicted is None else (predicted,))
            own_logs = [] if nearest is None else logs.pop(nearest)
            yield Run(predicted, report, format=NAME, beside=tuple(own_logs))
        for first, *rest in logs.values():
            yield Run(first, None, format=NAME, beside=tuple(rest))
        alone = [path for path in predictions if path not in used]
        alone += chain.from_iterable(metadata.values())
        yield from (Run(path, None, format=NAME) for path in alone)

    def broken_settings(self) -> list[str]:
        """Return the local settings of runs that are not a JSON object of texts, each once."""
        logs = {os.path.dirname(os.path.dirname(path)) for path in self._of(INSTANCE)}
        # A search that begins in the logs does not see by the name what a broken file is.
        beside = (os.path.join(os.path.dirname(folder), SETTINGS_FILE) for folder in sorted(logs))
        found = dict.fromkeys((*self._of(SETTINGS), *beside))
        local = (path for path in found if is_local(path) and is_plain_file(path))
        return [path for path in local if not _are_settings(path)]

    def _submissions(self) -> dict[str, list[str]]:
        """Return the documents of submissions by the folder of each."""
        kinds = (RESULTS, DETAILS, GROUPS)
        return _group_paths((path for kind in kinds for path in self._of(kind)), _root)

    def _of(self, kind: str) -> list[str]:
        return list(self._by_kind.get(kind, ()))


def _group_paths(paths: Iterable[str], key: Callable[[str], str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(key(path), []).append(path)
    return groups


def _find_predictions(reports: list[str], predictions: list[str]) -> dict[str, str | None]:
    """Return the predictions that each run report is about, by the model that both name.

    A model may have several runs: predictions are not those of a report that does not name half of
    their first instances, if another one does, or if it lies in another folder.
    """
    models = _group_paths(filter(is_local, predictions), lambda path: first_model(path) or "")
    found: dict[str, str | None] = {}
    for report in reports:
        parts = os.path.basename(report).split(".")
        names = filter(None, (".".join(parts[:end]) for end in range(1, len(parts))))
        found[report] = _nearest(report, [path for name in names for path in models.get(name, ())])
    if len(reports) == len(predictions) == 1:
        found[reports[0]] = predictions[0]
    for rows in filter(None, set(found.values())):
        if not is_local(rows):
            continue
        sharing = [report for report, one in found.items() if one == rows]
        firsts = frozenset(_INSTANCE.findall(read_beginning(rows).head))
        heads = {report: read_beginning(report).head for report in sharing}
        named = {one: sum(name in head for name in firsts) for one, head in heads.items()}
        others = [report for report in sharing if 2 * named[report] < len(firsts)]
        if len(others) == len(sharing):
            others = [one for one in others if os.path.dirname(one) != os.path.dirname(rows)]
        found.update(dict.fromkeys(others))
    return found


def _nearest(path: str, others: Iterable[str]) -> str | None:
    """Return the path that shares most folders with another, None if two share equally many."""
    shared = sorted(((_count_shared(path, one), one) for one in others), reverse=True)
    if len(shared) > 1 and shared[0][0] == shared[1][0]:
        return None
    return shared[0][1] if shared else None


def _count_shared(one: str, other: str) -> int:
    same = [a == b for a, b in zip(one.split("/")[:-1], other.split("/"), strict=False)]
    return [*same, False].index(False)


def _report_name(folder: str) -> str:
    """Return the name of the run report about the logs in a folder RUN_ID/MODEL."""
    run, model = os.path.split(folder)
    return f"{model}.{os.path.basename(run)}.json"


def _root(path: str) -> str:
    """Return the folder of a submission from one of its documents."""
    folder = os.path.dirname(path)
    return os.path.dirname(folder) if os.path.basename(folder) == "results" else folder


def _are_settings(path: str) -> bool:
    """Tell whether a local file has the settings of a run. Raises OSError."""
    with open(path, "rb") as file:
        value = parse_or_none(file.read())
    if not isinstance(value, dict) or value.get("dataset") is None or value.get("split") is None:
        return False
    return all(isinstance(value.get(name), (str, type(None))) for name in _SETTINGS)


def list_folders(folder: str) -> list[str]:
    """Return the folders in a local folder, sorted, without links; none where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(one.path for one in entries if one.is_dir(follow_symlinks=False))
    except OSError:
        return []


def is_plain_file(path: str) -> bool:
    """Return whether a local path is that of a file, and not of a link out of its folder."""
    folder, name = os.path.split(path)
    return bool(files_inside(folder, [name]))


class SweBenchFormat(PairedFormat):
    """Run reports of SWE-bench with their logs and predictions, and submissions."""

    __slots__ = ()

    name = NAME
    label = "SWE-bench"
    title = "SWE-bench: run reports, reports of instances, predictions, and submissions"
    noun = "instance"
    places: ClassVar[Mapping[str, Place]] = {
        PREDICTIONS: "rows",
        INSTANCE: "rows",
        REPORT: "aggregate",
        RESULTS: "aggregate",
        DETAILS: "aggregate",
        GROUPS: "aggregate",
        SETTINGS: "inputs",
        METADATA: "aggregate",
    }
    compared = frozenset({"answers", "paths"})
    # Of instances without a prediction there is nothing to make a digest of.
    has_answers = False
    has_yaml = True
    # To the folder with the build of the image (2.0.0 to 4.1.0, `run_instance`), often gone; links
    # of 2.0.9 and older lead nowhere: they are relative to the working folder.
    links_aside: ClassVar[Mapping[str, str]] = {"image_build_dir": "sweb.eval."}

    def detect_kind(self, file: Beginning) -> str | None:
        return detect_kind(file)

    def kind_by_path(self, path: str, has_neighbour: Callable[[], bool], /) -> str | None:
        if REPORT_OF_INSTANCE.search(path) or _IN_INSTANCE.search(path):
            return INSTANCE
        if _SETTINGS_OF_RUN.search(path):
            return SETTINGS
        return METADATA if os.path.basename(path) in METADATA_FILES and has_neighbour() else None

    def answers(
        self, run: Run, options: Options, places: RowPlaces, /
    ) -> Iterator[Answered | None]:
        answers: Iterator[Answered | None] = self.load("compared").answers(run, options, places)
        return answers

    def find(self, path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
        if inputs is not None:
            raise UsageError("SWE-bench has no document for --inputs-file")
        if not is_local(path) or not os.path.isfile(path):
            yield Run(path, aggregate, format=NAME)
            return
        named = [(kind_of_file(one), one) for one in (path, aggregate) if one is not None]
        known = [(kind, one) for kind, one in named if kind is not None]
        if len(known) < len(named):
            reason = f"this is not a document of SWE-bench; {other_formats()}"
            yield NoInput(path, reason, format=NAME)
            return
        yield from self.pair(lambda: iter(known), named=True)

    def pair(self, documents: Documents, *, named: bool) -> Iterator[Run | NoInput]:
        # What the harness writes beside a document that was `named` belongs to its run, too.
        # Predictions that belong to nothing are a run of their own; settings make none if they
        # are whole.
        given = dict.fromkeys((path, kind) for kind, path in documents())
        files = _Files()
        for path, kind in given:
            files.add(path, (kind_of_file(path) or kind) if named and is_local(path) else kind)
        if named:
            files.add_neighbours()
        for path in () if named else files.broken_settings():
            reason = f"{NOUNS[SETTINGS]} are cut off, or no JSON object of texts"
            yield NoInput(path, reason, format=NAME)
        yield from files.runs()


FORMAT: Final[PairedFormat] = SweBenchFormat()
"""Runs and submissions of SWE-bench."""
