"""The JSON report of the validator of Every Eval Ever: a list with one object for each file."""

from evalstream.reporters.eee.reporter import EeeReporter

__all__ = ["EeeReporter"]
