"""Find the runs that the inputs of a call stand for, and refuse to write over their files."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, islice
from typing import Final

from evalstream.engine.routing import one_run_for
from evalstream.formats.base import Kind
from evalstream.formats.registry import FORMATS, MAIN, NAMES, detect_kind, folder_format
from evalstream.io.beginning import PEEK_BYTES, Beginning, read_beginning
from evalstream.io.names import WILD, is_remote, split_root
from evalstream.io.overwriting import Outputs, is_same_file
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck, UsageError, internal_error
from evalstream.model.options import Options, RowRouting
from evalstream.model.run import STDIN, FaultyInput, HeldInput, NoInput, Run
from evalstream.parsing.lazy_regex import LazyPattern


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
        runs = combine_runs(chain.from_iterable(map(search.find_runs, chain(some, ones))))
        # The order of what one folder holds stays as it is found.
        for found in join_folders(runs) if len(some) > 1 else runs:
            yield found.what
        for found in search.rest():
            yield found.what


def checked_inputs(inputs: Iterable[str | NoInput]) -> Iterator[str | NoInput]:
    """Iterate over inputs. Raises UsageError if standard input is named twice, as soon as known."""
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


AUTO: Final = "auto"

ONE_FILE: Final = "--aggregate goes with exactly one rows file (or - for stdin)"


def find_all(
    inputs: Iterable[str], aggregate: str | None, more: str | None, options: Options
) -> Iterator[Run | NoInput]:
    """Find the runs among the inputs, of the format that is named or that the files show.

    A pattern stands for the files it matches; memory does not grow with the number of inputs.
    Raises UsageError if `aggregate`, or `more` (the inputs of an evaluation), does not fit the
    inputs, if standard input is named twice, or if no input is given.
    """
    given = checked_inputs(inputs)
    first = list(islice(given, 2))
    _check_together(len(first), aggregate, more)
    try:
        yield from _find_all(chain(first, given), aggregate, more, options)
    except BaseException as error:  # noqa: BLE001 - whatever a library raises
        yield FaultyInput(str(first[0]), f"the search for runs ended: {internal_error(error)}")


def _find_all(
    given: Iterator[str | NoInput], aggregate: str | None, more: str | None, options: Options
) -> Iterator[Run | NoInput]:
    if aggregate is not None or more is not None:
        # With documents named beside it, the input is one file, even if its name has wildcards.
        yield from _find_named_run(next(given), aggregate, more, options)
        return
    formats = NAMES if options.input_format == AUTO else (options.input_format,)
    # A user's own schema checks rows of any kind.
    any_rows = options.schema is not None
    runs = find_runs(given, formats, options.exclude, any_rows=any_rows)
    yield from _without_idle(runs, options)


def _without_idle(runs: Iterable[Run | NoInput], options: Options) -> Iterator[Run | NoInput]:
    """Pass runs on. Raises UsageError at the end if an option has no effect on any of them."""
    others: set[str] = set()
    has_rows = False
    for one in runs:
        if isinstance(one, Run):
            has_rows = has_rows or one.format == MAIN
            others.add(one.format)
        yield one
    if not has_rows:
        for name in sorted(others):
            refuse_idle(options, name)


def _find_named_run(
    given: str | NoInput, aggregate: str | None, more: str | None, options: Options
) -> Iterator[Run | NoInput]:
    """Return the one run of a file and the documents that are named with it."""
    path = given if isinstance(given, str) else str(given)
    name = options.input_format
    if name == AUTO:
        name = format_shown_by(path, aggregate, more)
    refuse_idle(options, name)
    runs = FORMATS[name].find(path, aggregate, more)
    if name == MAIN:
        is_many = path.endswith("/") if is_remote(path) else is_pattern(path)
        if more is None and is_many:
            raise UsageError(ONE_FILE)
        yield from runs
        return
    from evalstream.discovery.named_files import list_unused

    found = list(runs)
    yield from found
    yield from list_unused(name, found, path, aggregate, more)


def format_shown_by(*paths: str | None) -> str:
    """Return the first format that one of some files shows, else the main format."""
    for path in paths:
        if path is None or is_remote(path) or (path == STDIN and not isinstance(path, HeldInput)):
            continue
        kind = _kind_at(path) if not os.path.isdir(path) else None
        if kind is not None and kind.format in FORMATS:
            return kind.format
        if kind is None and os.path.isdir(path):
            shown = {one.format for one in find_runs([path]) if isinstance(one, Run)}
            return next((name for name in NAMES if name in shown), MAIN)
    return MAIN


def _kind_at(path: str) -> Kind | None:
    if not isinstance(path, HeldInput):
        return detect_kind(read_beginning(path))
    try:
        path.stream.peek()
    except (OSError, CannotCheck):
        return None  # its check reports why it cannot be read
    seen = path.stream.seen
    return detect_kind(Beginning("", seen[:PEEK_BYTES], lambda: seen))


def _check_together(count: int, aggregate: str | None, more: str | None) -> None:
    if not count:
        raise UsageError("no input given")
    if aggregate is not None and count > 1:
        raise UsageError(ONE_FILE)
    if more is not None and count > 1:
        raise UsageError("--inputs-file goes with exactly one input")


class FormatOption(NamedTuple):
    """An option that only some formats understand: its name in messages, and whether it is used."""

    label: str
    is_used: Callable[[Options], bool]


_USUAL: Final = Options()

OPTIONS: Final[Mapping[str, FormatOption]] = {
    "schema": FormatOption("--schema", lambda options: options.schema != _USUAL.schema),
    "schema_version": FormatOption(
        "--schema-version", lambda options: options.schema_version != _USUAL.schema_version
    ),
    "recipe": FormatOption("--recipe", lambda options: options.recipe != _USUAL.recipe),
    "seal_to": FormatOption("a seal", lambda options: options.routing.seal_to is not None),
    "expect_rows": FormatOption(
        "--expect-rows", lambda options: options.routing.expect_rows is not None
    ),
    "expect_samples": FormatOption(
        "--expect-samples", lambda options: options.routing.expect_samples is not None
    ),
    "routing": FormatOption("routing of rows", lambda options: options.routing != RowRouting()),
    "source": FormatOption("--source", lambda options: options.source is not None),
    "skip_noise": FormatOption("--skip-noise", lambda options: options.skip_noise),
}
"""The options that formats must list to support them, in the order of refusal."""


def refuse_idle(options: Options, name: str) -> None:
    """Raise UsageError for options that have no effect on files of a format."""
    understood = FORMATS[name].options
    for field, option in OPTIONS.items():
        if field not in understood and option.is_used(options):
            raise UsageError(f"{option.label} does not go with files of {name}")


_WILD_IN_URL: Final = LazyPattern(r"[*\[]")
"""In a URL a question mark starts the query."""

_WEB: Final = ("http://", "https://")


def is_pattern(path: str) -> bool:
    """Tell whether an input has wildcards and is not a file. Raises OSError, or CannotCheck."""
    if not is_remote(path):
        return WILD.search(path) is not None and not os.path.lexists(path)
    if path.lower().startswith(_WEB):
        return False
    # Modules for stores and for matching are imported only when they are needed.
    from evalstream.discovery.remote import is_readable

    return _WILD_IN_URL.search(split_root(path)[1]) is not None and not is_readable(path)


def literal_folder(pattern: str) -> str:
    """Return the part of a local pattern before its first wildcard: the folder of all matches."""
    parts = pattern.split("/")
    first = next(at for at, part in enumerate([*parts, "*"]) if WILD.search(part))
    return "/".join(parts[:first]) or ("/" if pattern.startswith("/") else ".")


def expand_patterns(
    inputs: Iterable[str | NoInput], exclude: Iterable[str] = ()
) -> Iterator[str | NoInput]:
    """Replace each pattern by its matches, in the order of a folder's listing.

    `*`, `?` and `[…]` match within a name, `**` matches any number of folders. Hidden names match
    only a pattern part that begins with a dot; links and names that match `exclude` never match.
    """
    for one in inputs:
        try:
            if isinstance(one, str) and is_pattern(one):
                from evalstream.discovery.pattern_matches import matches

                yield from matches(one, tuple(exclude))
            else:
                yield one
        except (OSError, CannotCheck) as error:
            yield NoInput(str(one), f"{error}", readable=False)


def without_overlap(
    found: Iterable[Run | NoInput], outputs: Outputs, routing: RowRouting
) -> Iterator[Run | NoInput]:
    """Pass runs on once it is certain that the call does not write over their files.

    The aggregate that is sealed is both read and written. Raises UsageError for any other such
    file, and if rows are routed and there are several runs.
    """
    is_single = routing != RowRouting()
    for number, one in enumerate(found):
        if is_single and number:
            raise UsageError(one_run_for(routing))
        for path in _row_files(one) if outputs else ():
            outputs.refuse(path)
        if isinstance(one, Run) and one.aggregate is not None and outputs:
            is_sealed = _is_sealed(one.aggregate, routing)
            for path in () if is_sealed else _files_at(one.aggregate, one.format):
                outputs.refuse(path)
        yield one


def _is_sealed(aggregate: str, routing: RowRouting) -> bool:
    """Tell whether an aggregate is the one to be sealed, which is read and written."""
    if routing.seal_to is None or routing.dry_run:
        return False
    return is_same_file(aggregate, routing.seal_to)


def _row_files(found: Run | NoInput) -> Iterator[str]:
    """Iterate over the files of a run except its aggregate."""
    if isinstance(found, NoInput):
        # Files left unchecked in a folder are not read, so a report among them can be replaced.
        yield from () if os.path.isdir(found.path) else (found.path,)
        return
    for path in (found.rows, found.inputs, *found.beside):
        if path is not None:
            yield from _files_at(path, found.format)


def _files_at(path: str, name: str) -> Iterator[str]:
    """Iterate over the files that a path stands for in a run of one format."""
    one = folder_format(name)
    if one is None or path == STDIN or is_remote(path) or not os.path.isdir(path):
        yield path
    else:
        yield from one.files(path)
