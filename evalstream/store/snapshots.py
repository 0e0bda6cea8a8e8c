"""Check the snapshots of a store: manifests, entries and indexes, and one content for each UUID."""

from __future__ import annotations

from collections.abc import Callable

from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Severity, Violation
from evalstream.store import layout
from evalstream.store.contents import Listing
from evalstream.store.files import StoreFiles, hash_file, read_small
from evalstream.store.findings import StoreFindings
from evalstream.store.memory import StoreMemory
from evalstream.store.object_table import CHOSEN, CURRENT, LISTED, ObjectTable
from evalstream.store.snapshot import PREFIX, Entries, Manifest, parse_manifest


class CurrentSnapshot(NamedTuple):
    """The latest snapshot: its manifest and its bytes, and where its entries are."""

    manifest: Manifest
    text: bytes
    entries_path: str
    entries: Entries


class SnapshotCheck:
    """Reads all kept snapshots into a table, and reports what contradicts them."""

    def __init__(
        self,
        files: StoreFiles,
        table: ObjectTable,
        findings: StoreFindings,
        choose: Callable[[layout.Entry], bool] = lambda _: False,
    ) -> None:
        """Take what is called with each entry, once, and tells whether its files are read."""
        self._files, self._table, self._findings = files, table, findings
        self._choose = choose

    def run(self, listing: Listing) -> CurrentSnapshot | str:
        """Check the snapshots and indexes of a store; without latest entries return the reason."""
        if not listing.has_latest:
            self._findings.report("ES005", layout.LATEST, "the store has no latest manifest")
            return f"it has no latest manifest ({layout.LATEST})"
        text = read_small(self._files, layout.LATEST)
        manifest = self.parse(text, "ES920", layout.LATEST)
        if manifest is None:
            return "its latest manifest cannot be followed"
        claimed = f"{PREFIX}{manifest.members.get('manifest_core_sha256')}"
        is_claimed = manifest.folder not in listing.snapshots and claimed in listing.snapshots
        folder = claimed if is_claimed else manifest.folder
        kept = listing.snapshots.get(folder, set())
        if layout.MANIFEST not in kept:
            message = "the versioned copy of the latest manifest is missing"
            self._findings.report("ES920", layout.LATEST, message)
        elif read_small(self._files, f"{folder}/{layout.MANIFEST}") != text:
            message = "the latest manifest differs from its versioned copy"
            self._findings.report("ES920", layout.LATEST, message)
        path = f"{folder}/{layout.ENTRIES}"
        if layout.ENTRIES not in kept:
            self._findings.report("ES921", path, "the entries of the latest manifest are missing")
            return "the entries of its latest manifest are missing"
        current = CurrentSnapshot(manifest, text, path, self.read_current(path, manifest))
        for other in sorted(listing.snapshots.keys() - {folder}):
            self._check_older(other, listing.snapshots[other], manifest)
        self._check_indexes(listing, current.entries)
        return current

    def parse(self, text: bytes, code: str, path: str) -> Manifest | None:
        """Return a manifest, and report its faults; None where it cannot be followed."""
        try:
            manifest = parse_manifest(text)
        except ValueError as error:
            self._findings.report(code, path, f"the manifest cannot be followed: {error}")
            return None
        for message, details in manifest.faults:
            self._findings.report(code, path, message, **details)
        return manifest

    def read_current(self, path: str, manifest: Manifest, at: str = layout.LATEST) -> Entries:
        """Read entries into the table, and compare them with their manifest, which is `at`."""
        report, add = self._findings.report, self._findings.add
        entries = Entries(self._files, path, lambda violation, line: add(violation, path, line))
        for line, entry in entries:
            if self._table.add(entry, LISTED | CURRENT | CHOSEN * self._choose(entry)) is not None:
                message = "another entry has the same UUID"
                details = {"pointer": "/object_uuid", "found": entry.uuid, "line": line}
                report("ES922", path, message, **details)
        for message, details in entries.digest_faults(manifest):
            report("ES921", path, message, **details)
        for message, details in entries.count_faults(manifest):
            report("ES920", at, message, **details)
        return entries

    def _check_older(self, folder: str, names: set[str], latest: Manifest) -> None:
        """Check a snapshot that is not the latest, and add the objects that it alone lists."""
        report = self._findings.report
        for missing in sorted({layout.MANIFEST, layout.ENTRIES} - names):
            report("ES929", f"{folder}/{missing}", f"the snapshot has lost its {missing}")
        manifest, path = None, f"{folder}/{layout.MANIFEST}"
        if layout.MANIFEST in names:
            manifest = self.parse(read_small(self._files, path), "ES929", path)
        if manifest is not None:
            if manifest.folder != folder:
                message = "the folder is not named after the digest of the manifest"
                report("ES929", path, message, expected=manifest.folder, found=folder)
            now, then = latest.created, manifest.created
            if now is not None and then is not None and then > now:
                found = latest.members["created_at"]
                message = f"the latest manifest is older than a kept snapshot, {folder}"
                report("ES920", layout.LATEST, message, pointer="/created_at", found=found)
        if layout.ENTRIES in names:
            self._read_older(f"{folder}/{layout.ENTRIES}", manifest)

    def _read_older(self, path: str, manifest: Manifest | None) -> None:
        def warn(violation: Violation, line: int) -> None:
            self._findings.add(violation._replace(severity=Severity.WARNING), path, line)

        entries = Entries(self._files, path, warn)
        for line, entry in entries:
            known = self._table.add(entry, LISTED | CHOSEN * self._choose(entry))
            if known is None:
                continue
            for ending, content in entry.files:
                newer = known.content(ending)
                if newer is None:
                    known.add_rows(content)
                elif newer != content:
                    self._break(path, entry.uuid, ending, content.sha256, newer.sha256, line)
        if manifest is not None:
            faults = (*entries.digest_faults(manifest), *entries.count_faults(manifest))
            for message, details in faults:
                self._findings.report("ES929", path, message, **{**details, "pointer": None})

    def compare_accepted(self, memory: StoreMemory, path: str) -> None:
        """Compare the contents of UUIDs with those that a ledger accepted."""
        for ending in (layout.RECORD, layout.SAMPLES):
            for uuid, sha256 in memory.accepted(ending):
                record = self._table.find(uuid)
                known = record.content(ending) if record is not None else None
                if known is None:
                    message = "no kept snapshot lists this object, which the ledger accepted"
                    self._findings.report("ES923", layout.object_path(uuid, ending), message)
                elif known.sha256 != sha256:
                    self._break(path, uuid, ending, sha256, known.sha256, None)

    def _break(
        self, path: str, uuid: str, ending: str, found: str, expected: str, line: int | None
    ) -> None:
        """Report that a UUID had another content than newer snapshots give it."""
        noun = "rows of record" if ending == layout.SAMPLES else "record"
        where = "as the ledger accepted it, has" if line is None else "in this older snapshot, has"
        message = f"the {noun} {uuid}, {where} other content than now"
        details = {"expected": expected, "found": found, "line": line}
        self._findings.report("ES928", path, message, **details)

    def _check_indexes(self, listing: Listing, entries: Entries) -> None:
        wanted = {layout.BY_PATH: entries.sha256}
        for collection, digest in entries.collections.items():
            if layout.is_inside(collection):
                wanted[f"{layout.COLLECTIONS}{collection}.jsonl"] = digest.hexdigest()
        for path in sorted(wanted.keys() | listing.indexes):
            if path not in listing.indexes:
                self._findings.report("ES926", path, "the index is missing")
            elif path not in wanted:
                message = "the index is of no collection of the latest entries"
                self._findings.report("ES926", path, message, severity=Severity.INFO)
            elif hash_file(self._files, path) != wanted[path]:
                self._findings.report("ES926", path, "the index differs from the entries")
