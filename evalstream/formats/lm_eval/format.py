"""The documents of the lm-evaluation-harness, and how they go together.

`--log_samples` writes `samples_TASK_TIME.jsonl`, a row for each sample and filter, `--output_path`
writes `results_TIME.json` with the scores of tasks; both have the same time
(loggers/evaluation_tracker.py of lm_eval 0.4).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import lru_cache
from typing import ClassVar, Final

from evalstream.engine.layout import is_of_relative
from evalstream.formats.base import Documents, PairedFormat, Place, other_formats
from evalstream.io.beginning import ARRAY, LINES, OBJECT, Beginning, read_beginning
from evalstream.io.containment import files_inside
from evalstream.io.names import is_json_name, is_remote, printable, without_packing
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import UsageError
from evalstream.model.run import STDIN, NoInput, Run
from evalstream.parsing.json_values import object_or_empty
from evalstream.parsing.lazy_regex import LazyPattern

NAME: Final = "lm_eval"

SAMPLES: Final = "samples"
RESULTS: Final = "results"

ROW_MEMBERS: Final = frozenset({"doc_id", "doc", "target", "resps", "filtered_resps"})
"""Members that every row has, and no row of another format."""

_RESULTS_MEMBERS: Final = frozenset({"results", "configs", "versions"})
_SOME_OF_RESULTS: Final = frozenset({"n-shot", "n-samples", "config"})
_OLD_RESULTS: Final = frozenset({"results", "versions", "config", "config/model"})

_TIME: Final = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
_SAMPLES_NAME: Final = LazyPattern(rf"samples_(?P<task>.+)_(?P<time>{_TIME})\.jsonl", flags=0)
_RESULTS_NAME: Final = LazyPattern(rf".+_(?P<time>{_TIME})\.json", flags=0)


class SamplesName(NamedTuple):
    """The parts of a samples file's name: the task, and the time of the call."""

    task: str
    time: str


def detect_kind(file: Beginning) -> str | None:
    """Return the kind of a file, or None for a file of another format."""
    seen = file.seen
    if seen.keys >= ROW_MEMBERS and seen.kind in (OBJECT, LINES, ARRAY):
        return None if is_of_relative(seen.kind, seen.keys, file.head) else SAMPLES
    is_results = seen.kind == OBJECT and _are_of_results(seen.keys | seen.inner, file.head)
    return RESULTS if is_results else None


def _are_of_results(members: Set[str], head: bytes) -> bool:
    is_new = members >= _RESULTS_MEMBERS and not members.isdisjoint(_SOME_OF_RESULTS)
    has_signs = is_new or members >= _OLD_RESULTS
    return has_signs and not is_of_relative(OBJECT, members, head)


def detect_late(file: Beginning) -> str | None:
    """Return the kind of results whose figures are so many that they come before all the rest."""
    seen = file.seen
    if seen.kind != OBJECT or RESULTS not in seen.keys or seen.is_whole:
        return None
    document = object_or_empty(file.document)
    inner = {f"config/{name}" for name in object_or_empty(document.get("config"))}
    return RESULTS if _are_of_results(document.keys() | inner, file.head) else None


def samples_name(path: str) -> SamplesName | None:
    """Return what the name of a samples file says, None for another name."""
    found = _SAMPLES_NAME.fullmatch(without_packing(os.path.basename(path)))
    return None if found is None else SamplesName(found["task"], found["time"])


def task_in_name(path: str, tasks: Iterable[str]) -> str | None:
    """Return the task that the name of a samples file ends with, None for another name.

    Releases before 0.4.3 wrote MODEL_TASK.jsonl.
    """
    stem = os.path.basename(path).partition(".jsonl")[0]
    found = (task for task in tasks if stem == task or stem.endswith(f"_{task}"))
    return max(found, key=len, default=None)


def results_time(path: str) -> str | None:
    """Return the time in the name of a results file, None for another name."""
    found = _RESULTS_NAME.fullmatch(without_packing(os.path.basename(path)))
    return None if found is None else str(found["time"])


def kind_of_file(path: str) -> str | None:
    """Return the kind of a file; the name decides for one that cannot be parsed."""
    if path == STDIN or is_remote(path) or not os.path.isfile(path):
        return RESULTS if is_json_name(path) else SAMPLES
    file = read_beginning(path)
    kind = detect_kind(file) or detect_late(file)
    if kind is not None:
        return kind
    if samples_name(path) is not None:
        return SAMPLES
    return RESULTS if results_time(path) is not None else None


def _make_alone(path: str, *, has_samples: bool) -> Run:
    """Return the run of results alone; beside runs of samples they are its inputs."""
    if has_samples:
        return Run(None, None, format=NAME, inputs=path)
    return Run(None, path, format=NAME)


