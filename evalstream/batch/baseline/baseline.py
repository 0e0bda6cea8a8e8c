"""The baseline of a call: tell known findings from new ones, and say which have vanished."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from evalstream.batch.baseline import baseline_file
from evalstream.engine.collector import FindingRooms
from evalstream.formats.registry import CATALOGUE, folder_format, main_format
from evalstream.io.names import is_remote
from evalstream.io.spill_table import SpillTable, decode_name, encode_name
from evalstream.model.data_class import replace
from evalstream.model.errors import UsageError
from evalstream.model.finding import Finding, KnownFinding, Severity, Show, SpilledList
from evalstream.model.options import Options
from evalstream.model.report import Totals
from evalstream.model.run import MAIN_FORMAT
from evalstream.model.run_summary import NOT_CHECKED, RunSummary
from evalstream.model.signals import STOPPING

_TABLES: Final = """
    CREATE TABLE entry (file BLOB, code BLOB, pointer BLOB, sample BLOB, value BLOB,
        known INTEGER, found INTEGER, written INTEGER,
        PRIMARY KEY (file, code, pointer, sample, value)) WITHOUT ROWID;
    CREATE TABLE checked (file BLOB PRIMARY KEY, alone INTEGER, whole INTEGER, rules INTEGER)
        WITHOUT ROWID;
