"""The Python API: check, seal and merge, with every option as a typed keyword."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from evalstream.api.arguments import (
    Engine,
    ExecutorName,
    Input,
    InputFormat,
    Passing,
    Profile,
    Recipe,
    SchemaVersion,
    chosen_arguments,
    optional_path,
    require_path,
    require_paths,
)
from evalstream.api.check_inputs import check_inputs
from evalstream.api.reports import FindingSink, Report
from evalstream.discovery.inputs import find_all, format_shown_by
from evalstream.formats.registry import FORMATS
from evalstream.model.data_class import replace
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.finding import Severity
from evalstream.model.options import Options, RowRouting, Sealing
from evalstream.model.run import MAIN_FORMAT, STDIN, Run
from evalstream.reporters.base import Reporter
from evalstream.settings.options import checked_options

PerFileIgnores = str | Sequence[str] | Mapping[str, str | Sequence[str]]

DEFAULTS: Final = Options()
ROUTING: Final = DEFAULTS.routing


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
    select: str | Sequence[str] = DEFAULTS.select,
    ignore: str | Sequence[str] = DEFAULTS.ignore,
    per_file_ignores: PerFileIgnores = DEFAULTS.per_file_ignores,
    strict: bool = DEFAULTS.strict,
    preview: bool = DEFAULTS.preview,
    fail_on: Severity = DEFAULTS.fail_on,
    jobs: int = DEFAULTS.jobs,
    schema_version: SchemaVersion = "auto",
    schema: str | None = DEFAULTS.schema,
    recipe: Recipe = "auto",
    engine: Engine = "auto",
    max_findings: int = DEFAULTS.max_findings,
    show_values: bool = DEFAULTS.show_values,
    sketches: bool = DEFAULTS.sketches,
    max_line_bytes: int = DEFAULTS.max_line_bytes,
    max_depth: int = DEFAULTS.max_depth,
    memory_limit: int = DEFAULTS.memory_limit,
    profile: Profile = "default",
    store_version: str = DEFAULTS.store_version,
    baseline: str | None = DEFAULTS.baseline,
    write_baseline: str | None = DEFAULTS.write_baseline,
    input_format: InputFormat = "auto",
    exclude: str | Sequence[str] = DEFAULTS.exclude,
    expect_ids: str | None = DEFAULTS.expect_ids,
    expect_digests: str | None = DEFAULTS.expect_digests,
    sample_digests: str | None = DEFAULTS.sample_digests,
    source: str | None = DEFAULTS.source,
    attestation: str | None = DEFAULTS.attestation,
    trust: str | Sequence[str] = DEFAULTS.trust,
    require: str | Sequence[str] = DEFAULTS.require,
    attestation_only: bool = DEFAULTS.attestation_only,
    executor: ExecutorName = "auto",
    dask_address: str | None = DEFAULTS.dask_address,
    dask_scheduler_file: str | None = DEFAULTS.dask_scheduler_file,
    dask_insecure: bool = DEFAULTS.dask_insecure,
    skip_noise: bool = DEFAULTS.skip_noise,
    noise: str | None = DEFAULTS.noise,
    tee: str | None = ROUTING.tee,
    passing: Passing | None = None,
    end_with_reader: bool = ROUTING.end_with_reader,
    accepted: str | None = ROUTING.accepted,
    rejected: str | None = ROUTING.rejected,
    seal_to: str | None = ROUTING.seal_to,
    file_path: str | None = ROUTING.file_path,
    create: bool = ROUTING.create,
    seal_anyway: bool = ROUTING.seal_anyway,
    force: bool | None = None,
    dry_run: bool = ROUTING.dry_run,
    expect_rows: int | None = ROUTING.expect_rows,
    expect_samples: int | None = ROUTING.expect_samples,
    follow: bool = ROUTING.follow,
    idle_timeout: float = ROUTING.idle_timeout,
) -> Report:
    """Check rows files, aggregates and folders, and return what was found.

    `inputs` are paths, URLs, or `-` for standard input; `aggregate` and `inputs_file` (the input
    of an evaluation of HarpIA Lab) go with exactly one rows input. `ledger` is a file that
    remembers what was checked, and runs that have not changed are not checked again. `shard`
    (`3/100`, `slurm/100`, `slurm`) checks one of several parts, which a PartReporter writes.
    `outputs` are files that the caller writes meanwhile, such as a report; no input may be one
    of them. With `overwrite` copies of rows, the ledger and the new baseline may replace any other
    file. Findings go to `reporter` as they come; without one they are kept, on disk past a bound,
    and the report can be iterated over. The other keywords are the options of the command line,
    `schema` as a text; they can come as one object, `options`, instead. `force` is a former name of
    `seal_anyway`.

    Raises UsageError for a call that makes no sense, and CannotWrite where rows cannot be
    written. What is wrong with the data, or cannot be read, is in the report.
    """
    return check_inputs(
        require_paths(inputs),
        chosen_arguments(options, _with_former(locals())),
        FindingSink(reporter),
        aggregate=optional_path(aggregate, "the aggregate"),
        inputs_file=optional_path(inputs_file, "inputs_file"),
        ledger=optional_path(ledger, "the ledger"),
        shard=shard,
        outputs=outputs,
        overwrite=overwrite,
        progress=progress,
    )


def seal(
    rows: Input,
    aggregate: Input | None = None,
    *,
    outputs: Iterable[Input] = (),
    overwrite: bool = False,
    reporter: Reporter | None = None,
    progress: bool = False,
    select: str | Sequence[str] = DEFAULTS.select,
    ignore: str | Sequence[str] = DEFAULTS.ignore,
    per_file_ignores: PerFileIgnores = DEFAULTS.per_file_ignores,
    strict: bool = DEFAULTS.strict,
    preview: bool = DEFAULTS.preview,
    fail_on: Severity = DEFAULTS.fail_on,
    jobs: int = DEFAULTS.jobs,
    schema_version: SchemaVersion = "auto",
    recipe: Recipe = "auto",
    max_findings: int = DEFAULTS.max_findings,
    show_values: bool = DEFAULTS.show_values,
    profile: Profile = "default",
    store_version: str = DEFAULTS.store_version,
    tee: str | None = ROUTING.tee,
    file_path: str | None = ROUTING.file_path,
    create: bool = ROUTING.create,
    seal_anyway: bool = ROUTING.seal_anyway,
    force: bool | None = None,
    dry_run: bool = ROUTING.dry_run,
    expect_rows: int | None = ROUTING.expect_rows,
    expect_samples: int | None = ROUTING.expect_samples,
) -> Report:
    """Check rows, and write into their aggregate what the check verifies.

    Rows with errors are not sealed, nor are rows that refute the claims or do not cover them, that
    look torn, or that are other bytes than those that the aggregate seals, unless `seal_anyway` is
    set; `sealed` of the report's only run names the file that was written. Without `aggregate` it
    is the one that `check` pairs with the rows. The keywords are those of `check`. A folder of
    EvalGuard is named without an aggregate, and gets a manifest; an evaluation of infereval gets
    the hash of its benchmark, which `aggregate` names if it is not beside it. Raises UsageError for
    a call that makes no sense, and CannotWrite where the file cannot be written.
    """
    path, beside = require_path(rows, "rows"), optional_path(aggregate, "the aggregate")
    options = chosen_arguments(None, _with_former(locals()))
    named, beside = pair_to_seal(path, beside, options)
    return check_inputs(
        [named],
        sealing(options, named, beside),
        FindingSink(reporter),
        aggregate=beside,
        outputs=outputs,
        overwrite=overwrite,
        progress=progress,
    )


def _with_former(given: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of a call with `seal_anyway` for its former name, `force`."""
    if given["force"] is None:
        return given
    import warnings

    warnings.warn(
        "the keyword force is a former name of seal_anyway", DeprecationWarning, stacklevel=3
    )
    return {**given, "seal_anyway": given["force"] or given["seal_anyway"]}


