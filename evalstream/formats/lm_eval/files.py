"""Find the files of lm-eval, and pair samples with their results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress

from evalstream.formats.base import other_formats
from evalstream.formats.lm_eval.documents import (
    NAME,
    RESULTS,
    SAMPLES,
    detect_kind,
    results_time,
    samples_name,
)
from evalstream.io.beginning import read_beginning
from evalstream.io.names import is_json_name, is_remote, printable
from evalstream.model.errors import UsageError
from evalstream.model.run import STDIN, NoInput, Run


def find_runs(path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
    """Find the runs of an input, with the results that were named with it.

    Raises UsageError if the documents do not belong together.
    """
    if inputs is not None:
        raise UsageError("lm-eval has no document for --inputs-file")
    if path != STDIN and os.path.isdir(path):
        raise UsageError("--aggregate needs exactly one samples file, not a folder")
    kind = kind_of_file(path)
    if kind is None:
        reason = f"not samples or results of lm-eval; {other_formats()}"
        yield NoInput(path, f"this is {reason}", format=NAME)
    elif kind == SAMPLES:
        yield Run(path, results_beside(path) if aggregate is None else aggregate, format=NAME)
    elif aggregate is not None:
        raise UsageError(f"{printable(path)} holds results, and --aggregate names others")
    else:
        yield from of_results(path)


def kind_of_file(path: str) -> str | None:
    """Return the kind of a file; the name decides for one that cannot be parsed."""
    if path == STDIN or is_remote(path) or not os.path.isfile(path):
        return RESULTS if is_json_name(path) else SAMPLES
    kind = detect_kind(read_beginning(path))
    if kind is not None:
        return kind
    if samples_name(path) is not None:
        return SAMPLES
    return RESULTS if results_time(path) is not None else None


def of_results(path: str) -> Iterator[Run]:
    """Iterate over the runs of some results: themselves, and each samples file beside them."""
    beside = list(samples_beside(path))
    for samples in beside:
        yield Run(samples, path, format=NAME)
    yield alone(path, has_samples=bool(beside))


def alone(path: str, *, has_samples: bool) -> Run:
    """Return the run of results alone; beside runs of samples they are its inputs."""
    if has_samples:
        return Run(None, None, format=NAME, inputs=path)
    return Run(None, path, format=NAME)


def pair_documents(
    documents: Callable[[], Iterator[tuple[str, str]]], *, named: bool
) -> Iterator[Run | NoInput]:
    """Pair samples with the results of their call, by folder and by the time in their names.

    One samples file and one document of results that were `named` in one call are a pair whatever
    their names. Samples without results, and results, are runs of their own.
    """
    given = list(documents())
    samples = [path for kind, path in given if kind == SAMPLES]
    results = [path for kind, path in given if kind == RESULTS]
    if named and len(samples) == len(results) == 1:
        yield Run(samples[0], results[0], format=NAME)
        return
    known = {_key(path, results_time(path)): path for path in results}
    used: set[str | None] = set()
    for path in samples:
        name = samples_name(path)
        found = known.get(_key(path, None if name is None else name.time)) or _beside(path, known)
        used.add(found)
        yield Run(path, found, format=NAME)
    taken = {os.path.abspath(path) for path in samples if not is_remote(path)}
    for path in results:
        others = samples_beside(path) if named else ()
        more = [one for one in others if os.path.abspath(one) not in taken]
        yield from (Run(one, path, format=NAME) for one in more)
        yield alone(path, has_samples=bool(more) or path in used)


def _key(path: str, time: str | None) -> tuple[str, str | None]:
    return os.path.dirname(path), time


def _beside(path: str, known: dict[tuple[str, str | None], str]) -> str | None:
    """Return the results beside samples that were named alone."""
    return results_beside(path) if not known else None


def tasks_beside(results: str) -> frozenset[str] | None:
    """Return the tasks whose samples are beside some results, None where that is unknown."""
    if results == STDIN or is_remote(results) or results_time(results) is None:
        return None
    names = (samples_name(path) for path in samples_beside(results))
    return frozenset(name.task for name in names if name is not None)


def samples_beside(results: str) -> Iterator[str]:
    """Iterate over the samples files of the call that wrote some results, sorted by name."""
    time = results_time(results)
    if time is None or is_remote(results):
        return
    folder = os.path.dirname(results)
    for name in sorted(_names(folder)):
        found = samples_name(name)
        if found is not None and found.time == time:
            yield os.path.join(folder, name)


def results_beside(samples: str) -> str | None:
    """Return the results of the call that wrote some samples, None without exactly one."""
    found = samples_name(samples)
    if found is None or samples == STDIN or is_remote(samples):
        return None
    folder = os.path.dirname(samples)
    names = [name for name in sorted(_names(folder)) if results_time(name) == found.time]
    return os.path.join(folder, names[0]) if len(names) == 1 else None


def _names(folder: str) -> list[str]:
    with suppress(OSError):
        return os.listdir(folder or os.curdir)
    return []