"""
_KEY: Final = "file = ? AND code = ? AND pointer = ? AND sample = ? AND value = ?"
_FIND: Final = f"SELECT known, found FROM entry WHERE {_KEY}"  # noqa: S608 - our own names
_UPDATE: Final = f"UPDATE entry SET found = found + ?, written = written + ? WHERE {_KEY}"  # noqa: S608 - our own names
_INSERT: Final = "INSERT INTO entry VALUES (?, ?, ?, ?, ?, 0, ?, ?)"
_LOAD: Final = (
    "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, 0, 0) "
    "ON CONFLICT (file, code, pointer, sample, value) "
    "DO UPDATE SET known = max(known, excluded.known)"
)
_CHECK: Final = (
    "INSERT INTO checked VALUES (?, ?, ?, ?) "
    "ON CONFLICT (file) DO UPDATE SET alone = min(alone, excluded.alone)"
)
_CHECKED: Final = "SELECT alone, whole, rules FROM checked WHERE file = ?"
_ENTRIES: Final = (
    "SELECT file, code, pointer, sample, value, known, found, written FROM entry "
    "ORDER BY 1, 2, 3, 4, 5"
)


class Baseline:
    """The known findings of one call, compared as multisets, in tables on disk.

    Give it every finding in order, with its values, and after those of a run its summary. It passes
    on the findings that are new, at most `max_findings` per code and file, without their values if
    the options hide them. The first occurrences of a finding are the known ones. Raises UsageError
    where the baseline is damaged, or another file would be replaced unless `overwrite` is set.
    """

    def __init__(self, options: Options, show: Show, *, overwrite: bool = False) -> None:
        self._options, self._show = options, show
        self._target = options.write_baseline
        self._kind = None if overwrite else baseline_file.BASELINE
        if self._target is not None and not overwrite:
            if is_remote(self._target):
                raise UsageError("--write-baseline must be a file, not a URL")
            baseline_file.BASELINE.refuse_foreign(self._target)
        self._places = baseline_file.FindingPlaces(self._target or options.baseline or "")
        self._secret = baseline_file.read_secret(options.baseline, self._target)
        # Infos are many, and fail a check only with --fail-on info.
        self._lowest = min(options.threshold, Severity.WARNING)
        self._ignored: list[tuple[str, ...]] = []
        self._known: dict[tuple[str, Severity], int] = {}
        self._rooms = FindingRooms(options.max_findings)
        self._table = SpillTable(_TABLES)
        try:
            self._load(options.baseline)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Delete the tables."""
        self._table.close()

    def add(self, finding: Finding) -> None:
        """Take a finding of the current run, and pass it on if it is new."""
        times, code = finding.occurrences, finding.code
        known = 0 if code in baseline_file.NEVER_KNOWN else self._match(finding, times)
        if known:
            key = code, finding.severity
            self._known[key] = self._known.get(key, 0) + known
        if known == times:
            return
        if self._rooms.take(finding):
            shown = finding._replace(count=times - known) if known else finding
            if not self._options.show_values:
                is_data = CATALOGUE[code].expects_data
                shown = shown._replace(found=None, expected=None if is_data else shown.expected)
            self._show(shown)

    def end_run(self, summary: RunSummary) -> None:
        """Let the findings that were known since the last call fail the run no longer."""
        summary.set_aside(self._known, self._options.threshold)
        self._known, self._rooms = {}, FindingRooms(self._options.max_findings)
        reason = summary.incomplete_reason or summary.otherwise_reason
        if summary.is_note or reason or not NOT_CHECKED.isdisjoint(summary.counts):
            return
        is_main = summary.format == MAIN_FORMAT
        if not is_main and summary.otherwise == "incomplete":
            return
        is_alone = is_main and (summary.file is None or summary.aggregate is None)
        is_folder = folder_format(summary.format) is not None and not self._options.exclude
        named = filter(None, (summary.file, summary.aggregate, summary.inputs))
        # Few runs differ from the others in the rules that they ignore.
        if summary.ignored not in self._ignored:
            self._ignored.append(summary.ignored)
        how = int(is_alone), int(is_folder), self._ignored.index(summary.ignored)
        self._table.change(_CHECK, ((encode_name(self._places.of(name)), *how) for name in named))

    def finish(self, totals: Totals) -> SpilledList[KnownFinding]:
        """Return and count what vanished; write the new baseline. Raises CannotWrite."""
        vanished = SpilledList(KnownFinding)
        for key, known, found, _ in self._entries():
            if known > found and self._was_checked(key):
                one = baseline_file.known_finding(key, known - found)
                vanished.append(one)
                totals.vanished += one.count
        is_whole = not totals.unreached and STOPPING.raised is None
        if self._target is not None and is_whole:
            baseline_file.write_baseline(
                self._target, self._options, self._secret, self._iterate_new(), kind=self._kind
            )
        return vanished

    def _load(self, path: str | None) -> None:
        if path is None:
            return
        folder, rebase = baseline_file.parent_folder(path), self._places.rebase
        known = baseline_file.read_baseline(path)
        keys = ((baseline_file.key_of_known(rebase(one.file, folder), one), one) for one in known)
        self._table.change(_LOAD, ((*key, one.count) for key, one in keys))

    def _match(self, finding: Finding, times: int) -> int:
        """Count occurrences of a finding, and return how many of them are known."""
        key = baseline_file.finding_key(self._places.of(finding.file), finding, self._secret)
        written = times if finding.severity >= self._lowest else 0
        entries = self._table.rows(_FIND, *key)
        if entries:
            known, found = map(int, entries[0])
            self._table.change(_UPDATE, [(times, written, *key)])
            return min(times, max(0, known - found))
        if written and self._target is not None:
            self._table.change(_INSERT, [(*key, times, written)])
        return 0

    def _iterate_new(self) -> Iterator[KnownFinding]:
        """Iterate over the new baseline: the findings, and known ones that were not checked."""
        for key, known, found, written in self._entries():
            # A known info stays known.
            kept = max(written, min(known, found))
            count = kept if self._was_checked(key) else max(kept, known)
            if count:
                yield baseline_file.known_finding(key, count)

    def _entries(self) -> Iterator[tuple[baseline_file.Key, int, int, int]]:
        for *key, known, found, written in self._table.iterate(_ENTRIES):
            file, code, pointer, sample, value = key
            yield (file, code, pointer, sample, value), known, found, written

    def _was_checked(self, key: baseline_file.Key) -> bool:
        """Tell whether a finding would have been found again: its file and rule were checked."""
        file, name = key[0], decode_name(key[1])
        if name not in CATALOGUE or name in _of_several_runs():
            return False
        for place in baseline_file.upwards(file):
            for is_alone, is_folder, rules in self._table.rows(_CHECKED, place):
                if place == file or is_folder:
                    # Rules over whole runs compare rows with their aggregate.
                    is_compared = not is_alone or CATALOGUE[name].run is None
                    options = replace(self._options, ignore=self._ignored[rules])
                    return is_compared and name in CATALOGUE.select_codes(options)
        return False


@lru_cache(maxsize=1)
def _of_several_runs() -> frozenset[str]:
    """Return the codes that compare runs: what they find depends on all inputs of the call."""
    return frozenset(main_format().cross_run.codes().values())
