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
    from evalstream.api.compare import ComparisonReport, compare
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
    from evalstream.model.finding import Finding, RuleText, Severity, Status
    from evalstream.model.options import Options, RowRouting
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

_NAMES: Final = {
    "api.attest": "Attestation attest",
    "api.changes": "ChangedRuns fix migrate",
    "api.check": "check merge read_report seal",
    "api.compare": "ComparisonReport compare",
    "api.export": "Export export",
    "api.reports": "Report",
    "api.rows": "Checker check_rows",
    "api.thresholds": "thresholds",
    "batch.parts": "PartReporter",
    "batch.rewriting.outcome": "Outcome",
    "engine.salvage": "Salvage salvage",
    "model.errors": "BrokenCompression CannotCheck CannotWrite EvalstreamError ExecutorLost "
    "MissingExtra UsageError WorkerLost",
    "model.finding": "Finding RuleText Severity Status",
    "model.options": "Options RowRouting",
    "model.run_summary": "RunSummary",
    "reporters.base": "Reporter",
    "reporters.eee": "EeeReporter",
    "reporters.github": "GithubReporter",
    "reporters.json": "JsonReporter",
    "reporters.jsonl": "JsonLinesReporter",
    "reporters.junit": "JunitReporter",
    "reporters.sarif": "SarifReporter",
    "reporters.text": "LiveTextReporter TextReporter",
    "rules.base": "Rule",
    "settings.load": "load_settings",
}
"""Public names by the module that has them. None is imported before it is used: the command line
answers signals before anything else is imported."""

_MODULES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}

if not TYPE_CHECKING:  # a type checker would take any name for one of this module

    def __getattr__(name: str) -> Any:
        """Import a public name when it is used. Raises AttributeError for other names."""
        if name not in _MODULES and name != "RULES":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        from evalstream.model.signals import pause_interruptions

        with pause_interruptions():
            if name == "RULES":
                found = import_module("evalstream.formats.registry").CATALOGUE
            else:
                found = getattr(import_module(f"evalstream.{_MODULES[name]}"), name)
        globals()[name] = found
        return found
