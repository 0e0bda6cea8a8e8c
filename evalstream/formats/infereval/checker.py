"""How the files of infereval are found and checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from evalstream.engine.documents import DocumentCheck
from evalstream.formats.infereval.benchmark import read_benchmark
from evalstream.formats.infereval.catalogue import CATALOGUE
from evalstream.formats.infereval.documents import BENCHMARK, EVALUATION, NAME
from evalstream.formats.infereval.evaluation import EvaluationCheck
from evalstream.formats.infereval.files import NOT_OURS, comes_once, kind_of
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.io.remote import is_remote
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.finding import Finding
from evalstream.model.options import Options
from evalstream.model.report import RunSummary
from evalstream.model.run import STDIN, NoInput, Run


def find(path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
    """Find the runs that one input stands for, with the documents that were named beside it.

    `aggregate` is the benchmark of the one evaluation that is named. A benchmark by itself is
    told of as an aggregate, as it has no rows. Raises UsageError where they do not go together.
    """
    if inputs is not None:
        raise UsageError(f"--inputs-file does not go with files of {NAME}")
    if path == STDIN and aggregate == STDIN:
        raise UsageError("standard input can be named only once")
    if path != STDIN and os.path.isdir(path):
        raise UsageError("--aggregate goes with exactly one evaluation, not with a folder")
    kind = _kind(path)
    if kind is None:
        yield NoInput(path, f"this is {NOT_OURS}", format=NAME)
    elif kind == BENCHMARK and aggregate is not None:
        name = printable(path)
        raise UsageError(f"--aggregate names the benchmark of an evaluation; {name} is no such")
    elif kind == BENCHMARK:
        yield Run(None, path, format=NAME)
    else:
        yield Run(path, aggregate, format=NAME)


def _kind(path: str) -> str | None:
    """Return which document an input is; what cannot be told yet counts as an evaluation."""
    try:
        # What can be read only once is looked at when it is checked.
        is_once = path == STDIN or (not is_remote(path) and comes_once(path))
        return EVALUATION if is_once else kind_of(path)
    except (OSError, ValueError, CannotCheck):
        # Why it cannot be read is told when it is.
        return EVALUATION


def check(
    run: Run, options: Options, show: Callable[[Finding], None], progress: Progress
) -> RunSummary:
    """Check one run and hand its findings to `show`, in order."""
    documents = DocumentCheck(run, options, show, CATALOGUE)
    if run.rows is not None:
        return EvaluationCheck(documents, progress).summary()
    read = read_benchmark(documents, run.aggregate or "")
    return documents.closed(version=read.version)
