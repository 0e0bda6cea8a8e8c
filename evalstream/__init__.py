"""The integrity gate for LLM-evaluation results: prove or refute a run and its aggregate."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if sys.platform == "win32":
    raise ImportError("evalstream needs Linux or macOS; on Windows, run it in WSL")

from evalstream.model.uninterrupted import uninterrupted

with uninterrupted():
    from evalstream._version import __version__
    from evalstream.api import check, merge, read_report, seal
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
    from evalstream.model.report import Report, RunSummary
    from evalstream.model.rule_text import RuleText, Status
    from evalstream.rules.base import Rule

if TYPE_CHECKING:
    from evalstream.api_changes import ChangedRuns, fix, migrate
    from evalstream.api_compare import compare
    from evalstream.api_thresholds import thresholds
    from evalstream.batch.parts import PartReporter
    from evalstream.batch.rewriting.outcome import Outcome
    from evalstream.engine.salvage import Salvage, salvage
    from evalstream.model.comparison import ComparisonReport
    from evalstream.reporters.base import Reporter
    from evalstream.reporters.eee import EeeReporter
    from evalstream.reporters.github import GithubReporter
    from evalstream.reporters.json import JsonReporter
    from evalstream.reporters.jsonl import JsonLinesReporter
    from evalstream.reporters.junit import JunitReporter
    from evalstream.reporters.sarif import SarifReporter
    from evalstream.reporters.text import LiveTextReporter, TextReporter
    from evalstream.settings.load import load_settings

__all__ = [
    "RULES",
    "BrokenCompression",
    "CannotCheck",
    "CannotWrite",
    "ChangedRuns",
    "ComparisonReport",
    "EeeReporter",
    "EvalstreamError",
    "ExecutorLost",
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
    "check",
    "compare",
    "fix",
    "load_settings",
    "merge",
    "migrate",
    "read_report",
    "salvage",
    "seal",
    "thresholds",
]

RULES: Final[Mapping[str, Rule]] = CATALOGUE
"""The rules of all formats by code."""

_IMPORTED_WHEN_USED: Final = {
    "ChangedRuns": "evalstream.api_changes",
    "ComparisonReport": "evalstream.model.comparison",
    "EeeReporter": "evalstream.reporters.eee",
    "GithubReporter": "evalstream.reporters.github",
    "JsonLinesReporter": "evalstream.reporters.jsonl",
    "JsonReporter": "evalstream.reporters.json",
    "JunitReporter": "evalstream.reporters.junit",
    "LiveTextReporter": "evalstream.reporters.text",
    "Outcome": "evalstream.batch.rewriting.outcome",
    "PartReporter": "evalstream.batch.parts",
    "Reporter": "evalstream.reporters.base",
    "Salvage": "evalstream.engine.salvage",
    "SarifReporter": "evalstream.reporters.sarif",
    "TextReporter": "evalstream.reporters.text",
    "compare": "evalstream.api_compare",
    "fix": "evalstream.api_changes",
    "load_settings": "evalstream.settings.load",
    "migrate": "evalstream.api_changes",
    "salvage": "evalstream.engine.salvage",
    "thresholds": "evalstream.api_thresholds",
}
"""Public names by the modules that have them: most programs need none of these."""

if not TYPE_CHECKING:  # a type checker would take any name for one of this module

    def __getattr__(name: str) -> Any:
        """Import a public name when it is used. Raises AttributeError for other names."""
        if name not in _IMPORTED_WHEN_USED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_IMPORTED_WHEN_USED[name]), name)
