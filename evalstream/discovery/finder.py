"""Find the runs that inputs stand for, each pair once, in the order of the inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from evalstream.discovery.patterns import expand_patterns
from evalstream.formats.registry import NAMES
from evalstream.model.errors import UsageError
from evalstream.model.run import STDIN, NoInput, Run

if TYPE_CHECKING:
    from evalstream.discovery.pairing import FoundRuns
    from evalstream.discovery.search import Search


def find_runs(
    inputs: Iterable[str | NoInput],
    formats: Collection[str] = NAMES,
    exclude: Iterable[str] = (),
    *,
    any_rows: bool = False,
) -> Iterator[Run | NoInput]:
    """Find the runs of some formats among the inputs, each pair once, in the order of the inputs.

    Names that match `exclude` are left out of folders, prefixes and patterns. With `any_rows` every
    file with a name for rows holds rows, whatever its content. Memory does not grow with the number
    of runs. Raises UsageError if standard input is named twice, or if no input is given.
    """
    given = checked_inputs(inputs)
    first = list(islice(given, 1))
    if not first:
        raise UsageError("no input given")
    # The search takes 0.02 s to import, and a pair that is named whole does not need it.
    from evalstream.discovery.named_files import combine_runs, join_folders
    from evalstream.discovery.search import Search

    patterns = tuple(exclude)
    with closing(Search(formats, patterns, any_rows=any_rows)) as search:
        ones = iter(expand_patterns(chain(first, given), patterns))
        some = list(islice(ones, 2))
        runs = combine_runs(
            chain.from_iterable(map(partial(_find_with, search), chain(some, ones)))
        )
        # The order of what one folder holds stays as it is found.
        for found in join_folders(runs) if len(some) > 1 else runs:
            yield found.what
        for found in search.rest():
            yield found.what


def _find_with(search: Search, one: str | NoInput) -> Iterable[FoundRuns]:
    return search.find_runs(one)


def checked_inputs(inputs: Iterable[str | NoInput]) -> Iterator[str | NoInput]:
    """Iterate over inputs. Raises UsageError if standard input is named twice.

    For a sequence the error comes at once, else when the second one is reached.
    """
    if isinstance(inputs, Sequence) and list(inputs).count(STDIN) > 1:
        raise UsageError(_TWICE)
    return _with_stdin_once(inputs)


def _with_stdin_once(inputs: Iterable[str | NoInput]) -> Iterator[str | NoInput]:
    was_named = False
    for one in inputs:
        if was_named and one == STDIN:
            raise UsageError(_TWICE)
        was_named = was_named or one == STDIN
        yield one


_TWICE: Final = "standard input can be named only once"
