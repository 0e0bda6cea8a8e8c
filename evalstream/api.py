"""The public check: find the runs, check each, and say how it came out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final

from evalstream.discovery.inputs import find_all
from evalstream.discovery.overlap import apart
from evalstream.engine.routing import check_routing, outputs_of
from evalstream.formats.eee import row_view
from evalstream.formats.registry import CATALOGUE
from evalstream.formats.registry import NAMES as FORMATS
from evalstream.io.digest import RECIPES
from evalstream.io.overwriting import Outputs, journaled
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.options import Options, RowRouting
from evalstream.model.report import Report
from evalstream.parsing import json
from evalstream.parsing.json_schema import ENGINES, compile_schema
from evalstream.parsing.linear_regex import linear_search
from evalstream.reporters.base import Reporter
from evalstream.rules.profiles import PROFILES
from evalstream.session import Call

if TYPE_CHECKING:
    from evalstream.batch.shards import Shard

AUTO: Final = "auto"
EXECUTORS: Final = (AUTO, "serial", "pool", "dask")
"""Who can run the work: this process, its own workers, or those of a Dask cluster."""

Input = str | os.PathLike[str]

PASSING: Final = ("all", "valid")
"""Which rows can go through to standard output."""

ROUTING_FIELDS: Final = frozenset(field.name for field in fields(RowRouting))


def check(
    inputs: Input | Iterable[Input],
    *,
    aggregate: Input | None = None,
    inputs_file: Input | None = None,
    ledger: Input | None = None,
    shard: str | None = None,
    outputs: Iterable[Input] = (),
    overwrite: bool = False,
    options: Options | None = None,
    reporter: Reporter | None = None,
    progress: bool = False,
    **settings: Any,
) -> Report:
    """Check rows files, aggregates and folders, and return what was found.

    `inputs` are paths, or `-` for standard input; `aggregate` goes with exactly one rows
    input, and so does `inputs_file`, what was put into an evaluation by HarpIA Lab. `ledger` is
    a file that remembers what was checked: what has not changed is not checked again. `shard`
    (`3/100`, `slurm/100`, `slurm`) checks one of several parts, which a PartReporter writes.
    `outputs` are files that the caller writes meanwhile, such as a report; no file that is read
    may be one of them, or one that is written here, however it was found. With `overwrite` the
    ledger may replace another file. `settings` are fields of Options and Flow, such as
    `recipe="concat"`. Findings go to `reporter` as they come; without one they are kept, on disk
    past a bound, and the report can be iterated over. Raises UsageError for a call that makes no
    sense; whatever is wrong with the data, or cannot be read, is in the report.
    """
    chosen = checked_options(options or Options(), settings)
    names: Iterable[Input] = [inputs] if isinstance(inputs, (str, os.PathLike)) else inputs
    paths: Iterable[str] = (os.fspath(name) for name in names)
    beside = chosen.routing.seal_to if aggregate is None else os.fspath(aggregate)
    if chosen.routing != RowRouting():
        if ledger is not None or shard is not None:
            raise UsageError(
                "a ledger and shards are for files, not for rows that go somewhere or are counted"
            )
        paths = list(paths)
        check_routing(chosen.routing, paths, beside)
    third = None if inputs_file is None else os.fspath(inputs_file)
    book = None if ledger is None else os.fspath(ledger)
    theirs = [os.fspath(output) for output in outputs]
    written = Outputs([*outputs_of(chosen.routing), *journaled(book), *theirs])
    if chosen.dask_scheduler_file is not None:
        written.refuse(chosen.dask_scheduler_file)
    try:
        return Call(chosen, reporter).check(
            apart(find_all(paths, beside, third, chosen), written, chosen.routing),
            ledger=book,
            overwrite=overwrite,
            shard=None if shard is None else _shard(shard),
            progress=progress,
        )
    finally:
        if chosen.executor == "dask":
            from evalstream.executors.dask.backend import leave

            leave()


def merge(parts: Sequence[Input], *, reporter: Reporter | None = None) -> Report:
    """Return the report that shards wrote in parts, as one check of everything would have said it.

    Raises CannotCheck that names the part which is missing, doubled, cut off, damaged or of
    another batch; OSError.
    """
    # What only merges need is not loaded for every check.
    from evalstream.batch.fingerprint import restored
    from evalstream.batch.merge import open_parts

    whole = open_parts([os.fspath(part) for part in parts])
    try:
        options = restored(whole[0].trailer.options)
    except (KeyError, TypeError, ValueError) as error:
        raise CannotCheck(
            f"{whole[0].path}: its options make no sense; nothing was merged"
        ) from error
    return Call(options, reporter).merge(whole)


def _shard(named: str) -> Shard:
    from evalstream.batch.shards import shard_of

    return shard_of(named)


def checked_options(options: Options, settings: dict[str, Any]) -> Options:
    """Return the options with the settings in them. Raises UsageError for what makes no sense."""
    routing = {name: settings.pop(name) for name in ROUTING_FIELDS & settings.keys()}
    try:
        options = replace(options, **settings, routing=replace(options.routing, **routing))
    except TypeError as error:
        raise UsageError(f"no such setting: {', '.join(sorted(settings))}") from error
    select, ignore, exclude = map(tuple, (options.select, options.ignore, options.exclude))
    options = replace(options, select=select, ignore=ignore, exclude=exclude)
    _one_of("schema version", options.schema_version, ("auto", *row_view.INSTANCE_VERSIONS))
    _one_of("executor", options.executor, EXECUTORS)
    if options.executor != "dask" and (options.dask_address or options.dask_scheduler_file):
        raise UsageError("a Dask scheduler goes with the executor dask")
    if options.dask_address and options.dask_scheduler_file:
        raise UsageError("the Dask scheduler is named by its address or by its file, not by both")
    _one_of("format", options.input_format, (AUTO, *FORMATS))
    _one_of("recipe", options.recipe, ("auto", *RECIPES))
    _one_of("engine", options.engine, ENGINES)
    _one_of("profile", options.profile, tuple(PROFILES))
    for name in ("jobs", "max_findings"):
        if getattr(options, name) < 0:
            raise UsageError(f"{name} must not be negative")
    for name in ("max_line_bytes", "max_depth", "memory_limit"):
        if getattr(options, name) < 1:
            raise UsageError(f"{name} must be at least 1")
    CATALOGUE.check_prefixes(options)
    _check_routing_values(options.routing)
    return _with_pattern(_with_schema(options))


def _check_routing_values(routing: RowRouting) -> None:
    """Raise UsageError for parts of a flow that make no sense."""
    if routing.passing is not None:
        _one_of("way for rows to pass", routing.passing, PASSING)
    if routing.create and routing.seal_to is None:
        raise UsageError(
            "--create begins an aggregate that is to be sealed: name it with --seal-to"
        )
    for name in ("expect_rows", "expect_samples"):
        if (getattr(routing, name) or 0) < 0:
            raise UsageError(f"{name} must not be negative")
    if routing.idle_timeout <= 0:
        raise UsageError("idle_timeout must be more than 0 seconds")


def _with_pattern(options: Options) -> Options:
    if options.noise is None:
        return options
    try:
        linear_search(options.noise)
    except UsageError as error:
        raise UsageError(f"the pattern of noise: {error}") from error
    return replace(options, skip_noise=True)


def _with_schema(options: Options) -> Options:
    if options.schema is not None and options.schema_version != "auto":
        raise UsageError("a schema of one's own and a schema version exclude each other")
    if options.schema is not None:
        try:
            schema = json.fast(options.schema.encode())
        except ValueError as error:
            raise UsageError(f"the schema is no JSON: {error}") from error
        compile_schema(schema, options.engine, trusted=False)
    return options


def _one_of(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise UsageError(f"unknown {what} {value!r}; known are: {', '.join(known)}")
