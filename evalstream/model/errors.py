"""Exceptions of evalstream: failures of a run itself; defects of the data are findings.

EvalstreamError
├── UsageError        the options or arguments are not valid         exit 2
├── CannotWrite       an output could not be written                 exit 3
└── CannotCheck       an input could not be read                     exit 3
    ├── MissingExtra  a library for this input is not installed
    ├── BrokenCompression  a compressed stream is damaged or truncated
    ├── WorkerLost    a worker process died on the same block again
    └── ExecutorLost  the executor is gone, such as the scheduler of a cluster
"""

from __future__ import annotations


class EvalstreamError(Exception):
    """Base of every exception that evalstream raises on purpose."""


class UsageError(EvalstreamError):
    """The options or arguments contradict each other or name something unknown."""


class CannotWrite(EvalstreamError):
    """Rows or a seal could not be written to their target; the check ends."""


class CannotCheck(EvalstreamError):
    """An input, or a part of it, could not be read; it is never reported as passed."""


class MissingExtra(CannotCheck):
    """An optional library is needed and not installed; the message names the pip command."""


class BrokenCompression(CannotCheck):
    """A compressed stream is corrupt, truncated, or followed by bytes outside any member."""


class WorkerLost(CannotCheck):
    """A block of rows killed its worker process again when run alone."""


class ExecutorLost(CannotCheck):
    """The executor is gone, such as the scheduler of a cluster; no more tasks can run."""
