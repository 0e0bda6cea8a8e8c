"""The integrity gate for LLM-evaluation results: prove or refute a run and its aggregate."""

from evalstream.uninterrupted import uninterrupted

with uninterrupted():
    from evalstream._version import __version__
    from evalstream.check import check
    from evalstream.errors import CannotCheck, CannotWrite, EvalstreamError, UsageError, WorkerLost
    from evalstream.model import Finding, Flow, Options, Report, RunSummary, Severity
    from evalstream.salvage import Salvage, salvage

__all__ = [
    "CannotCheck",
    "CannotWrite",
    "EvalstreamError",
    "Finding",
    "Flow",
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
