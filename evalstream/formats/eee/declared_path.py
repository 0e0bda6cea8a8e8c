"""The rows file that an aggregate declares."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from evalstream.formats.base import DeclaredRows


class _Top(msgspec.Struct):
    """The members of an aggregate that matter here; the others are skipped, not built."""

    evaluation_results: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    detailed_evaluation_results: Any = msgspec.UNSET


_INVALID: Final = (msgspec.MsgspecError, ValueError, RecursionError)
"""What msgspec raises; before 0.21 its own errors are of another class."""

_TOP: Final = msgspec.json.Decoder(_Top)


def declared_in_text(text: bytes) -> DeclaredRows | None:
    """Return the rows file that a text declares, None if it is not an aggregate."""
    try:
        top = _TOP.decode(text)
    except _INVALID:
        return None
    details = top.detailed_evaluation_results
    if top.evaluation_results is msgspec.UNSET and details is msgspec.UNSET:
        return None
    return declared_by(details)


def declared_by(details: Any) -> DeclaredRows:
    """Return the rows file that detailed_evaluation_results names."""
    declared = details.get("file_path") if isinstance(details, dict) else None
    return DeclaredRows(declared if isinstance(declared, str) and declared else None)
