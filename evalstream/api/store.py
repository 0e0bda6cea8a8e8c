"""Verify a public store and the pairs in it, and admit files to it, as the command line does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from evalstream.api.arguments import Input
from evalstream.api.reports import FindingSink, Report
from evalstream.batch.batch import check_many
from evalstream.batch.plan import parse_shard
from evalstream.discovery.inputs import find_all
from evalstream.formats.registry import MAIN_CATALOGUE
from evalstream.io.containment import FolderBoundary, OutsideFolder
from evalstream.io.names import is_remote, printable
from evalstream.io.overwriting import ledger_files
from evalstream.model.data_class import replace
from evalstream.model.errors import CannotCheck, UsageError
from evalstream.model.finding import Show
from evalstream.model.options import Options
from evalstream.model.report import RunSequence, Totals
from evalstream.model.run import Run
from evalstream.model.run_summary import Checked, RunSummary
from evalstream.reporters.base import Reporter
from evalstream.rules.catalogue import DATASTORE, DEFAULT, FLAT
from evalstream.settings.options import checked_options
from evalstream.store.admit import Admission, changed_names
from evalstream.store.files import StoreFiles, describe_failure, list_files, open_store
from evalstream.store.findings import StoreFindings
from evalstream.store.layout import LATEST, MANIFESTS, RECORD, SAMPLES, object_path
from evalstream.store.snapshot import Entries
from evalstream.store.verify import LEVELS, StoreCheck, StoreRequest, verify_manifest


def verify(
    root: Input,
    *,
    level: str | None = None,
    ledger: Input | None = None,
    since: str | None = None,
    collections: Sequence[str] = (),
    sample: int | None = None,
    seed: str = "0",
    acknowledged: Input | None = None,
    trust_host_digests: bool = False,
    shard: str | None = None,
    outputs: Iterable[Input] = (),
    overwrite: bool = False,
    options: Options | None = None,
    reporter: Reporter | None = None,
    progress: bool = False,
) -> Report:
    """Verify a store, by its folder or URL, or one manifest; the keywords are the options.

    Raises UsageError for a call that makes no sense. What is wrong with the store, or cannot be
    read, is in the report.
    """
    options = checked_options(options or Options(), has_store=True)
    findings, path = FindingSink(reporter), os.fspath(root)
    totals = Totals()
    memory = None if ledger is None else os.fspath(ledger)
    _refuse_inside(path, [*ledger_files(memory), *[os.fspath(one) for one in outputs]])
    request = StoreRequest(
        level or "bytes",
        since,
        tuple(collections),
        sample,
        seed,
        read_acknowledged(acknowledged),
        trust_host_digests,
        None if shard is None else parse_shard(shard),
    )
    _check_request(request)
    is_manifest = path.endswith(".json") and (is_remote(path) or os.path.isfile(path))
    if is_manifest:
        if request._replace(level="bytes") != StoreRequest() or level not in (None, LEVELS[0]):
            raise UsageError("one manifest is verified at --level manifest, without limits")
        runs: Sequence[RunSummary] = [verify_manifest(path, options, findings.show)]
        totals.add(runs[0])
        return findings.report(options, runs, totals)
    store = StoreCheck(path, request, options)
    runs = [store.run(findings.show, memory, overwrite=overwrite)]
    if request.level == "rows" and store.current is not None:
        pairs, totals = check_pairs(store, options, findings.show, ledger=memory, progress=progress)
        runs = StoreRuns(runs[0], pairs)
    totals.add(runs[0])
    if len(runs) > 1:
        totals.rows -= runs[0].rows  # its records are not rows
    return findings.report(options, runs, totals)


def admit(
    changed: Sequence[str],
    store: Input,
    *,
    outputs: Iterable[Input] = (),
    options: Options | None = None,
    reporter: Reporter | None = None,
    progress: bool = False,
) -> Report:
    """Judge whether files may enter a store: names relative to the current folder, or one URL.

    A URL is that of a request, of which all files are taken that differ from the store's. Raises
    UsageError for a call that makes no sense.
    """
    options = checked_options(options or Options(), has_store=True)
    options = replace(options, profile=DATASTORE)
    findings, root = FindingSink(reporter), os.fspath(store)
    _refuse_inside(root, [os.fspath(one) for one in outputs])
    is_url = any(map(is_remote, changed))
    if is_url and len(changed) > 1:
        raise UsageError("a request by its URL is admitted alone")
    for name in () if is_url else changed:
        if os.path.isdir(name) and not os.path.islink(name):
            raise UsageError(f"{printable(name)} is a folder; name the files that changed")
    accepted, request = open_store(root), open_store(changed[0] if is_url else os.curdir)

    def join(path: str) -> str:
        is_of_store = not path or path.startswith((LATEST, MANIFESTS))
        return (accepted if is_of_store else request).join(path)

    found = StoreFindings(options, join)
    summary = RunSummary(printable(root), None, "store", noun="record")
    runs: Sequence[RunSummary] = ()
    totals = Totals()
    try:
        listing, names = list_files(accepted), list(changed)
        if is_url:
            names = [*changed_names(request, accepted, listing)]
        boundary = FolderBoundary(os.curdir)
        admission = Admission(request, accepted, listing, names, found)
        admission.run(partial(_find_remote, request) if is_url else partial(_find_local, boundary))
        summary.checked, summary.rows = (Checked(admission.describe(), True),), admission.records
        if admission.to_check:
            inputs = [request.join(name) for name in admission.to_check]
            found_runs = find_all(inputs, None, None, options)
            runs, totals = check_many(found_runs, options, findings.show, progress=progress)
    except (OSError, ValueError, CannotCheck) as error:
        found.leave_open("", describe_failure(error, root))
    found.finish(summary, findings.show)
    totals.add(summary)
    totals.rows -= summary.rows  # its records are not rows
    return findings.report(options, StoreRuns(summary, runs), totals)


def _find_remote(request: StoreFiles, name: str) -> str | None:
    return None if request.mark(name) is None else name


def _find_local(boundary: FolderBoundary, name: str) -> str | None:
    """Return the path of a file below a folder, "" where a link leads out of it."""
    try:
        return boundary.file_at(name)
    except OutsideFolder:
        return ""


def read_acknowledged(path: Input | None) -> frozenset[str]:
    """Return the paths that a file lists, one a line, without comments. Raises UsageError."""
    if path is None:
        return frozenset()
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise UsageError(f"{printable(os.fspath(path))} cannot be read: {reason}") from error
    return frozenset(line for line in lines if line and not line.startswith("#"))


def _check_request(request: StoreRequest) -> None:
    if request.level not in LEVELS:
        raise UsageError(f"unknown level: {request.level}; the levels are {', '.join(LEVELS)}")
    if request.sample is not None and request.sample < 1:
        raise UsageError("--sample must be at least 1")
    limits = request._replace(acknowledged=frozenset(), level="manifest")
    if request.level == "manifest" and limits != StoreRequest("manifest"):
        raise UsageError(
            "--since, --collection, --sample, --shard and --trust-host-digests limit which objects "
            "are read; --level manifest reads none"
        )
    if request.sample is None and request.seed != StoreRequest().seed:
        raise UsageError("--seed requires --sample; add it")


def _refuse_inside(root: str, outputs: Iterable[str]) -> None:
    """Raise UsageError for an output among the files of the store."""
    if is_remote(root):
        return
    folders = [os.path.realpath(os.path.join(root, name)) + os.sep for name in ("flat", "data")]
    for output in outputs:
        if os.path.realpath(output).startswith(tuple(folders)):
            raise UsageError(f"output {printable(output)} would be among the files of the store")


def check_pairs(
    store: StoreCheck, options: Options, show: Show, *, ledger: str | None, progress: bool
) -> tuple[Sequence[RunSummary], Totals]:
    """Check the chosen pairs of a store that was verified, under the profile `flat` by default."""
    if options.profile == DEFAULT:
        options = replace(options, profile=FLAT)
    enabled = MAIN_CATALOGUE.selection(options).enabled
    if all(MAIN_CATALOGUE[code].in_store for code in enabled):
        return (), Totals()
    return check_many(find_pairs(store), options, show, ledger=ledger, progress=progress)


def find_pairs(store: StoreCheck) -> Iterator[Run]:
    """Iterate over the chosen pairs whose objects are there."""
    if store.current is None:
        return
    join = store.files.join
    for _, entry in Entries(store.files, store.current.entries_path):
        if not store.takes(entry):
            continue
        rows = join(object_path(entry.uuid, SAMPLES)) if entry.companion is not None else None
        size = entry.companion.size if entry.companion is not None else None
        aggregate = join(object_path(entry.uuid, RECORD))
        yield Run(rows, aggregate, size=size, legacy_path=entry.legacy_path)


class StoreRuns(RunSequence):
    """The summary of a store, and those of its pairs, which may be on disk."""

    def __init__(self, store: RunSummary, pairs: Sequence[RunSummary]) -> None:
        self._store, self._pairs = store, pairs

    def __len__(self) -> int:
        return 1 + len(self._pairs)

    def __iter__(self) -> Iterator[RunSummary]:
        yield self._store
        yield from self._pairs

    def read_run(self, index: int) -> RunSummary:
        """Return the run at an index from 0."""
        return self._store if index == 0 else self._pairs[index - 1]
