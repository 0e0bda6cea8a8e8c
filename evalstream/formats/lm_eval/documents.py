"""The documents of the lm-evaluation-harness, as `--log_samples` and `--output_path` write them.

`samples_TASK_TIME.jsonl` has a row for each sample and filter, `results_TIME.json` what they amount
to; both have the same time (loggers/evaluation_tracker.py of lm_eval 0.4).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final, NamedTuple

from evalstream.io.beginning import ARRAY, LINES, OBJECT, Beginning
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
_PACKING: Final = r"(?:\.(?:gz|zst|bz2|xz))?"
_SAMPLES_NAME: Final = LazyPattern(
    rf"samples_(?P<task>.+)_(?P<time>{_TIME})\.jsonl{_PACKING}", flags=0
)
_RESULTS_NAME: Final = LazyPattern(rf".+_(?P<time>{_TIME})\.json{_PACKING}", flags=0)


class SamplesName(NamedTuple):
    """What the name of a samples file says: the task, and the time of the call."""

    task: str
    time: str


def detect_kind(file: Beginning) -> str | None:
    """Return the kind of a file, or None for a file of another format."""
    seen = file.seen
    if seen.keys >= ROW_MEMBERS and seen.kind in (OBJECT, LINES, ARRAY):
        return SAMPLES
    members = seen.keys | seen.inner
    is_results = seen.keys >= _RESULTS_MEMBERS and seen.keys & _SOME_OF_RESULTS
    if seen.kind == OBJECT and (is_results or members >= _OLD_RESULTS):
        return RESULTS
    return None


def samples_name(path: str) -> SamplesName | None:
    """Return what the name of a samples file says, None for another name."""
    found = _SAMPLES_NAME.fullmatch(os.path.basename(path))
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
    found = _RESULTS_NAME.fullmatch(os.path.basename(path))
    return None if found is None else str(found["time"])