def pair_to_seal(named: str, aggregate: str | None, options: Options) -> tuple[str, str | None]:
    """Return the rows and aggregate to seal: the only pair that `check` finds, or those named."""
    if aggregate is not None or named == STDIN:
        return named, aggregate
    found = find_all([named], None, None, checked_options(Options(exclude=options.exclude)))
    runs = list(islice((one for one in found if isinstance(one, Run)), 2))
    if len(runs) == 1 and runs[0].format == MAIN_FORMAT:
        rows, beside = runs[0].rows, runs[0].aggregate
        if rows is not None and beside is not None:
            return rows, beside
    return named, None


def sealing(options: Options, rows: str, aggregate: str | None) -> Options:
    """Return the options of a check that seals. Raises UsageError for those of rows alone."""
    routing = options.routing
    if aggregate is not None and not FORMATS[format_shown_by(rows)].seals_itself:
        return replace(options, routing=replace(routing, seal_to=aggregate))
    if replace(routing, dry_run=False, seal_anyway=False) != RowRouting():
        raise UsageError("options that route, name or count rows go with --aggregate alone")
    request = Sealing(routing.dry_run, routing.seal_anyway)
    return replace(options, routing=RowRouting(), sealing=request)


def merge(parts: Sequence[Input], *, reporter: Reporter | None = None) -> Report:
    """Merge the parts that shards wrote into the report of one check of all runs.

    Raises CannotCheck that names the part which is missing, repeated, cut off, damaged or of
    another batch; OSError.
    """
    # What only merges need is not loaded for every check.
    from evalstream.batch.batch import merge_many
    from evalstream.batch.parts import open_parts
    from evalstream.batch.serialize import restore_options

    whole = open_parts([os.fspath(part) for part in parts])
    try:
        options = restore_options(whole[0].trailer.options)
    except (KeyError, TypeError, ValueError) as error:
        raise CannotCheck(
            f"{whole[0].path}: its options make no sense; nothing was merged"
        ) from error
    findings = FindingSink(reporter)
    return findings.report(options, *merge_many(whole, options, findings.show))


def read_report(files: Input | Sequence[Input], *, reporter: Reporter | None = None) -> Report:
    """Read a report that `check` wrote as jsonl or json, or merge all parts of a batch.

    `files` is a report, all parts of a batch, or `-` for standard input. The report is the one
    that was written: its findings are those that were shown, and its exit code is that of the
    check. Raises CannotCheck that names the line where the
    report is truncated, damaged or not one of evalstream; UsageError; OSError.
    """
    from evalstream.batch.stored_report import are_parts, read_stored

    given: Sequence[Input] = [files] if isinstance(files, (str, os.PathLike)) else files
    paths = [os.fspath(path) for path in given]
    if are_parts(paths):
        return merge(paths, reporter=reporter)
    findings = FindingSink(reporter)
    report = read_stored(paths[0], findings.show)
    return findings.finish(replace(report, findings=findings.kept))
