"""Verify a store: its snapshots, indexes and listing, and the bytes of its objects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Final

from evalstream.engine.row_pass import usable_cores
from evalstream.io.names import is_remote, printable
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Finding, Severity
from evalstream.model.options import Options
from evalstream.model.run_summary import Checked, RunSummary
from evalstream.model.signals import STOPPING, Stopped
from evalstream.model.text import count_noun
from evalstream.store.choice import Choice, StoreRequest
from evalstream.store.contents import ContentResult, ContentTask, check_contents
from evalstream.store.files import StoreFiles, open_store, read_small
from evalstream.store.findings import StoreFindings
from evalstream.store.layout import ENTRIES, LATEST, RECORD, SAMPLES, Entry
from evalstream.store.listing import ListedContent, Listing, find_missing
from evalstream.store.object_table import CHOSEN, CURRENT, IN_DATA, SEEN, ObjectTable
from evalstream.store.snapshot import Entries, parse_manifest
from evalstream.store.snapshots import CurrentSnapshot, SnapshotCheck

if TYPE_CHECKING:
    from evalstream.store.memory import StoreMemory


_MOST_UNREAD: Final = 20
"""How many files in a row may fail on a host before the check ends."""


class StoreCheck:
    """The check of one store; `table` is complete after it, and `current` None if it broke off."""

    def __init__(self, root: str, request: StoreRequest, options: Options) -> None:
        self.files: StoreFiles = open_store(root)
        self.table = ObjectTable()
        self.current: CurrentSnapshot | None = None
        self._findings = StoreFindings(options, self.files.join)
        self._request, self._options = request, options
        self._memory: StoreMemory | None = None
        self._differing: set[str] = set()
        self._read = self._remembered = self._trusted = self._unread = 0
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
            self.current = None
            self._summary.incomplete_reason = f"stopped by {stopped.name}"
        except (OSError, CannotCheck) as error:
            self.current = None
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
        listing, choice = Listing(self.files), Choice(self._request)
        snapshots = SnapshotCheck(self.files, self.table, self._findings, choice.takes)
        current = snapshots.run(listing)
        if isinstance(current, str):
            self._summary.incomplete_reason = current
            return
        self.current = current
        self._summary.rows = current.entries.count
        if self._memory is not None:
            snapshots.compare_accepted(self._memory, current.entries_path)
        choice.draw(self.table)
        tasks = self._tasks(listing)
        for result in check_contents(self.files, tasks, self._options.jobs or usable_cores()):
            STOPPING.check()
            self._take(result)
        self._report_missing(current, listing)
        self._report_stale()
        if not self.files.is_pinned and read_small(self.files, LATEST) != current.text:
            message = "the latest manifest changed during the check"
            self._findings.report("ES931", LATEST, message)
        self._describe()
        is_sound = not self._findings.has_errors and self._findings.open_reason is None
        if self._memory is not None and self._request.is_whole and is_sound:
            self._memory.accept(self.table)

    def _tasks(self, listing: Listing) -> Iterator[ContentTask]:
        """Join the listing with the table, and yield the chosen files that must be read."""
        needs_mark, level = self._memory is not None, self._request.level
        for file in listing.join(self.table, self._findings, self._report_drift):
            known = self._find_known(file)
            is_trusted = known is None and self._is_twin_by_host(file)
            self._trusted += is_trusted
            if not is_trusted:
                yield ContentTask(file, known, needs_mark, level == "rows")

    def _find_known(self, file: ListedContent) -> str | None:
        """Return the digest of a file that need not be read."""
        needs_mark = self._memory is not None or self._request.trusts_host
        mark = self.files.mark(file.path) if needs_mark else None
        if mark is None:
            return None
        digest = self._memory.find(file.path, mark) if self._memory is not None else None
        self._remembered += digest is not None
        kind, _, text = mark.partition(":")
        if digest is None and self._request.trusts_host and kind == "sha256":
            self._trusted += 1
            return text
        return digest

    def _is_twin_by_host(self, file: ListedContent) -> bool:
        """Tell whether a trusted host has the same bytes as the object for a file of data/."""
        if not self._request.trusts_host or file.object is None:
            return False
        mark = self.files.mark(file.path)
        return mark is not None and mark == self.files.mark(file.object)

    def takes(self, entry: Entry) -> bool:
        """Tell whether an entry is chosen, and its objects are there."""
        record = self.table.find(entry.uuid)
        if record is None or not record.flags(RECORD) & CHOSEN:
            return False
        return all(record.flags(ending) & SEEN for ending, _ in entry.files)

    def _take(self, result: ContentResult) -> None:
        """Report the faults of a file, and remember its digest."""
        self._read += result.digest is not None
        self._summary.bytes += result.bytes
        self._count_unread(result)
        for one in result.faults:
            if one.code == "ES001":
                self._findings.leave_open(one.path, one.message)
            elif one.code == "ES927":
                severity = Severity.INFO if one.is_info else None
                self._report_drift(one.path, one.message, severity, **one.details)
            else:
                self._findings.report(one.code, one.path, one.message, **one.details)
        if self._memory is not None and result.digest is not None and result.mark is not None:
            self._memory.record(result.path, result.mark, result.digest)

    def _count_unread(self, result: ContentResult) -> None:
        """Raise CannotCheck for a host that answers nothing: each file is waited for in vain."""
        is_unread = any(one.code == "ES001" for one in result.faults)
        self._unread = self._unread + 1 if is_unread and is_remote(self.files.root) else 0
        if self._unread >= _MOST_UNREAD:
            raise CannotCheck(f"{self._unread} files in a row cannot be read; the check ends here")

    def _report_missing(self, current: CurrentSnapshot, listing: Listing) -> None:
        """Report objects and files of data/ that are listed by entries alone."""
        for path in find_missing(self.table):
            self._findings.report("ES923", path, "the object is missing")
        if not listing.has_data and current.entries.count:
            message = "the store has no data/, which the entries list"
            self._findings.report("ES927", "data", message)
        elif any(self.table.count(ending, CURRENT, IN_DATA) for ending in (RECORD, SAMPLES)):
            for _, entry in Entries(self.files, current.entries_path):
                record = self.table.find(entry.uuid)
                for ending, _ in entry.files:
                    if record is None or not record.flags(ending) & IN_DATA:
                        message = "the file that the entry lists is missing"
                        self._report_drift(entry.data_path(ending), message)

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
        level, request = self._request.level, self._request
        parts = [Checked("manifests, entries, indexes and listing checked", True)]
        if level == "manifest":
            parts.append(Checked("no object read", None))
        else:
            which = request.describe()
            chosen = self.table.count(RECORD, CURRENT | CHOSEN)
            of = f"{chosen:,} of {count_noun(self._summary.rows, 'entry', 'entries')}"
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
        check = SnapshotCheck(files, ObjectTable(), findings)
        summary.rows = check.read_current(f"{below}{ENTRIES}", manifest, name).count
        summary.checked = (Checked("the manifest and its entries checked, and nothing else", None),)
    except ValueError as error:
        findings.report("ES920", name, f"the manifest cannot be followed: {error}")
    except (OSError, CannotCheck) as error:
        findings.leave_open(name, getattr(error, "strerror", None) or str(error))
    findings.finish(summary, show)
    return summary
