"""The documents of a HELM run.

The members are those of crfm-helm 0.2 to 0.5.16 (`benchmark/runner.py`, `Runner.run_one`).
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import Final

from evalstream.io.beginning import ARRAY, OBJECT, PEEK_BYTES, Beginning, read_beginning
from evalstream.io.names import is_remote
from evalstream.io.remote import RemoteReader
from evalstream.io.standard_input import stream_at
from evalstream.model.run import STDIN

NAME: Final = "helm"

ENTRIES: Final = "per_instance_stats"
STATISTICS: Final = "stats"
STATE: Final = "scenario_state"
RUN_SPEC: Final = "run_spec"
SCENARIO: Final = "scenario"
SUMMARY: Final = "summary"
"""The output of helm-summarize about instances or requests, which repeats the others."""

NOUNS: Final = {
    ENTRIES: "statistics of instances",
    STATISTICS: "statistics",
    STATE: "the state of a scenario",
    RUN_SPEC: "a run specification",
    SCENARIO: "a scenario",
}
"""The kinds of document, which are the names of their files, as messages call them."""

SUMMARIES: Final = frozenset(
    f"{name}.json"
    for name in (
        *("instances", "display_predictions", "display_requests", "predictions", "metrics"),
        *("scenario_state_slim", "per_instance_stats_slim", "summary", "runs", "run_specs"),
        *("runs_to_run_suites", "costs", "schema", "groups", "groups_metadata"),
    )
)
"""Files that helm-summarize writes into a run or a suite; they repeat others."""

REQUESTS: Final = "request_states"
STATS: Final = "stats"
"""The lists of a state and of the statistics of an instance."""

_SIGNS: Final = (
    (RUN_SPEC, OBJECT, {"scenario_spec", "adapter_spec", "metric_specs"}),
    (STATE, OBJECT, {"adapter_spec", REQUESTS}),
    (STATISTICS, ARRAY, {"name", "count", "sum", "sum_squared"}),
    (ENTRIES, ARRAY, {"instance_id", "train_trial_index", STATS}),
    (SUMMARY, ARRAY, {"instance_id", "train_trial_index", "request"}),
)
_OF_SUMMARIES: Final = frozenset({"predicted_text", "request"})
_SCENARIO: Final = frozenset({"name", "description", "tags"})


def detect_kind(file: Beginning) -> str | None:
    """Return the kind of a file, or None for a file of another format."""
    seen = file.seen
    for kind, layout, members in _SIGNS:
        if seen.kind == layout and seen.keys >= members:
            return kind if not seen.keys & _OF_SUMMARIES else SUMMARY
    is_named = "definition_path" in seen.keys or os.path.basename(file.name) == "scenario.json"
    return SCENARIO if seen.kind == OBJECT and seen.keys >= _SCENARIO and is_named else None


def kind_of_file(path: str) -> str | None:
    """Return the kind of a document, or None for one of another format.

    A file with the name that the harness gives to a kind is one of that kind, whatever it holds.
    Raises OSError and CannotCheck for one that is not local.
    """
    return kind_by_name(path) or detect_kind(_read_beginning(path))


def kind_by_name(path: str) -> str | None:
    """Return the kind whose usual name a file has, or None."""
    name = os.path.basename(path).partition(".")[0]
    return name if name in NOUNS else None


def _read_beginning(path: str) -> Beginning:
    if is_remote(path):
        with closing(RemoteReader(path)) as reader:
            return Beginning(path, reader.read())
    if path != STDIN:
        return read_beginning(path)
    stream = stream_at(path)
    seen = stream.seen
    while len(seen) < PEEK_BYTES and (more := stream.peek()) is not None:
        seen = more
    return Beginning("", seen)
