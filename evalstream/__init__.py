"""The integrity gate for LLM-evaluation results: prove or refute a run and its aggregate."""

from evalstream.model.uninterrupted import uninterrupted

with uninterrupted():
    from evalstream._version import __version__
    from evalstream.api import check
    from evalstream.engine.salvage import Salvage, salvage
    from evalstream.model.errors import (
        CannotCheck,
        CannotWrite,
        EvalstreamError,
        UsageError,
        WorkerLost,
    )
    from evalstream.model.finding import Finding, Severity
    from evalstream.model.options import Options, RowRouting
    from evalstream.model.report import Report, RunSummary

__all__ = [
    "CannotCheck",
    "CannotWrite",
    "EvalstreamError",
    "Finding",
    "RowRouting",
    "Options",
    "Report",
    "RunSummary",
    "Salvage",
    "Severity",
    "UsageError",
    "WorkerLost",
    "__version__",
    "check",
    "salvage",
]
