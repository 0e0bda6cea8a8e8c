"""Executor backend: one task after the other, in this process."""

from __future__ import annotations

from evalstream.executors.base import Backend, SerialExecutor


def backend() -> Backend:
    """Describe the serial executor: one task at a time, no look-ahead."""
    return Backend("serial", parallelism=1, start=SerialExecutor, look_ahead=1)
