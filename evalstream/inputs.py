"""Which runs the inputs of a call stand for, and of which system each is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import groupby
from typing import Any, Final

from evalstream.errors import UsageError
from evalstream.formats import NAMES, eee
from evalstream.glimpse import glimpse
from evalstream.model import Options
from evalstream.runs import STDIN, Nothing, Run, find_runs
from evalstream.sources.remote import is_remote

OTHERS: Final = tuple(name for name in NAMES if name != eee.NAME)


def find_all(
    inputs: Sequence[str], aggregate: str | None, more: str | None, options: Options
) -> Iterator[Run | Nothing]:
    """Find the runs among the inputs, of the system that is named or that the files show.

    Raises UsageError where `aggregate`, or `more` (the inputs of an evaluation), does not go
    with the inputs.
    """
    if aggregate is not None and len(inputs) > 1:
        raise UsageError("--aggregate goes with exactly one rows file (or - for stdin)")
    if more is not None and len(inputs) > 1:
        raise UsageError("--inputs goes with exactly one input")

    def system(path: str) -> str:
        name = options.format_name
        return _recognised(path, aggregate, more) if name == "auto" else name

    for name, some in groupby(inputs, system) if inputs else [(eee.NAME, iter(()))]:
        if name == eee.NAME:
            if more is not None:
                raise UsageError(f"--inputs does not go with files of {eee.NAME}")
            yield from find_runs(list(some), aggregate)
            continue
        for path in some:
            yield from import_module(f"evalstream.systems.{name}").find(path, aggregate, more)


def _recognised(path: str, aggregate: str | None, more: str | None) -> str:
    """Return the system that an input shows, or what was named beside it; else the main one."""
    for candidate in (path, aggregate, more):
        if candidate is None or candidate == STDIN or is_remote(candidate):
            continue
        is_folder, seen = os.path.isdir(candidate), glimpse(candidate)
        for name in OTHERS:
            format_: Any = import_module(f"evalstream.formats.{name}")
            if is_folder and format_.recognised_folder(candidate):
                return name
            if not is_folder and format_.recognised(seen, candidate):
                return name
    return eee.NAME
