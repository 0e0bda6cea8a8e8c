"""Find the files of a run or of a submission, and group them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator

from evalstream.formats.base import other_formats
from evalstream.formats.swe_bench.documents import (
    DETAILS,
    DETAILS_FILE,
    GROUPS,
    INSTANCE,
    METADATA,
    METADATA_FILES,
    NAME,
    PREDICTIONS,
    REPORT,
    REPORT_FILE,
    RESULTS,
    first_model,
    kind_of_file,
)
from evalstream.io.names import is_local
from evalstream.model.errors import UsageError
from evalstream.model.run import NoInput, Run

LOGS = ("logs/run_evaluation", "run_instance_logs")
"""Where the harness writes the logs of runs; the second is that of swebench 2.0."""

_OF_SUBMISSIONS = (
    "results/results.json",
    "results/resolved_by_repo.json",
    "results/resolved_by_time.json",
    DETAILS_FILE,
    "all_preds.jsonl",
    "preds.json",
)


def find_runs(path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
    """Find the run of a file, with the run report that was named with it.

    Raises UsageError if the documents do not belong together.
    """
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
    yield from pair_documents(lambda: iter(known), named=True)


def pair_documents(
    documents: Callable[[], Iterator[tuple[str, str]]], *, named: bool
) -> Iterator[Run | NoInput]:
    """Group documents into runs: one for each run report, submission and folder of logs.

    What the harness writes beside a document that was `named` belongs to its run, too. Predictions
    that belong to nothing are a run of their own; settings of runs make none.
    """
    given = dict.fromkeys((path, kind) for kind, path in documents())
    files = _Files()
    for path, kind in given:
        files.add(path, (kind_of_file(path) or kind) if named and is_local(path) else kind)
    if named:
        files.add_neighbours()
    yield from files.runs()


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
            for logs in LOGS:
                self._add_logs(os.path.join(os.path.dirname(path), logs), os.path.basename(path))
        for folder in self._submissions():
            for name in _OF_SUBMISSIONS:
                self._add_found(os.path.join(folder, name))
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
        """Iterate over the runs."""
        logs = self._logs()
        predictions = self._of(PREDICTIONS)
        used: set[str] = set()
        reports = self._of(REPORT)
        submissions = self._submissions()
        for folder in submissions:
            own = [path for path in predictions if os.path.dirname(path) == folder]
            used.update(own)
            yield self._submission(folder, own, logs.pop(os.path.join(folder, "logs"), []))
        for report in reports:
            name = os.path.basename(report)
            own_logs = _nearest(report, [one for one in logs if _report_name(one) == name])
            if own_logs is None and len(reports) == len(logs) == 1:
                own_logs = next(iter(logs))
            rows = _find_predictions(report, predictions, is_only=len(reports) == 1)
            used.update(() if rows is None else (rows,))
            beside = [] if own_logs is None else logs.pop(own_logs)
            yield Run(rows, report, format=NAME, beside=tuple(beside))
        for first, *rest in logs.values():
            yield Run(first, None, format=NAME, beside=tuple(rest))
        alone = [path for path in predictions if path not in used]
        alone += [path for path in self._of(METADATA) if os.path.dirname(path) not in submissions]
        yield from (Run(path, None, format=NAME) for path in alone)

    def _submission(self, folder: str, predictions: list[str], logs: list[str]) -> Run:
        others = (RESULTS, DETAILS, GROUPS)
        about = [path for kind in others for path in self._of(kind) if _root(path) == folder]
        named = (os.path.join(folder, name) for name in METADATA_FILES)
        metadata = [path for path in named if is_local(path) and is_plain_file(path)]
        rows = predictions[0] if len(predictions) == 1 else None
        unused = predictions if rows is None else []
        beside = (*about[1:], *metadata, *unused, *logs)
        return Run(rows, about[0], format=NAME, beside=beside)

    def _submissions(self) -> list[str]:
        paths = (path for kind in (RESULTS, DETAILS, GROUPS) for path in self._of(kind))
        return list(dict.fromkeys(map(_root, paths)))

    def _logs(self) -> dict[str, list[str]]:
        """Return the reports of instances by the folder that has those of one model and run."""
        folders: dict[str, list[str]] = {}
        for path in self._of(INSTANCE):
            folders.setdefault(os.path.dirname(os.path.dirname(path)), []).append(path)
        return folders

    def _of(self, kind: str) -> list[str]:
        return list(self._by_kind.get(kind, ()))


def _find_predictions(report: str, predictions: list[str], *, is_only: bool) -> str | None:
    """Return the predictions that a run report is about, by the model that both name."""
    name = os.path.basename(report)
    models = {path: first_model(path) for path in predictions if is_local(path)}
    fitting = [path for path, model in models.items() if model and name.startswith(f"{model}.")]
    found = _nearest(report, fitting)
    if found is None and is_only and len(predictions) == 1:
        return predictions[0]
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


def list_folders(folder: str) -> list[str]:
    """Return the folders in a local folder, sorted, without links; none where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(one.path for one in entries if one.is_dir(follow_symlinks=False))
    except OSError:
        return []


def is_plain_file(path: str) -> bool:
    """Return whether a local path is that of a file, and not of a link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False
