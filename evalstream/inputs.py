"""Which runs the inputs of a call stand for, and of which system each is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import Final

from evalstream.errors import UsageError
from evalstream.finding import checked_inputs, expanded, find_runs
from evalstream.formats import NAMES, eee
from evalstream.model import Flow, Options
from evalstream.recognising import recognised
from evalstream.runs import Nothing, Run

WITH_ROWS: Final = ("eee", "harpia")
"""The systems whose files hold rows, which can go somewhere."""


def find_all(
    inputs: Iterable[str], aggregate: str | None, more: str | None, options: Options
) -> Iterator[Run | Nothing]:
    """Find the runs among the inputs, of the system that is named or that the files show.

    Patterns stand for what they match; memory does not grow with the number of inputs. Raises
    UsageError where `aggregate`, or `more` (the inputs of an evaluation), does not go with the
    inputs, where standard input is named twice, and where nothing is named.
    """
    given = checked_inputs(inputs)
    first = list(islice(given, 2))
    _check_together(len(first), aggregate, more)
    every: Iterator[str | Nothing] = chain(first, given)

    # What documents are named beside is one file, however it is called.
    is_alone = aggregate is None and more is None
    chosen = None if options.format_name == "auto" else options.format_name
    given_ones = expanded(every) if is_alone else every
    ones = (_Input(one, chosen, aggregate, more) for one in given_ones)
    for name, some in groupby(ones, attrgetter("system")):
        if name == eee.NAME:
            if more is not None:
                raise UsageError(f"--inputs does not go with files of {eee.NAME}")
            yield from _main(some, aggregate)
            continue
        _refuse_idle(options, name)
        find = import_module(f"evalstream.systems.{name}").find
        for one in some:
            yield from find(one.path, aggregate, more)
            yield from one.others()


class _Input:
    """One input, the system whose files it is taken for, and others that it shows as well."""

    def __init__(
        self, given: str | Nothing, system: str | None, aggregate: str | None, more: str | None
    ) -> None:
        self.given = given
        self.path = given.path if isinstance(given, Nothing) else given
        if system is not None or isinstance(given, Nothing):
            self.system, self._shown = system or eee.NAME, {}
        else:
            self._shown = recognised(self.path, aggregate, more)
            self.system = next((name for name in NAMES if name in self._shown), eee.NAME)

    def others(self) -> Iterator[Nothing]:
        """Say of which systems there are files in a folder that were not checked with it."""
        for name, path in self._shown.items():
            if name != self.system:
                reason = (
                    f"the folder was taken for one of {self.system}, and this is a file of {name}, "
                    "which was not checked: name the folders of each system, or --format-name"
                )
                yield Nothing(path, reason, format=name)


def _main(inputs: Iterable[_Input], aggregate: str | None) -> Iterator[Run | Nothing]:
    """Find the runs of the main system, and then say what other files there are."""
    others: list[Nothing] = []

    def given() -> Iterator[str | Nothing]:
        for one in inputs:
            yield one.given
            others.extend(one.others())

    yield from find_runs(given(), aggregate)
    yield from others


def _refuse_idle(options: Options, system: str) -> None:
    """Raise UsageError for options that say nothing to files of another system."""
    flow, usual = options.flow, Options()
    idle = {
        "--schema": options.schema != usual.schema,
        "--schema-version": options.schema_version != usual.schema_version,
        "--recipe": options.recipe != usual.recipe,
        "a seal": flow.seal_to is not None,
        "a way for rows to go": flow != Flow() and system not in WITH_ROWS,
        "--skip-noise": options.skip_noise and system not in WITH_ROWS,
    }
    named = next((name for name, is_idle in idle.items() if is_idle), None)
    if named is not None:
        raise UsageError(f"{named} does not go with files of {system}")


def _check_together(count: int, aggregate: str | None, more: str | None) -> None:
    if not count:
        raise UsageError("nothing to check was named")
    if aggregate is not None and count > 1:
        raise UsageError("--aggregate goes with exactly one rows file (or - for stdin)")
    if more is not None and count > 1:
        raise UsageError("--inputs goes with exactly one input")
