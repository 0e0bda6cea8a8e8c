"""The integrity gate for LLM-evaluation results: prove or refute a run and its aggregate."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if sys.platform == "win32":
    raise ImportError("evalstream needs Linux or macOS; on Windows, run it in WSL")

from evalstream._version import __version__

if TYPE_CHECKING:
    from evalstream.api.attest import Attestation, attest
    from evalstream.api.changes import ChangedRuns, fix, migrate
    from evalstream.api.check import check, merge, read_report, seal
    from evalstream.api.compare import compare
    from evalstream.api.comparison_report import ComparisonReport
    from evalstream.api.export import Export, export
    from evalstream.api.reports import Report
    from evalstream.api.rows import Checker, check_rows
    from evalstream.api.thresholds import thresholds
    from evalstream.batch.parts import PartReporter
    from evalstream.batch.rewriting.outcome import Outcome
    from evalstream.engine.salvage import Salvage, salvage
    from evalstream.formats.registry import CATALOGUE
    from evalstream.model.errors import (
        BrokenCompression,
        CannotCheck,
        CannotWrite,
        EvalstreamError,
        ExecutorLost,
        MissingExtra,
        UsageError,
        WorkerLost,
    )
    from evalstream.model.finding import Finding, Severity
    from evalstream.model.options import Options, RowRouting
    from evalstream.model.rule_text import RuleText, Status
    from evalstream.model.run_summary import RunSummary
    from evalstream.reporters.base import Reporter
    from evalstream.reporters.eee import EeeReporter
    from evalstream.reporters.github import GithubReporter
    from evalstream.reporters.json import JsonReporter
    from evalstream.reporters.jsonl import JsonLinesReporter
    from evalstream.reporters.junit import JunitReporter
    from evalstream.reporters.sarif import SarifReporter
    from evalstream.reporters.text import LiveTextReporter, TextReporter
    from evalstream.rules.base import Rule
    from evalstream.settings.load import load_settings

    RULES: Final[Mapping[str, Rule]] = CATALOGUE
    """The rules of all formats by code."""

__all__ = [
    "RULES",
    "Attestation",
    "BrokenCompression",
    "CannotCheck",
    "CannotWrite",
    "ChangedRuns",
    "Checker",
    "ComparisonReport",
    "EeeReporter",
    "EvalstreamError",
    "ExecutorLost",
    "Export",
    "Finding",
    "GithubReporter",
    "JsonLinesReporter",
    "JsonReporter",
    "JunitReporter",
    "LiveTextReporter",
    "MissingExtra",
    "Options",
    "Outcome",
    "PartReporter",
    "Report",
    "Reporter",
    "RowRouting",
    "Rule",
    "RuleText",
    "RunSummary",
    "Salvage",
    "SarifReporter",
    "Severity",
    "Status",
    "TextReporter",
    "UsageError",
    "WorkerLost",
    "__version__",
    "attest",
    "check",
    "check_rows",
    "compare",
    "export",
    "fix",
    "load_settings",
    "merge",
    "migrate",
    "read_report",
    "salvage",
    "seal",
    "thresholds",
]

_IMPORTED_WHEN_USED: Final = {
    "Attestation": "evalstream.api.attest",
    "BrokenCompression": "evalstream.model.errors",
    "CannotCheck": "evalstream.model.errors",
    "CannotWrite": "evalstream.model.errors",
    "ChangedRuns": "evalstream.api.changes",
    "Checker": "evalstream.api.rows",
    "ComparisonReport": "evalstream.api.comparison_report",
    "EeeReporter": "evalstream.reporters.eee",
    "EvalstreamError": "evalstream.model.errors",
    "ExecutorLost": "evalstream.model.errors",
    "Export": "evalstream.api.export",
    "Finding": "evalstream.model.finding",
    "GithubReporter": "evalstream.reporters.github",
    "JsonLinesReporter": "evalstream.reporters.jsonl",
    "JsonReporter": "evalstream.reporters.json",
    "JunitReporter": "evalstream.reporters.junit",
    "LiveTextReporter": "evalstream.reporters.text",
    "MissingExtra": "evalstream.model.errors",
    "Options": "evalstream.model.options",
    "Outcome": "evalstream.batch.rewriting.outcome",
    "PartReporter": "evalstream.batch.parts",
    "Report": "evalstream.api.reports",
    "Reporter": "evalstream.reporters.base",
    "RowRouting": "evalstream.model.options",
    "Rule": "evalstream.rules.base",
    "RuleText": "evalstream.model.rule_text",
    "RunSummary": "evalstream.model.run_summary",
    "Salvage": "evalstream.engine.salvage",
    "SarifReporter": "evalstream.reporters.sarif",
    "Severity": "evalstream.model.finding",
    "Status": "evalstream.model.rule_text",
    "TextReporter": "evalstream.reporters.text",
    "UsageError": "evalstream.model.errors",
    "WorkerLost": "evalstream.model.errors",
    "attest": "evalstream.api.attest",
    "check": "evalstream.api.check",
    "check_rows": "evalstream.api.rows",
    "compare": "evalstream.api.compare",
    "export": "evalstream.api.export",
    "fix": "evalstream.api.changes",
    "load_settings": "evalstream.settings.load",
    "merge": "evalstream.api.check",
    "migrate": "evalstream.api.changes",
    "read_report": "evalstream.api.check",
    "salvage": "evalstream.engine.salvage",
    "seal": "evalstream.api.check",
    "thresholds": "evalstream.api.thresholds",
}
"""Public names by the modules that have them. None is imported before it is used: the command line
answers signals before anything else is imported."""

if not TYPE_CHECKING:  # a type checker would take any name for one of this module

    def __getattr__(name: str) -> Any:
        """Import a public name when it is used. Raises AttributeError for other names."""
        if name not in _IMPORTED_WHEN_USED and name != "RULES":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        from evalstream.model.signals import pause_interruptions

        with pause_interruptions():
            if name == "RULES":
                found = import_module("evalstream.formats.registry").CATALOGUE
            else:
                found = getattr(import_module(_IMPORTED_WHEN_USED[name]), name)
        globals()[name] = found
        return found
