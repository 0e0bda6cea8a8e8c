"""The Python API of questions to a folder of EvalGuard."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Final

from evalstream.api.arguments import Input, require_paths
from evalstream.formats.evalguard.checker import checked_folder
from evalstream.formats.evalguard.files import iterate_files
from evalstream.formats.evalguard.format import NAME
from evalstream.formats.evalguard.responses import find_thresholds
from evalstream.formats.registry import detect_kind
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.text import split_entries
from evalstream.settings.options import kept_options

ANSWERING: Final = ("passed", "unconfirmed")
"""Verdicts of folders that answer: reports without rows say nothing against the thresholds."""


def thresholds(
    folders: Input | Iterable[Input],
    tasks: str | Sequence[str],
    *,
    metrics: str | Sequence[str] = (),
    policy: str | None = None,
    verify: bool = True,
    options: Options | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Answer EvalGuard's question for the thresholds of tasks from its folders, once they pass.

    `folders` hold one configuration, `tasks` are ids, and `options` those of its check.
    `metrics` limits the answer, which has the shape of the API's `GET /thresholds`. `policy` is the
    id of one policy, where several have thresholds of a task. Without `verify` a configuration that
    does not pass its check is asked, too.

    Raises UsageError for a call that makes no sense, and for a task, metric or policy without
    thresholds; CannotCheck where the folders do not pass their check.
    """
    paths = list(require_paths(folders))
    if not paths or not tasks:
        raise UsageError("name a folder, and at least one task")
    for path in paths:
        if not os.path.isdir(path):
            raise UsageError(f"{printable(path)} is not a folder")
    run = Run(paths[0], None, format=NAME, beside=tuple(paths[1:]))
    with Progress(shown=progress) as bar:
        summary, folder = checked_folder(run, kept_options(options), detect_kind, bar)
    if verify and summary.verdict not in ANSWERING:
        raise CannotCheck(_refusal(printable(paths[0]), summary.verdict, summary.failing))
    return {
        "thresholds": find_thresholds(folder, split_entries(tasks), split_entries(metrics), policy)
    }


def find_documents(folders: Iterable[str]) -> list[str]:
    """Return the paths of the documents that an answer from some folders is read from."""
    return [file.path for folder in folders for file in iterate_files(folder)]


def _refusal(name: str, verdict: str, failing: dict[str, int]) -> str:
    listed = ", ".join(f"{code} ({times:,})" for code, times in sorted(failing.items()))
    why = f": {listed}" if listed else f", its verdict is {verdict}"
    return f"{name} does not pass its check{why}; nothing was answered (--no-verify answers anyway)"
