"""What an aggregate declares about its rows file, and where that lies."""

from __future__ import annotations

import os
import re
from typing import Any, Final

import msgspec

from evalstream.formats.base import DeclaredRows
from evalstream.formats.eee import versions
from evalstream.formats.eee.datastore import parse_path
from evalstream.parsing.schema_files import builtin_schema


def path_to_declare(rows: str, aggregate: str, version: str | None) -> str | None:
    """Return the path that an aggregate of a version should declare; None if it allows none.

    In a datastore it is the path from the root on, elsewhere that from the folder of the aggregate,
    or the name of rows that are not below it.
    """
    place = parse_path(rows)
    path = place.path
    if not place.inside:
        folder = os.path.dirname(os.path.abspath(aggregate))
        path = os.path.relpath(os.path.abspath(rows), folder).replace(os.sep, "/")
        path = os.path.basename(rows) if path.startswith("../") else path
    pattern = _pattern(version)
    return path if pattern is None or re.search(pattern, path) else None


def _pattern(version: str | None) -> str | None:
    """Return the pattern that a version has for the path, None if it has none."""
    nearest = versions.nearest_version(version or "", instance=False)
    schema = builtin_schema(versions.aggregate_schema_name(nearest))
    sealed = schema["properties"].get("detailed_evaluation_results", {})
    pattern: str | None = sealed.get("properties", {}).get("file_path", {}).get("pattern")
    return pattern


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
