"""Every Eval Ever: its rows and aggregates, and by which members a file shows to be one."""

from __future__ import annotations

from typing import Final

from evalstream.io.beginning import Beginning

NAME: Final = "eee"

TITLE: Final = "Every Eval Ever: one row per sample, and the aggregate that sums them up"

AGGREGATE_KEYS: Final = frozenset({"evaluation_results", "detailed_evaluation_results"})

AGGREGATE_MEMBERS: Final = AGGREGATE_KEYS | {
    "schema_version",
    "evaluation_id",
    "evaluation_timestamp",
    "retrieved_timestamp",
    "source_metadata",
    "eval_library",
    "model_info",
}
"""Members that an aggregate has, and hardly any other document."""

_OF_ROWS: Final = frozenset({"evaluation_id", "sample_id"})

ROW_MEMBERS: Final = frozenset(
    {
        "schema_version",
        "evaluation_id",
        "model_id",
        "evaluation_name",
        "evaluation_result_id",
        "sample_id",
        "sample_hash",
        "interaction_type",
        "answer_attribution",
    }
)
"""Members that rows have, and hardly anything else."""

_SURE: Final = 3
"""How many members of a row make a row, whichever others are missing."""


def recognised(file: Beginning) -> str | None:
    """Return which of the format's documents a file surely is, None where it may be none."""
    keys = file.seen.keys
    if AGGREGATE_KEYS & keys:
        return "aggregate"
    return "instance" if keys >= _OF_ROWS or len(keys & ROW_MEMBERS) >= _SURE else None
