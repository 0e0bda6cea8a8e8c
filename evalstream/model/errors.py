"""Violations of the run itself, never of the data; data violations are findings.

EvalstreamError
├── UsageError        the call makes no sense                        exit 2
├── CannotWrite       rows could not be written where they are to go exit 3
└── CannotCheck       something could not be looked at               exit 3
    ├── MissingExtra  a library for this input is not installed
    ├── BrokenCompression  a compressed stream is damaged or cut off
    ├── WorkerLost    a worker process died on the same block again
    └── ExecutorLost    who runs the work is gone, such as a cluster's scheduler
"""

from __future__ import annotations


class EvalstreamError(Exception):
    """Base of every exception that evalstream raises on purpose."""


class UsageError(EvalstreamError):
    """The options or arguments contradict each other or name something unknown."""


class CannotWrite(EvalstreamError):
    """Rows or a seal could not be written where they are to go; the check ends there."""


class CannotCheck(EvalstreamError):
    """An input, or a part of it, could not be looked at; it is never reported as passed."""


class MissingExtra(CannotCheck):
    """An optional library is needed and not installed; the message says how to install it."""


class BrokenCompression(CannotCheck):
    """A compressed stream is corrupt, cut off, or followed by bytes that belong to no member."""


class WorkerLost(CannotCheck):
    """A block of rows killed its worker process again when run alone."""


class ExecutorLost(CannotCheck):
    """Who runs the work is gone, such as the scheduler of a cluster; nothing more can be run."""
