"""The Python API: check, seal and merge, with every option as a typed keyword."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, TypeGuard

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
    describe_type,
    make_options,
    optional_path,
    require_path,
    require_paths,
)
from evalstream.api.reports import Report, with_tables
from evalstream.batch.single import check_any
from evalstream.discovery.inputs import find_all, format_shown_by
from evalstream.discovery.overlap import without_overlap
from evalstream.engine.routing import check_routing, refuse_foreign, routed_files
from evalstream.formats.registry import CATALOGUE, FORMATS
from evalstream.io.names import printable
from evalstream.io.overwriting import Outputs, is_same_file, ledger_files
from evalstream.io.progress import Progress
from evalstream.io.remote import is_remote
from evalstream.model.data_class import replace
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.exit_codes import exit_code
from evalstream.model.finding import Finding, FindingList, KnownFinding, Severity
from evalstream.model.options import Options, RowRouting, Sealing
from evalstream.model.report import Report as Outcome
from evalstream.model.report import RunSummary, Totals
from evalstream.model.run import MAIN_FORMAT, STDIN, NoInput, Run
from evalstream.model.text import on_one_line
from evalstream.reporters.base import Reporter
from evalstream.settings.options import checked_options, reported_options

if TYPE_CHECKING:
    from evalstream.batch.parts import PartReporter
    from evalstream.batch.shards import Shard

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
    options = make_options(_with_former(locals()))
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
    """Return the rows and the aggregate to seal: those named, or the only pair that `check` finds.

    Returns what was named where no pair is found, or several.
    """
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
    """Return the options of a check that seals rows in an aggregate, or documents of their own.

    Raises UsageError for options that go with rows alone.
    """
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
    from evalstream.batch.fingerprint import restore_options
    from evalstream.batch.parts import open_parts

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


class FindingSink:
    """Where the findings of one call go: to its reporter, or into a list."""

    def __init__(self, reporter: Reporter | None) -> None:
        if reporter is not None and (isinstance(reporter, type) or not hasattr(reporter, "finish")):
            kind = "a class" if isinstance(reporter, type) else describe_type(reporter)
            raise TypeError(f"reporter is {kind}; it takes an object such as JsonReporter(file)")
        self.reporter = reporter
        self.kept = FindingList()
        self._shown = 0

    def show(self, finding: Finding) -> None:
        """Take one finding that is shown."""
        self._shown += 1
        if self.reporter is not None:
            self.reporter.finding(finding)
        else:
            self.kept.append(finding)

    def report(
        self,
        options: Options,
        runs: Sequence[RunSummary],
        totals: Totals,
        vanished: Iterable[KnownFinding] = (),
    ) -> Report:
        """Return the report, and let the reporter write it."""
        found = (code for code in sorted(totals.counts) if code in CATALOGUE)
        texts = {code: CATALOGUE[code].text() for code in found}
        return self.finish(
            Outcome(
                runs,
                self.kept,
                self._shown,
                exit_code(totals, is_strict=options.strict),
                totals,
                texts,
                vanished=vanished,
                options=reported_options(options),
            )
        )

    def finish(self, report: Outcome) -> Report:
        """Let the reporter write the report."""
        if self.reporter is not None:
            self.reporter.finish(report)
        return with_tables(report)


def check_inputs(
    inputs: Iterable[str],
    options: Options,
    findings: FindingSink,
    *,
    aggregate: str | None,
    inputs_file: str | None = None,
    ledger: str | None = None,
    shard: str | None = None,
    outputs: Iterable[Input] = (),
    overwrite: bool = False,
    progress: bool = False,
) -> Report:
    """Find the runs and check them, one alone or many as a batch."""
    options = _with_overwriting(checked_options(options), overwrite=overwrite)
    _check_combination(options, ledger, shard)
    theirs = [os.fspath(output) for output in outputs]
    if options.write_baseline is not None:
        theirs.append(options.write_baseline)
    if options.sample_digests is not None:
        theirs.append(options.sample_digests)
    written = Outputs([*routed_files(options.routing), *ledger_files(ledger), *theirs])
    _keep_baseline(options, written)
    found = _runs(inputs, aggregate, inputs_file, options, written, progress=progress)
    part = _part(shard, findings.reporter)
    outcome = partial(
        _outcome, found, ledger=ledger, overwrite=overwrite, part=part, progress=progress
    )
    try:
        if not options.has_baseline:
            check = partial(outcome, options)
            if ledger is not None and part is None and _is_repeatable(inputs, options, written):
                from evalstream.batch.ledger.repeated_call import CallMemory

                check = partial(CallMemory(ledger, inputs, options).check, check)
            return findings.report(options, *check(findings.show))
        from evalstream.batch.baseline.baseline import Baseline

        with closing(Baseline(options, findings.show, overwrite=overwrite)) as known:
            # It compares all findings with their values, and then limits what is shown.
            every = replace(options, max_findings=0, show_values=True)
            runs, totals = outcome(every, known.add, end_run=known.end_run)
            return findings.report(options, runs, totals, known.finish(totals))
    finally:
        if options.executor == "dask":
            from evalstream.executors.dask.backend import leave

            leave()


def _is_repeatable(
    inputs: Iterable[str], options: Options, written: Outputs
) -> TypeGuard[list[str]]:
    """Tell whether all inputs are folders whose files alone decide the report of a call."""
    return (
        isinstance(inputs, list)
        and options.executor != "dask"
        and not (options.exclude or _of_one_run(options))
        and not any(map(is_remote, inputs))
        and all(map(os.path.isdir, inputs))
        # The entries of a public store, which give paths, lie in another folder than its objects.
        and not any("flat" in os.path.abspath(path).split(os.sep) for path in inputs)
        and written.are_apart(inputs)
    )


def _check_combination(options: Options, ledger: str | None, shard: str | None) -> None:
    """Raise UsageError for options that exclude each other, and for files that cannot be read."""
    if options.routing != RowRouting() and (ledger is not None or shard is not None):
        raise UsageError("--ledger and --shard cannot be combined with options that route rows")
    if options.expect_ids is not None and (ledger is not None or options.executor == "dask"):
        raise UsageError("--expect-ids cannot be combined with --ledger and --executor dask")
    if options.expect_ids is not None:
        from evalstream.batch.sample_digests import read_expected_ids

        read_expected_ids(options.expect_ids)
    if options.attestation is not None:
        _check_attestation(options, alone=ledger is None and shard is None)
    if options.has_baseline and shard is not None:
        raise UsageError("--shard cannot be combined with --baseline and --write-baseline")
    if options.has_baseline and ledger is not None and not options.show_values:
        raise UsageError(
            "--no-values and --ledger cannot be combined with --baseline and --write-baseline: the "
            "ledger would hold values"
        )


def _check_attestation(options: Options, *, alone: bool) -> None:
    """Raise UsageError for keys or statements that cannot be read, and MissingExtra."""
    if not alone:
        raise UsageError("--attestation cannot be combined with --ledger and --shard")
    from evalstream.attestation.verification import check_files

    check_files(options)


def _outcome(
    found: Iterator[Run | NoInput],
    options: Options,
    show: Callable[[Finding], None],
    *,
    end_run: Callable[[RunSummary], None] | None = None,
    ledger: str | None,
    overwrite: bool,
    part: tuple[Shard, PartReporter] | None,
    progress: bool,
) -> tuple[Sequence[RunSummary], Totals]:
    """Check one run alone, or many as a batch; `end_run` may change the summary of each."""
    if options.sealing is not None:
        found = _to_seal(found)
    first = list(islice(found, 2))
    refuse_foreign(options.routing)
    for name, value in _of_one_run(options):
        _check_one_run(name, value, first, options, alone=ledger is None and part is None)
    is_alone = len(first) == 1 and ledger is None and part is None
    if is_alone and not _is_for_cluster(options):
        return _check_alone(first[0], options, show, end_run, progress=progress)
    from evalstream.batch.batch import check_many

    return check_many(
        chain(first, found),
        options,
        show,
        ledger=ledger,
        overwrite=overwrite,
        shard=part,
        progress=progress,
        end_run=end_run,
    )


def _is_for_cluster(options: Options) -> bool:
    """Tell whether a cluster checks even a single run; what passes rows on or seals stays here."""
    stays = options.routing != RowRouting() or options.sealing is not None or _of_one_run(options)
    return options.executor == "dask" and not stays


def _with_overwriting(options: Options, *, overwrite: bool) -> Options:
    """Return options in which copies of rows, or a sealed document, may replace any other file."""
    if overwrite and options.sealing is not None:
        return replace(options, sealing=options.sealing._replace(overwrite=True))
    if overwrite and options.routing != RowRouting():
        return replace(options, routing=replace(options.routing, overwrite=True))
    return options


def _to_seal(found: Iterator[Run | NoInput]) -> Iterator[Run | NoInput]:
    """Pass on the one run to seal, or what there is instead. Raises UsageError for several."""
    others, run = [], None
    for one in found:
        if not isinstance(one, Run):
            others.append(one)
        elif run is not None:
            raise UsageError("a seal goes with exactly one run")
        else:
            run = one
    yield from others if run is None else (run,)


def _of_one_run(options: Options) -> list[tuple[str, str]]:
    """Return the options that go with one run whose rows are read twice, with their values."""
    given = {
        "--source": options.source,
        "--expect-digests": options.expect_digests,
        "--sample-digests": options.sample_digests,
    }
    return [(name, value) for name, value in given.items() if value is not None]


def _check_one_run(
    name: str, value: str, found: Sequence[Run | NoInput], options: Options, *, alone: bool
) -> None:
    """Raise UsageError where an option that goes with one run does not go with these."""
    if len(found) > 1:
        raise UsageError(f"{name} goes with exactly one run")
    if is_remote(value):
        raise UsageError(f"{name} needs a local file or folder")
    if not alone:
        raise UsageError(f"{name} cannot be combined with --ledger and --shard")
    for run in found:
        if isinstance(run, Run) and (run.rows == STDIN or options.routing.follow):
            raise UsageError(f"{name} needs rows in a file: they are read a second time")


def _runs(
    paths: Iterable[str],
    aggregate: str | None,
    inputs_file: str | None,
    options: Options,
    written: Outputs,
    *,
    progress: bool,
) -> Iterator[Run | NoInput]:
    """Find the runs. Raises UsageError where one of their files would be written over."""
    beside = options.routing.seal_to if aggregate is None else aggregate
    if options.routing != RowRouting():
        paths = list(paths)
        check_routing(options.routing, paths, beside)
        if options.routing.follow:
            _wait_for_rows(paths[0], options.routing.idle_timeout, progress=progress)
            check_routing(options.routing, paths, beside)
    if options.dask_scheduler_file is not None:
        written.refuse(options.dask_scheduler_file)
    read = (options.source, options.expect_ids, options.expect_digests, options.attestation)
    for path in filter(None, (*read, *options.trust)):
        written.refuse(path)
    found = _judge_objects(find_all(paths, beside, inputs_file, options))
    return without_overlap(found, written, options.routing)


def _judge_objects(found: Iterator[Run | NoInput]) -> Iterator[Run | NoInput]:
    """Pass runs on; objects of a public store are judged by the paths that its entries give."""
    in_data = array("q")
    for one in found:
        path = (isinstance(one, Run) and one.aggregate) or ""
        if "objects/" in path:
            from evalstream.store.found_objects import judge_objects

            yield from judge_objects(chain([one], found), in_data)
            return
        if "data/" in path:
            in_data.append(hash(path if is_remote(path) else os.path.abspath(path)))
        yield one


def _keep_baseline(options: Options, written: Outputs) -> None:
    """Raise UsageError if an output would replace the baseline, unless it is the new baseline."""
    old, new = options.baseline, options.write_baseline
    if old is not None and (new is None or not is_same_file(old, new)):
        written.refuse(old)


def _wait_for_rows(rows: str, seconds: float, *, progress: bool) -> None:
    """Wait until a file that is to be followed has rows, and say so if progress is shown."""
    from evalstream.io.file import wait_for_rows

    name = on_one_line(printable(rows))
    text = f"waiting for the first row of {name}; --idle-timeout ends it after {seconds:g} s"
    wait_for_rows(rows, seconds, lambda: Progress(shown=progress).note(text))


def _check_alone(
    found: Run | NoInput,
    options: Options,
    show: Callable[[Finding], None],
    end_run: Callable[[RunSummary], None] | None,
    *,
    progress: bool,
) -> tuple[list[RunSummary], Totals]:
    """Check one run; its findings are shown as they come."""
    totals = Totals()
    with Progress(shown=progress) as bar:
        if isinstance(found, NoInput):
            from evalstream.batch.packing import check_planned
            from evalstream.batch.plan import PlannedRun

            _, summary, said = check_planned(options, PlannedRun(0, found, 0), bar)
            for finding in said:
                show(finding)
        elif options.sealing is not None:
            from evalstream.batch.sealing import seal_run

            request = options.sealing
            summary = seal_run(found, request, replace(options, sealing=None), show, bar)
        else:
            summary = check_any(found, options, show, bar)
    if end_run is not None:
        end_run(summary)
    totals.add(summary)
    return [] if summary.is_note else [summary], totals


def _part(shard: str | None, reporter: Reporter | None) -> tuple[Shard, PartReporter] | None:
    """Return a shard and what writes its part. Raises UsageError for another reporter."""
    if shard is None:
        return None
    from evalstream.batch.parts import PartReporter
    from evalstream.batch.shards import parse_shard

    ours = parse_shard(shard)
    if not isinstance(reporter, PartReporter):
        raise UsageError("a shard requires a PartReporter as its reporter")
    return ours, reporter
