"""The runs that inputs stand for, each pair once, in the order of the inputs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, islice
from typing import Final

from evalstream.errors import UsageError
from evalstream.finding.patterns import expanded, is_pattern
from evalstream.runs import STDIN, Nothing, Run
from evalstream.sources.remote import is_remote


def find_runs(
    inputs: Iterable[str | Nothing], aggregate: str | None = None
) -> Iterator[Run | Nothing]:
    """Find the runs among the inputs, each pair once, in the order of the inputs.

    Memory does not grow with their number. Raises UsageError where `aggregate` is given and
    there is not exactly one rows input, or where standard input is named twice.
    """
    given = checked_inputs(inputs)
    first = list(islice(given, 2))
    if not first:
        raise UsageError("nothing to check was named")
    if aggregate is not None:
        yield _joined(first, aggregate)
        return
    # A search takes 0.02 s to load, and a pair that is named whole needs none.
    from evalstream.finding.search import Search

    with closing(Search()) as search:
        for one in expanded(chain(first, given)):
            yield from [one] if isinstance(one, Nothing) else search.runs(one)


def checked_inputs(inputs: Iterable[str | Nothing]) -> Iterator[str | Nothing]:
    """Iterate over inputs. Raises UsageError where standard input is named twice.

    At once for a sequence, else where the second is met.
    """
    if isinstance(inputs, Sequence) and list(inputs).count(STDIN) > 1:
        raise UsageError(_TWICE)
    return _with_stdin_once(inputs)


def _with_stdin_once(inputs: Iterable[str | Nothing]) -> Iterator[str | Nothing]:
    met = False
    for one in inputs:
        if met and one == STDIN:
            raise UsageError(_TWICE)
        met = met or one == STDIN
        yield one


def _joined(inputs: Sequence[str | Nothing], aggregate: str) -> Run:
    """Return the one run of rows and an aggregate that are named both."""
    rows = inputs[0]
    if len(inputs) > 1 or isinstance(rows, Nothing) or os.path.isdir(rows) or _is_many(rows):
        raise UsageError("--aggregate goes with exactly one rows file (or - for stdin)")
    return Run(rows, aggregate)


def _is_many(path: str) -> bool:
    return path.endswith("/") if is_remote(path) else is_pattern(path)


_TWICE: Final = "standard input can be named only once"
