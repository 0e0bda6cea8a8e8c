"""The registry of report formats, by name, module and class, and the options of a report."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

from evalstream.model.data_class import DataClass
from evalstream.model.exit_codes import OWN, SCHEMES
from evalstream.model.finding import Severity
from evalstream.model.option_fields import Group, Option, declared_options, option
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
        "jsonl": "comparison.json.JsonLinesComparison",
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


TEXT: Final = "text"
"""The default report format."""


class ReportOptions(DataClass, frozen=True):
    """Everything that steers how a report looks and where it goes, in one frozen object."""

    form: str | None = option(
        None,
        "Report format (default: text).",
        Group.REPORT,
        flags=("--format", "-f"),
        choices=tuple(REPORTERS),
    )
    output: str | None = option(
        None,
        "Write the report to this file, complete or not at all.",
        Group.REPORT,
        "FILE",
        flags=("--output", "-o"),
    )
    min_severity: Severity | None = option(
        None,
        "The lowest severity that is listed; others are counted (default: warning in text and "
        "concise, else info).",
        Group.REPORT,
        choices=("error", "warning", "info"),
    )
    verbose: bool = option(
        False, "List infos, too: --min-severity info.", Group.REPORT, flags=("--verbose", "-v")
    )
    quiet: bool = option(
        False, "Show only the lines about runs.", Group.REPORT, flags=("--quiet", "-q")
    )
    statistics: bool = option(False, "Show the number of findings of each rule.", Group.REPORT)
    color: str = option(
        "auto",
        "Colours: on a terminal without NO_COLOR, always, or never.",
        Group.REPORT,
        choices=("auto", "always", "never"),
    )
    exit_zero: bool = option(
        False,
        "Exit with 0 in spite of findings; with 3 still if something could not be checked.",
        Group.REPORT,
    )
    exit_codes: str = option(
        OWN,
        "The meaning of exit codes; eee: 0 clean, 1 errors or not checked, 2 only warnings.",
        Group.REPORT,
        choices=SCHEMES,
    )


VERDICT_OPTIONS: Final = ("exit_zero", "exit_codes")
"""The options that decide the exit code, which a command that seals does not take."""

REPORT_OPTIONS: Final[Mapping[str, Option]] = MappingProxyType(declared_options(ReportOptions))
"""The options of a report by name."""
