"""The documents of Every Eval Ever, rows and aggregates, and how their members show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from evalstream.formats.base import Cell
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
"""Members that rows have, and hardly any other object."""

_TEXTS: Final = (
    *("schema_version", "evaluation_id", "model_id", "evaluation_name", "evaluation_result_id"),
    *("sample_id", "sample_hash", "interaction_type", "error"),
)
_VALUES: Final = (
    *("input", "output", "messages", "interactions", "answer_attribution", "evaluation"),
    *("token_usage", "performance", "metadata"),
)

COLUMNS: Final[Mapping[str, tuple[tuple[str, ...], Cell]]] = {
    **{name: ((name,), "text") for name in _TEXTS},
    "score": (("evaluation", "score"), "number"),
    "is_correct": (("evaluation", "is_correct"), "boolean"),
    **{name: ((name,), "json") for name in _VALUES},
}
"""The columns of rows in a table, the same for every version."""

_SURE: Final = 3
"""How many of these members make an object a row, even if others are missing."""


def detect_kind(file: Beginning) -> str | None:
    """Return the document of the format that a file certainly is, or None."""
    keys = file.seen.keys
    if AGGREGATE_KEYS & keys:
        return "aggregate"
    return "instance" if keys >= _OF_ROWS or len(keys & ROW_MEMBERS) >= _SURE else None
