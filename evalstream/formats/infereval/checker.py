"""Find and check the files of infereval."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from evalstream.engine.documents import DocumentCheck
from evalstream.formats.infereval.benchmark import read_benchmark
from evalstream.formats.infereval.catalogue import CATALOGUE
from evalstream.formats.infereval.documents import BENCHMARK, EVALUATION, NAME
from evalstream.formats.infereval.evaluation import EvaluationCheck
from evalstream.formats.infereval.files import NOT_OURS, comes_once, detect_declared
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.io.remote import is_remote
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.finding import Finding
from evalstream.model.options import Options
from evalstream.model.report import RunSummary
from evalstream.model.run import STDIN, NoInput, Run


def find(path: str, aggregate: str | None, inputs: str | None) -> Iterator[Run | NoInput]:
    """Find the runs of one input, with the documents that were named with it.

    `aggregate` is the benchmark of the one evaluation that is named. A benchmark alone counts as an
    aggregate, as it has no rows. Raises UsageError if they do not belong together.
    """
    if inputs is not None:
        raise UsageError(f"--inputs-file does not go with files of {NAME}")
    if path == STDIN and aggregate == STDIN:
        raise UsageError("standard input can be named only once")
    if path != STDIN and os.path.isdir(path):
        raise UsageError("--aggregate needs exactly one evaluation, not a folder")
    kind = _kind(path)
    if kind is None:
        yield NoInput(path, f"this is {NOT_OURS}", format=NAME)
    elif kind == BENCHMARK and aggregate is not None:
        name = printable(path)
        raise UsageError(
            f"--aggregate names the benchmark of an evaluation, but {name} is not an evaluation"
        )
    elif kind == BENCHMARK:
        yield Run(None, path, format=NAME)
    else:
        yield Run(path, aggregate, format=NAME)


def _kind(path: str) -> str | None:
    """Return the kind of an input; an input of unknown kind counts as an evaluation."""
    try:
        # An input that can be read only once is examined when it is checked.
        is_once = path == STDIN or (not is_remote(path) and comes_once(path))
        return EVALUATION if is_once else detect_declared(path)
    except (OSError, ValueError, CannotCheck):
        # The check reports why it cannot be read.
        return EVALUATION


def check(
    run: Run, options: Options, show: Callable[[Finding], None], progress: Progress
) -> RunSummary:
    """Check one run and pass its findings to `show`, in order."""
    documents = DocumentCheck(run, options, show, CATALOGUE)
    if run.rows is not None:
        return EvaluationCheck(documents, progress).summary()
    read = read_benchmark(documents, run.aggregate or "")
    return documents.close(version=read.version)
