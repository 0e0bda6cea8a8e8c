"""The registry of report formats: each is a name, its module, and the class in it."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

from evalstream.reporters.base import ComparisonReporter, Reporter, ReportFormat

REPORTERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "text": "text.TextReporter",
        "concise": "concise.ConciseReporter",
        "jsonl": "jsonl.JsonLinesReporter",
        "json": "json.JsonReporter",
        "github": "github.GithubReporter",
        "sarif": "sarif.SarifReporter",
        "junit": "junit.JunitReporter",
        "html": "html.HtmlReporter",
        "eee": "eee.EeeReporter",
    }
)
"""The formats of a report of a check, in the order of the help."""

COMPARISON_REPORTERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "text": "comparison.text.TextComparison",
        "json": "comparison.json.JsonComparison",
        "jsonl": "comparison.jsonl.JsonLinesComparison",
        "html": "comparison.html.HtmlComparison",
        "markdown": "comparison.markdown.MarkdownComparison",
        "csv": "comparison.csv.CsvComparison",
        "latex": "comparison.latex.LatexComparison",
    }
)
"""The formats of a report of a comparison, in the order of the help."""


def reporter_type(name: str) -> ReportFormat[Reporter]:
    """Import the format of a report of a check. Raises KeyError for an unknown name."""
    return _import_format(REPORTERS[name])


def comparison_type(name: str) -> ReportFormat[ComparisonReporter]:
    """Import the format of a report of a comparison. Raises KeyError for an unknown name."""
    return _import_format(COMPARISON_REPORTERS[name])


def is_report(head: bytes) -> bool:
    """Tell by its first bytes whether a file is a report of a check."""
    return any(reporter_type(name).wrote(head) for name in REPORTERS)


def is_comparison(head: bytes) -> bool:
    """Tell by its first bytes whether a file is a report of a comparison."""
    return any(comparison_type(name).wrote(head) for name in COMPARISON_REPORTERS)


def _import_format(place: str) -> ReportFormat[Any]:
    module, _, name = place.rpartition(".")
    found: ReportFormat[Any] = getattr(import_module(f"{__name__}.{module}"), name)
    return found
