"""A row in the terms that all formats share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from evalstream.formats.base import RecordView
from evalstream.formats.eee.row_view import REPEAT_MARKS, answer, input_text
from evalstream.parsing.json import member

_IDS: Final = ("evaluation_id", "evaluation_name", "evaluation_result_id", "model_id", "sample_id")


def record_view(row: Mapping[str, Any], version: str) -> RecordView:
    """Return the view of a row; members of `metadata` that tell repeats apart are ids, too."""
    output, turns = answer(row, version)
    score = member(row.get("evaluation"), "score")
    marks = {name: member(row.get("metadata"), name) for name in REPEAT_MARKS}
    ids = {**{name: row.get(name) for name in _IDS}, **marks}
    return RecordView(
        ids={name: value for name, value in ids.items() if value is not None},
        input=row.get("input"),
        input_identity=input_text(row),
        hash=row.get("sample_hash"),
        scores={} if score is None else {"score": score},
        output=turns if output is None else output,
    )
