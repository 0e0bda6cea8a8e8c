"""Verify a store: its snapshots, indexes and listing, and the bytes of its objects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING

from evalstream.engine.block_tasks import usable_cores
from evalstream.io.names import printable
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Finding, Severity
from evalstream.model.options import Options
from evalstream.model.report import Checked, RunSummary
from evalstream.model.signals import STOPPING, Stopped
from evalstream.model.text import count_noun
from evalstream.store.choice import Choice, StoreRequest
from evalstream.store.contents import ContentResult, ContentTask, check_contents
from evalstream.store.files import StoreFiles, open_store, read_small
from evalstream.store.findings import StoreFindings
from evalstream.store.layout import ENTRIES, LATEST, RECORD, SAMPLES, Content, Entry, object_path
from evalstream.store.listing import Listing, Tables
from evalstream.store.object_table import CURRENT, IN_DATA, SEEN, ObjectTable
from evalstream.store.snapshot import Entries, parse_manifest
from evalstream.store.snapshots import CurrentSnapshot, SnapshotCheck

if TYPE_CHECKING:
    from evalstream.store.memory import StoreMemory


class StoreCheck:
    """The check of one store; `tables` and `current` are complete after it."""

    def __init__(self, root: str, request: StoreRequest, options: Options) -> None:
        self.files: StoreFiles = open_store(root)
        self.tables = Tables(ObjectTable(), ObjectTable())
        self.current: CurrentSnapshot | None = None
        self._findings = StoreFindings(options, self.files.join)
        self._request, self._options = request, options
        self._memory: StoreMemory | None = None
        self._differing: set[str] = set()
        self._objects = self._read = self._remembered = self._trusted = 0
        self._summary = RunSummary(printable(root), None, "store", noun="record")

    def run(
        self, show: Callable[[Finding], None], ledger: str | None, *, overwrite: bool
    ) -> RunSummary:
        """Verify the store, show the findings, and return the summary."""
        begin = time.monotonic()
        try:
            with self._open_memory(ledger, overwrite=overwrite) as self._memory:
                self._check()
        except Stopped as stopped:
            self._summary.incomplete_reason = f"stopped by {stopped.name}"
        except (OSError, CannotCheck) as error:
            self._findings.leave_open("", getattr(error, "strerror", None) or str(error))
        self._summary.seconds = time.monotonic() - begin
        self._findings.finish(self._summary, show)
        return self._summary

    def _open_memory(
        self, ledger: str | None, *, overwrite: bool
    ) -> closing[StoreMemory] | nullcontext[None]:
        if ledger is None:
            return nullcontext()
        from evalstream.store.memory import StoreMemory

        return closing(StoreMemory(ledger, self.files, overwrite=overwrite))

    def _check(self) -> None:
        listing = Listing(self.files)
        snapshots = SnapshotCheck(self.files, self.tables, self._findings)
        current = snapshots.run(listing)
        if isinstance(current, str):
            self._summary.incomplete_reason = current
            return
        self.current = current
        self._summary.rows = current.entries.count
        if self._memory is not None:
            snapshots.compare_accepted(self._memory, current.entries_path)
        listing.join(self.tables, self._findings, self._report_drift)
        self._choice = Choice(self._request, self.tables)
        tasks = self._tasks(current, has_data=listing.has_data)
        for result in check_contents(self.files, tasks, self._options.jobs or usable_cores()):
            STOPPING.check()
            self._take(result)
        self._report_stale()
        if not self.files.is_pinned and read_small(self.files, LATEST) != current.text:
            message = "the latest manifest changed during the check"
            self._findings.report("ES931", LATEST, message)
        self._describe()
        is_sound = not self._findings.has_errors and self._findings.open_reason is None
        if self._memory is not None and self._request.is_whole and is_sound:
            self._memory.accept(current.manifest.core, self.tables)

    def _tasks(self, current: CurrentSnapshot, *, has_data: bool) -> Iterator[ContentTask]:
        """Report objects and files of data/ that are not there, and yield what is to be read."""
        if not has_data:
            message = "the store has no data/, which the entries list"
            self._findings.report("ES927", "data", message)
        for _, entry in Entries(self.files, current.entries_path):
            is_chosen = self._request.level != "manifest" and self._choice.takes(entry)
            self._objects += is_chosen
            for ending, content in entry.files:
                record = self.tables.of(ending).find(entry.uuid)
                flags = record.flags if record is not None else 0
                task = self._task(entry, ending, content, flags)
                if has_data and not flags & IN_DATA:
                    message = "the file that the entry lists is missing"
                    self._report_drift(entry.data_path(ending), message)
                if self._is_there(flags, task.object) and is_chosen:
                    yield task
        for ending in (RECORD, SAMPLES):
            for uuid, record in self.tables.of(ending):
                if record.flags & CURRENT:
                    continue
                path = object_path(uuid, ending)
                is_chosen = self._request.level != "manifest" and self._choice.takes_uuid(uuid)
                if self._is_there(record.flags, path) and is_chosen:
                    yield ContentTask(path, None, record.content, self._find_known(path))

    def takes(self, entry: Entry) -> bool:
        """Tell whether an entry is chosen, and its files are there."""
        tables = [self.tables.of(ending) for ending, _ in entry.files]
        found = [table.find(entry.uuid) for table in tables]
        return self._choice.takes(entry) and all(one and one.flags & SEEN for one in found)

    def _is_there(self, flags: int, path: str) -> bool:
        if not flags & SEEN:
            self._findings.report("ES923", path, "the object is missing")
        return bool(flags & SEEN)

    def _task(self, entry: Entry, ending: str, content: Content, flags: int) -> ContentTask:
        path, data = object_path(entry.uuid, ending), entry.data_path(ending)
        version = entry.version if self._request.level == "rows" and ending == RECORD else None
        if self._request.level == "manifest":
            return ContentTask(path, None, content, {})
        there = data if flags & IN_DATA else None
        known = self._find_known(path, *([data] if there else []))
        is_twin = self._request.trusts_host and there and data not in known
        marks = {self.files.mark(one) for one in (path, data)} if is_twin else set()
        are_equal = len(marks) == 1 and None not in marks
        self._trusted += are_equal
        return ContentTask(path, there, content, known, are_equal, version)

    def _find_known(self, *paths: str) -> dict[str, str]:
        """Return the digests of files that need not be read."""
        known = {}
        for path in paths:
            digest = self._memory.find(path) if self._memory is not None else None
            self._remembered += digest is not None
            if digest is None and self._request.trusts_host:
                kind, _, mark = (self.files.mark(path) or "").partition(":")
                digest = mark if kind == "sha256" else None
                self._trusted += digest is not None
            if digest is not None:
                known[path] = digest
        return known

    def _take(self, result: ContentResult) -> None:
        """Report the faults of a task, and remember the digests."""
        self._read += len(result.digests)
        self._summary.bytes += result.bytes
        for one in result.faults:
            if one.code == "ES001":
                self._findings.leave_open(one.path, one.message)
            elif one.code == "ES927":
                severity = Severity.INFO if one.is_info else None
                self._report_drift(one.path, one.message, severity, **one.details)
            else:
                self._findings.report(one.code, one.path, one.message, **one.details)
        if self._memory is not None:
            for path, digest in result.digests.items():
                self._memory.record(path, digest)

    def _report_drift(
        self, path: str, message: str, severity: Severity | None = None, **details: object
    ) -> None:
        """Report a file of data/ that differs, as an info where it is acknowledged."""
        if path in self._request.acknowledged:
            self._differing.add(path)
            self._findings.report("ES930", path, f"acknowledged: {message}", **details)
        else:
            self._findings.report("ES927", path, message, severity=severity, **details)

    def _report_stale(self) -> None:
        """Report acknowledged paths that do not differ, once all contents were compared."""
        if not self._request.is_whole:
            return
        for path in sorted(self._request.acknowledged - self._differing):
            message = "the path is acknowledged, and the file does not differ"
            self._findings.report("ES930", path, message, severity=Severity.WARNING)

    def _describe(self) -> None:
        """Say what was verified, and what was not."""
        level, request = self._request.level, self._request
        parts = [Checked("manifests, entries, indexes and listing checked", True)]
        if level == "manifest":
            parts.append(Checked("no object read", None))
        else:
            which = request.describe()
            of = f"{self._objects:,} of {count_noun(self._summary.rows, 'entry', 'entries')}"
            text = f"contents of {of} checked{f' ({which})' if which else ''}: "
            text += f"{count_noun(self._read, 'file')} hashed"
            if self._remembered:
                text += f", {self._remembered:,} unchanged since the ledger's check"
            if self._trusted:
                text += f", {self._trusted:,} not read: the host's digests are trusted"
            parts.append(Checked(text, True if request.is_whole else None))
        self._summary.checked = tuple(parts)


def verify_manifest(path: str, options: Options, show: Callable[[Finding], None]) -> RunSummary:
    """Verify one manifest and the entries beside it, or in its store where it is the latest."""
    folder, _, name = path.rpartition("/")
    files = open_store(folder or ".")
    findings = StoreFindings(options, files.join)
    summary = RunSummary(printable(path), None, "store", noun="record")
    try:
        manifest = parse_manifest(read_small(files, name))
        below = f"manifests/sha256_{manifest.core}/" if path.endswith(LATEST) else ""
        for message, details in manifest.faults:
            findings.report("ES920", name, message, **details)
        check = SnapshotCheck(files, Tables(ObjectTable(), ObjectTable()), findings)
        summary.rows = check.read_current(f"{below}{ENTRIES}", manifest, name).count
        summary.checked = (Checked("the manifest and its entries checked, and nothing else", None),)
    except ValueError as error:
        findings.report("ES920", name, f"the manifest cannot be followed: {error}")
    except (OSError, CannotCheck) as error:
        findings.leave_open(name, getattr(error, "strerror", None) or str(error))
    findings.finish(summary, show)
    return summary
