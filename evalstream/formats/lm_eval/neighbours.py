"""The files of one call of lm-eval: samples and results with the same time in one folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from evalstream.formats.lm_eval.documents import results_time, samples_name
from evalstream.io.remote import is_remote
from evalstream.model.run import STDIN


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
