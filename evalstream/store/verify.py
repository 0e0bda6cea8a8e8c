"""Verify a store: its snapshots, indexes and listing, and the bytes of chosen objects."""

from __future__ import annotations

import hashlib
import heapq
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

from evalstream.batch.plan import Shard
from evalstream.engine.row_pass import usable_cores
from evalstream.io.names import is_remote, printable
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck, describe_error
from evalstream.model.finding import Severity, Show
from evalstream.model.options import Options
from evalstream.model.run_summary import Checked, RunSummary
from evalstream.model.signals import STOPPING, Stopped
from evalstream.model.text import count_noun, suggestion
from evalstream.store.contents import (
    ContentResult,
    ContentTask,
    ListedContent,
    Listing,
    check_contents,
    find_missing,
)
from evalstream.store.files import StoreFiles, describe_failure, open_store, read_small
from evalstream.store.findings import StoreFindings
from evalstream.store.layout import ENTRIES, LATEST, RECORD, SAMPLES, Entry
from evalstream.store.memory import StoreMemory
from evalstream.store.object_table import CHOSEN, CURRENT, IN_DATA, SEEN, ObjectTable, pack_uuid
from evalstream.store.snapshot import Entries, read_snapshot
from evalstream.store.snapshots import CurrentSnapshot, SnapshotCheck

LEVELS: Final = ("manifest", "bytes", "rows")


class StoreRequest(NamedTuple):
    """How a store is verified: how deep, and which of its objects are read.

    `since` is a manifest: objects that its snapshot lists with the same content are not read.
    `sample` objects are chosen by `seed`. `acknowledged` are paths of data/ that may differ.
    """

    level: str = "bytes"
    since: str | None = None
    collections: tuple[str, ...] = ()
    sample: int | None = None
    seed: str = "0"
    acknowledged: frozenset[str] = frozenset()
    trusts_host: bool = False
    shard: Shard | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all objects are read."""
        limits = (self.since, self.sample, self.shard)
        return self.level != "manifest" and not self.collections and limits == (None, None, None)

    def describe(self) -> str:
        """Say which objects are read; "" for all."""
        shard = self.shard
        limits = [
            f"of {', '.join(self.collections)}" if self.collections else "",
            f"not in {self.since}" if self.since else "",
            f"shard {shard.number} of {shard.of}" if shard else "",
            "" if self.sample is None else f"a sample of {self.sample:,}, seed {self.seed}",
        ]
        return ", ".join(filter(None, limits))


class Choice:
    """Tells of each entry whether its files are read."""

    def __init__(self, request: StoreRequest) -> None:
        """Read the snapshot of `since`. Raises CannotCheck."""
        self._request = request
        self._since = read_snapshot(request.since).table if request.since is not None else None

    def takes(self, entry: Entry) -> bool:
        """Tell whether an entry is read, but for `draw`."""
        collections, since = self._request.collections, self._since
        if self._request.level == "manifest":
            return False
        if collections and entry.collection not in collections:
            return False
        if since is not None and is_listed(entry, since):
            return False
        return self._request.sample is not None or self._is_in_shard(entry.uuid)

    def draw(self, table: ObjectTable) -> None:
        """Leave out what is not in the sample, if one is asked for; shards share its records."""
        if self._request.sample is None:
            return
        taken = (uuid for uuid, one in table if one.flags(RECORD) & CHOSEN)
        sample = set(heapq.nsmallest(self._request.sample, taken, key=self._lot))
        for uuid, one in table:
            if uuid not in sample or not self._is_in_shard(uuid):
                one.leave_out()

    def _lot(self, uuid: str) -> bytes:
        return hashlib.sha256(f"{self._request.seed}/{uuid}".encode()).digest()

    def _is_in_shard(self, uuid: str) -> bool:
        shard = self._request.shard
        return shard is None or int.from_bytes(pack_uuid(uuid)[:8]) % shard.of == shard.number - 1


def is_listed(entry: Entry, table: ObjectTable) -> bool:
    """Tell whether a snapshot lists all files of an entry with the same content."""
    known = table.find(entry.uuid)
    return known is not None and all(known.content(one) == content for one, content in entry.files)


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

    def run(self, show: Show, ledger: str | None, *, overwrite: bool) -> RunSummary:
        """Verify the store, show the findings, and return the summary."""
        begin = time.monotonic()
        try:
            with ExitStack() as stack:
                if ledger is not None:
                    self._memory = StoreMemory(ledger, self.files, overwrite=overwrite)
                    stack.callback(self._memory.close)
                self._check()
        except Stopped as stopped:
            self.current = None
            self._summary.incomplete_reason = f"stopped by {stopped.name}"
        except (OSError, CannotCheck) as error:
            self.current = None
            self._findings.leave_open("", describe_failure(error, self.files.root))
        self._summary.seconds = time.monotonic() - begin
        self._findings.finish(self._summary, show)
        return self._summary

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
        known = current.entries.collections
        for name in sorted(set(self._request.collections) - known.keys()):
            reason = f"the store has no collection {printable(name)}{suggestion(name, known)}"
            self._findings.report("ES005", LATEST, reason)
            self._summary.incomplete_reason = reason
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
        """Report what is wrong with a file, and remember its digest. Raises CannotCheck."""
        self._read += result.digest is not None
        self._summary.bytes += result.bytes
        is_in_vain = result.unread is not None and is_remote(self.files.root)
        self._unread = self._unread + 1 if is_in_vain else 0
        if self._unread >= _MOST_UNREAD:
            # A host that answers nothing lets each file be waited for in vain.
            raise CannotCheck(f"{self._unread} files in a row cannot be read; the check ends here")
        if result.unread is not None:
            self._findings.leave_open(result.path, result.unread)
        for one in result.violations:
            if one.code == "ES927":
                values = {"expected": one.expected, "found": one.found}
                self._report_drift(result.path, one.message, one.severity, **values)
            else:
                self._findings.add(one, result.path)
        if self._memory is not None and result.digest is not None and result.mark is not None:
            self._memory.record(result.path, result.mark, result.digest)

    def _report_missing(self, current: CurrentSnapshot, listing: Listing) -> None:
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
            message = "the path is acknowledged, and no file at it differs"
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
            if not chosen and request.shard is not None and request.since is None:
                reason = f"no entry is in {which}, so no contents were checked"
                self._summary.incomplete_reason = self._summary.incomplete_reason or reason
        self._summary.checked = tuple(parts)


def verify_manifest(path: str, options: Options, show: Show) -> RunSummary:
    """Verify one manifest and the entries beside it, or in its store where it is the latest."""
    folder, _, name = path.rpartition("/")
    files = open_store(folder or ".")
    findings = StoreFindings(options, files.join)
    summary = RunSummary(printable(path), None, "store", noun="record")
    check = SnapshotCheck(files, ObjectTable(), findings)
    try:
        manifest = check.parse(read_small(files, name), "ES920", name)
        if manifest is not None:
            below = f"manifests/sha256_{manifest.core}/" if path.endswith(LATEST) else ""
            summary.rows = check.read_current(f"{below}{ENTRIES}", manifest, name).count
            text = "the manifest and its entries checked, and nothing else"
            summary.checked = (Checked(text, None),)
    except (OSError, CannotCheck) as error:
        findings.leave_open(name, describe_error(error))
    findings.finish(summary, show)
    return summary
