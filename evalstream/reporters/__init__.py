"""The report formats: each is a module of this package and a line in the table."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

from evalstream.reporters.base import ReporterType

REPORTERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "text": "TextReporter",
        "jsonl": "JsonLinesReporter",
        "json": "JsonReporter",
        "github": "GithubReporter",
        "sarif": "SarifReporter",
        "junit": "JunitReporter",
    }
)
"""The report formats in the order of the help; a module of the same name has the class."""


def reporter_type(name: str) -> ReporterType:
    """Import the reporter of a report format. Raises KeyError for an unknown format."""
    module = import_module(f"evalstream.reporters.{name}")
    found: ReporterType = getattr(module, REPORTERS[name])
    return found
