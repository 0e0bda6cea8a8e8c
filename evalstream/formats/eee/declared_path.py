"""The path by which an aggregate should name its rows."""

from __future__ import annotations

import os
import re

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
