"""How the files of infereval are found and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from evalstream.formats.infereval import NAME
from evalstream.model import Finding, Options, RunSummary
from evalstream.progress import Progress
from evalstream.runs import Nothing, Run


def find(path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | Nothing]:
    """Find the runs that one input stands for, with the documents that were named beside it."""
    yield Run(path, aggregate, format=NAME, inputs=inputs)


def check(
    run: Run, options: Options, show: Callable[[Finding], None], progress: Progress
) -> RunSummary:
    """Check one run and hand its findings to `show`, in order."""
    raise NotImplementedError
