"""The documents of Every Eval Ever, rows and aggregates: what shows and what joins them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from evalstream.formats.base import DeclaredRows

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


def declared_in_text(text: bytes) -> DeclaredRows | None:
    """Return the rows file that a text declares, None if it is not an aggregate."""
    from msgspec import UNSET, MsgspecError

    try:
        top = _decoder().decode(text)
    # Before msgspec 0.21 its own errors have another class.
    except (MsgspecError, ValueError, RecursionError):
        return None
    details = top.detailed_evaluation_results
    if top.evaluation_results is UNSET and details is UNSET:
        return None
    return declared_by(details)


@cache
def _decoder() -> Any:
    """Return the decoder of the members of an aggregate that matter here; it builds no others."""
    from msgspec import UNSET, Raw, UnsetType, defstruct, json

    results = ("evaluation_results", Raw | UnsetType, UNSET)
    return json.Decoder(defstruct("Top", [results, ("detailed_evaluation_results", Any, UNSET)]))


def declared_by(details: Any) -> DeclaredRows:
    """Return the rows file that detailed_evaluation_results names."""
    declared = details.get("file_path") if isinstance(details, dict) else None
    return DeclaredRows(declared if isinstance(declared, str) and declared else None)