def samples_beside(results: str, early: Collection[str] = ()) -> dict[str, str]:
    """Return the tasks of the call that wrote some results, by their samples files in order.

    Names without a time are those of one of the tasks of an `early` release.
    """
    time, folder = results_time(results), os.path.dirname(results)
    names = sorted(_names(folder)) if (time or early) and not is_remote(results) else []
    if time is None:
        found = ((name, task_in_name(name, early)) for name in names if ".jsonl" in name)
        tasks = {name: task for name, task in found if task is not None}
    else:
        said = ((name, samples_name(name)) for name in names)
        tasks = {name: one.task for name, one in said if one is not None and one.time == time}
    return {os.path.join(folder, name): tasks[name] for name in files_inside(folder, tasks)}


def has_samples_without_results(folder: str) -> bool:
    """Return whether samples lie in a folder with a time that no results there have."""
    names = _names(folder)
    times = {results_time(name) for name in names}
    return any(one is not None and one.time not in times for one in map(samples_name, names))


def results_beside(
    samples: str, list_results: Callable[[str], Mapping[str | None, list[str]]] | None = None
) -> list[str]:
    """Return the results of the call that wrote some samples: they have its time in their names.

    `list_results` returns the names of a folder's results by their time.
    """
    found = samples_name(samples)
    if found is None or samples == STDIN or is_remote(samples):
        return []
    folder = os.path.dirname(samples)
    names = (list_results or _names_by_time)(folder).get(found.time, ())
    return [os.path.join(folder, name) for name in files_inside(folder, sorted(names))]


def _names_by_time(folder: str) -> Mapping[str | None, list[str]]:
    """Return the names of results in a folder by their time; None has all other names."""
    names: dict[str | None, list[str]] = {}
    for name in _names(folder):
        names.setdefault(results_time(name), []).append(name)
    return names


def _names(folder: str) -> list[str]:
    with suppress(OSError):
        return os.listdir(folder or os.curdir)
    return []


class LmEvalFormat(PairedFormat):
    """Samples of the lm-evaluation-harness, and its results."""

    __slots__ = ()

    name = NAME
    label = "lm-evaluation-harness"
    title = "lm-evaluation-harness: the samples of a task, and the results of a call"
    noun = "row"
    versions: Mapping[str, Sequence[str]] = {}
    places: ClassVar[Mapping[str, Place]] = {SAMPLES: "rows", RESULTS: "aggregate"}
    compared = frozenset({"files", "samples", "answers", "paths"})
    options = frozenset({"routing", "skip_noise"})
    is_source = True

    def detect_kind(self, file: Beginning) -> str | None:
        return detect_kind(file)

    def detect_late(self, file: Beginning, /) -> str | None:
        return detect_late(file)

    def find(self, path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
        if inputs is not None:
            raise UsageError("lm-eval has no document for --inputs-file")
        if path != STDIN and os.path.isdir(path):
            raise UsageError("--aggregate needs exactly one samples file, not a folder")
        kind = kind_of_file(path)
        if kind is None:
            reason = f"not samples or results of lm-eval; {other_formats()}"
            yield NoInput(path, f"this is {reason}", format=NAME)
        elif kind == SAMPLES:
            found = results_beside(path) if aggregate is None else [aggregate]
            yield from (Run(path, one, format=NAME) for one in found or (None,))
        elif aggregate is not None:
            raise UsageError(f"{printable(path)} holds results, and --aggregate names others")
        else:
            beside = samples_beside(path)
            yield from (Run(samples, path, format=NAME) for samples in beside)
            yield _make_alone(path, has_samples=bool(beside))

    def pair(self, documents: Documents, *, named: bool) -> Iterator[Run | NoInput]:
        # Samples and results of one call have one folder, and one time in their names. One samples
        # file and one document of results that were `named` in one call are a pair anyway.
        given = list(documents())
        samples = [path for kind, path in given if kind == SAMPLES]
        results = [path for kind, path in given if kind == RESULTS]
        if named and len(samples) == len(results) == 1:
            yield Run(samples[0], results[0], format=NAME)
            return
        # Nothing tells which of several results without a time are those of samples without one.
        keys = [(os.path.dirname(path), results_time(path)) for path in results]
        times = Counter(keys)
        known: dict[tuple[str, str | None], list[str]] = {}
        for key, path in zip(keys, results, strict=True):
            if key[1] is not None or times[key] == 1:
                known.setdefault(key, []).append(path)
        pairs: set[tuple[str, str]] = set()
        list_results = lru_cache(maxsize=1)(_names_by_time)
        for path in samples:
            name = samples_name(path)
            found = known.get((os.path.dirname(path), None if name is None else name.time), [])
            # Samples that were named alone have their results beside them.
            if named and not known:
                found = results_beside(path, list_results)
            pairs |= {(one, os.path.abspath(path)) for one in found}
            yield from (Run(path, one, format=NAME) for one in found or (None,))
        used = {one for one, _ in pairs}
        for path in results:
            others = samples_beside(path) if named else ()
            more = [one for one in others if (path, os.path.abspath(one)) not in pairs]
            yield from (Run(one, path, format=NAME) for one in more)
            yield _make_alone(path, has_samples=bool(more) or path in used)


FORMAT: Final[PairedFormat] = LmEvalFormat()
