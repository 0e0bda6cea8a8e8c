"""Check the inputs of a call: find their runs, and check one alone or many as a batch."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeGuard

from evalstream.api.reports import FindingSink, Report
from evalstream.batch.single import check_any
from evalstream.discovery.inputs import AUTO, find_all, without_overlap
from evalstream.engine.routing import check_routing, refuse_foreign, routed_files
from evalstream.formats.registry import FORMATS
from evalstream.io.file import wait_for_rows
from evalstream.io.names import is_remote, printable
from evalstream.io.overwriting import Outputs, is_same_file, ledger_files
from evalstream.io.progress import Progress
from evalstream.model.data_class import replace
from evalstream.model.errors import UsageError
from evalstream.model.finding import Show
from evalstream.model.options import Options, RowRouting
from evalstream.model.report import Totals
from evalstream.model.run import MAIN_FORMAT, STDIN, NoInput, Run
from evalstream.model.run_summary import RunSummary
from evalstream.model.text import on_one_line
from evalstream.reporters.base import Reporter
from evalstream.settings.options import checked_options

if TYPE_CHECKING:
    from evalstream.api.arguments import Input
    from evalstream.batch.parts import PartReporter
    from evalstream.batch.plan import FolderPartition, Shard


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
    named = aggregate is not None or inputs_file is not None
    shared = None if part is None or named else _divide(inputs, options, written, part[0])
    choose = partial(
        _choose_check,
        *(found, options),
        ledger=ledger,
        overwrite=overwrite,
        part=part,
        partition=shared,
        progress=progress,
    )
    try:
        if options.has_baseline:
            from evalstream.batch.baseline.baseline import Baseline

            with closing(Baseline(options, findings.show, overwrite=overwrite)) as known:
                # It compares all findings with their values, and then limits how many it shows.
                every = replace(options, max_findings=0, show_values=True)
                runs, totals = choose()(every, known.add, end_run=known.end_run)
                return findings.report(options, runs, totals, known.finish(totals))
        if ledger is not None and not (part or named) and _is_repeatable(inputs, options, written):
            from evalstream.batch.ledger.repeated_call import CallMemory

            memory = CallMemory(ledger, inputs, options)
            outcome = memory.check(lambda show: choose()(options, show), findings.show)
        else:
            outcome = choose()(options, findings.show)
        return findings.report(options, *outcome)
    finally:
        if options.executor == "dask":
            from evalstream.executors.dask.backend import leave

            leave()


def _is_repeatable(
    inputs: Iterable[str], options: Options, written: Outputs
) -> TypeGuard[list[str]]:
    """Tell whether all inputs are folders whose files alone decide the report of a call."""
    return (
        _are_folders(inputs, options, written)
        and options.executor != "dask"
        and not options.exclude
        # The entries of a public store, which give paths, lie in another folder than its objects.
        and not any("flat" in os.path.abspath(path).split(os.sep) for path in inputs)
    )


def _are_folders(inputs: Iterable[str], options: Options, written: Outputs) -> TypeGuard[list[str]]:
    """Tell whether all inputs are local folders, without an output, and no option takes one run."""
    return (
        isinstance(inputs, list)
        and not _of_one_run(options)
        and not any(map(is_remote, inputs))
        and all(map(os.path.isdir, inputs))
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
        if ledger is not None or shard is not None:
            raise UsageError("--attestation cannot be combined with --ledger and --shard")
        from evalstream.attestation.verification import open_attestation

        open_attestation(options)
    if options.has_baseline and shard is not None:
        raise UsageError("--shard cannot be combined with --baseline and --write-baseline")
    if options.has_baseline and ledger is not None and not options.show_values:
        raise UsageError(
            "--no-values and --ledger cannot be combined with --baseline and --write-baseline: the "
            "ledger would hold values"
        )


def _choose_check(
    found: Iterator[Run | NoInput],
    options: Options,
    *,
    ledger: str | None,
    overwrite: bool,
    part: tuple[Shard, PartReporter] | None,
    partition: FolderPartition | None = None,
    progress: bool,
) -> Callable[..., tuple[Sequence[RunSummary], Totals]]:
    """Return what checks one run alone, or many as a batch, with options and where findings go.

    Its keyword `end_run` may change the summary of each run.
    """
    if options.sealing is not None:
        found = _to_seal(found)
    # With a partition a shard may need no search.
    first = list(islice(found, 2 if partition is None else 0))
    refuse_foreign(options.routing)
    for name, value in _of_one_run(options):
        _check_one_run(name, value, first, options, alone=ledger is None and part is None)
    is_alone = len(first) == 1 and ledger is None and part is None
    if is_alone and not _is_for_cluster(options):
        return partial(_check_alone, first[0], progress=progress)
    from evalstream.batch.batch import check_many

    return partial(
        check_many,
        chain(first, found),
        ledger=ledger,
        overwrite=overwrite,
        shard=part,
        partition=partition,
        progress=progress,
    )


def _divide(
    inputs: Iterable[str], options: Options, written: Outputs, shard: Shard
) -> FolderPartition | None:
    """Divide the one folder that is checked by names, or return None if all must be searched."""
    from evalstream.batch.plan import partition_folder

    is_main = options.input_format in (AUTO, MAIN_FORMAT)
    if not is_main or not _are_folders(inputs, options, written) or len(inputs) != 1:
        return None
    return partition_folder(inputs[0], options.exclude, shard)


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
        if not isinstance(run, Run):
            continue
        if run.rows == STDIN or options.routing.follow:
            raise UsageError(f"{name} needs rows in a file: they are read a second time")
        if name != "--source" and not FORMATS[run.format].has_answers:
            reason = "their answers are not read a second time; compare checksums of the files"
            raise UsageError(f"{name} does not go with files of {run.format}: {reason}")


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
    if not written and options.routing == RowRouting():
        return found
    # Most calls write no file that they may read.
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
    name = on_one_line(printable(rows))
    text = f"waiting for the first row of {name}; --idle-timeout ends it after {seconds:g} s"
    wait_for_rows(rows, seconds, lambda: Progress(shown=progress).note(text))


def _check_alone(
    found: Run | NoInput,
    options: Options,
    show: Show,
    *,
    end_run: Callable[[RunSummary], None] | None = None,
    progress: bool,
) -> tuple[list[RunSummary], Totals]:
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
    from evalstream.batch.plan import parse_shard

    ours = parse_shard(shard)
    if not isinstance(reporter, PartReporter):
        raise UsageError("a shard requires a PartReporter as its reporter")
    return ours, reporter
