"""Reports of comparisons, by name; each module is imported when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from evalstream.reporters.base import PLAIN, Sink, Style
from evalstream.reporters.comparison.base import ComparisonReporter, ComparisonReporterType

COMPARISON_REPORTERS: Final = {
    "text": "TextComparison",
    "json": "JsonComparison",
    "jsonl": "JsonLinesComparison",
    "html": "HtmlComparison",
    "markdown": "MarkdownComparison",
    "csv": "CsvComparison",
    "latex": "LatexComparison",
}
"""The names of the report formats, each of which is a module, and their classes."""


def comparison_reporter(name: str, output: Sink, style: Style = PLAIN) -> ComparisonReporter:
    """Return the reporter of a format, which writes to the output."""
    return _reporter_type(name)(output, style)


def is_comparison(head: bytes) -> bool:
    """Tell by its first bytes whether a file is a report of a comparison, of any format."""
    return any(_reporter_type(name).wrote(head) for name in COMPARISON_REPORTERS)


def _reporter_type(name: str) -> ComparisonReporterType:
    module = import_module(f"evalstream.reporters.comparison.{name}")
    kind: ComparisonReporterType = getattr(module, COMPARISON_REPORTERS[name])
    return kind
