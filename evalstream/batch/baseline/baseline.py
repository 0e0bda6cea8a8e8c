"""The baseline of a call: tell known findings from new ones, and say which have vanished."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

from evalstream.batch.baseline.baseline_file import (
    NEVER_KNOWN,
    read_baseline,
    refuse_replacing,
    write_baseline,
)
from evalstream.formats.registry import CATALOGUE, folder_format, main_format
from evalstream.io.remote import is_remote
from evalstream.io.spill_table import SpillTable, restored, stored
from evalstream.model.finding import Finding, KnownFinding, Severity, SpilledList
from evalstream.model.options import Options
from evalstream.model.report import NOT_CHECKED, RunSummary, Totals
from evalstream.model.run import MAIN_FORMAT, STDIN
from evalstream.model.signals import STOPPING
from evalstream.parsing.json import dumps, read_back

PAGE: Final = 1_000

_TABLES: Final = """
    CREATE TABLE entry (file BLOB, code BLOB, pointer BLOB, sample BLOB, known INTEGER,
        found INTEGER, written INTEGER, PRIMARY KEY (file, code, pointer, sample)) WITHOUT ROWID;
    CREATE TABLE checked (file BLOB PRIMARY KEY, alone INTEGER, whole INTEGER) WITHOUT ROWID;
    BEGIN;
"""
_KEY: Final = "file = ? AND code = ? AND pointer = ? AND sample = ?"
_FIND: Final = f"SELECT known, found FROM entry WHERE {_KEY}"  # noqa: S608 - our own names
_UPDATE: Final = f"UPDATE entry SET found = found + ?, written = written + ? WHERE {_KEY}"  # noqa: S608 - our own names
_INSERT: Final = "INSERT INTO entry VALUES (?, ?, ?, ?, 0, ?, ?)"
_LOAD: Final = (
    "INSERT INTO entry VALUES (?, ?, ?, ?, ?, 0, 0) "
    "ON CONFLICT DO UPDATE SET known = max(known, excluded.known)"
)
_CHECK: Final = (
    "INSERT INTO checked VALUES (?, ?, ?) "
    "ON CONFLICT DO UPDATE SET alone = min(alone, excluded.alone)"
)
_CHECKED: Final = "SELECT alone, whole FROM checked WHERE file = ?"
_NEXT: Final = (
    "SELECT file, code, pointer, sample, known, found, written FROM entry "  # noqa: S608 - our own names
    f"WHERE (file, code, pointer, sample) > (?, ?, ?, ?) ORDER BY 1, 2, 3, 4 LIMIT {PAGE}"
)

_ROW_OF_ARRAY: Final = re.compile(r"/\d+(?=/|$)")
"""The number of a row in an array, with which a pointer begins."""


class Baseline:
    """What is known of the findings of one call, compared as multisets, in tables on disk.

    Give it every finding in order, and after those of a run its summary. It passes on the findings
    that are new, at most `max_findings` per code and run. The first occurrences of a finding are
    the known ones. Raises UsageError where the baseline is damaged, or another file would be
    replaced unless `overwrite` is set.
    """

    def __init__(
        self, options: Options, show: Callable[[Finding], None], *, overwrite: bool = False
    ) -> None:
        self._options, self._show = options, show
        self._target = options.write_baseline
        if self._target is not None and not overwrite:
            refuse_replacing(self._target)
        home = self._target or options.baseline or ""
        self._home = os.path.dirname(os.path.abspath(home))
        self._place = lru_cache(maxsize=1_000)(self._place_of)
        # Infos are many, and fail a check only if it is told so.
        self._lowest = min(options.threshold, Severity.WARNING)
        self._enabled = CATALOGUE.selection(options).enabled
        self._known: dict[tuple[str, Severity], int] = {}
        self._shown: dict[str, int] = {}
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
        known = 0 if code in NEVER_KNOWN else self._match(finding, times)
        if known:
            key = code, finding.severity
            self._known[key] = self._known.get(key, 0) + known
        if known == times:
            return
        shown, most = self._shown.get(code, 0), self._options.max_findings
        self._shown[code] = shown + 1
        if not most or shown < most:
            self._show(finding._replace(count=times - known) if known else finding)

    def end_run(self, summary: RunSummary) -> None:
        """Let the findings that were known since the last call fail the run no longer."""
        summary.set_aside(self._known, self._options.threshold)
        self._known, self._shown = {}, {}
        reason = summary.incomplete_reason or summary.otherwise_reason
        if summary.is_note or reason or not NOT_CHECKED.isdisjoint(summary.counts):
            return
        is_main = summary.format == MAIN_FORMAT
        if not is_main and summary.otherwise == "incomplete":
            return
        is_alone = is_main and (summary.file is None or summary.aggregate is None)
        is_folder = folder_format(summary.format) is not None and not self._options.exclude
        named = (summary.file, summary.aggregate, summary.inputs)
        self._table.change(
            _CHECK,
            ((stored(self._place(name)), int(is_alone), int(is_folder)) for name in named if name),
        )

    def finish(self, totals: Totals) -> SpilledList[KnownFinding]:
        """Return the findings that vanished, count them, and write the new baseline.

        It is not written if a signal stopped the check. Raises OSError.
        """
        vanished = SpilledList(KnownFinding)
        for file, code, pointer, sample, known, found, _ in self._entries():
            if known > found and self._was_checked(file, code):
                one = _known_finding(file, code, pointer, sample, known - found)
                vanished.append(one)
                totals.vanished += one.count
        is_whole = not totals.unreached and STOPPING.raised is None
        if self._target is not None and is_whole:
            write_baseline(self._target, self._options, self._written())
        return vanished

    def _load(self, path: str | None) -> None:
        if path is None:
            return
        folder = os.path.dirname(os.path.abspath(path))
        rows = (
            (*_key(self._rebased(one.file, folder), one), one.count) for one in read_baseline(path)
        )
        self._table.change(_LOAD, rows)

    def _match(self, finding: Finding, times: int) -> int:
        """Count occurrences of a finding, and return how many of them are known."""
        key = _key(self._place(finding.file), finding)
        written = times if finding.severity >= self._lowest else 0
        entries = self._table.rows(_FIND, *key)
        if entries:
            known, found = map(int, entries[0])
            self._table.change(_UPDATE, [(times, written, *key)])
            return min(times, max(0, known - found))
        if written and self._target is not None:
            self._table.change(_INSERT, [(*key, times, written)])
        return 0

    def _written(self) -> Iterator[KnownFinding]:
        """Iterate over the new baseline: what was found, and what was known and not checked."""
        for file, code, pointer, sample, known, found, written in self._entries():
            # A known info stays known.
            kept = max(written, min(known, found))
            count = kept if self._was_checked(file, code) else max(kept, known)
            if count:
                yield _known_finding(file, code, pointer, sample, count)

    def _entries(self) -> Iterator[tuple[Any, ...]]:
        latest: tuple[bytes, ...] = (b"", b"", b"", b"")
        while rows := self._table.rows(_NEXT, *latest):
            yield from rows
            latest = rows[-1][:4]

    def _was_checked(self, file: bytes, code: bytes) -> bool:
        """Tell whether a finding would have been found again: its file and rule were checked."""
        name = restored(code)
        if name not in self._enabled or name in _of_several_runs():
            return False
        for place in _upwards(file):
            for is_alone, is_folder in self._table.rows(_CHECKED, place):
                if place == file or is_folder:
                    # Rules over whole runs compare rows with their aggregate.
                    return not is_alone or CATALOGUE[name].run is None
        return False

    def _place_of(self, name: str) -> str:
        """Return how the baseline names a file: below its folder relative to that."""
        if name == STDIN or is_remote(name):
            return name
        path, folder = os.path.abspath(name), os.path.join(self._home, "")
        if path == self._home:
            return os.curdir
        return path.removeprefix(folder) if path.startswith(folder) else path

    def _rebased(self, place: str, folder: str) -> str:
        """Return the place of a file that a baseline in a folder names."""
        if place == STDIN or is_remote(place):
            return place
        return self._place(os.path.join(folder, place))


def _upwards(place: bytes) -> Iterator[bytes]:
    """Iterate over the place of a file and those of the folders above it."""
    yield place
    above = place
    while above := above.rpartition(b"/")[0]:
        yield above
    if not place.startswith(b"/"):
        yield os.curdir.encode()


def _key(place: str, one: Finding | KnownFinding) -> tuple[bytes, bytes, bytes, bytes]:
    """Return what identifies a finding: file, code, pointer and sample id."""
    pointer = one.pointer or ""
    if isinstance(one, Finding) and one.offset is not None:
        # The number of a row is not part of it, in an array as on a line.
        pointer = _ROW_OF_ARRAY.sub("", pointer, count=1) if _is_in_array(pointer) else pointer
    sample = b"" if one.sample_id is None else dumps(one.sample_id)
    return stored(place), stored(one.code), stored(pointer), sample


def _is_in_array(pointer: str) -> bool:
    return _ROW_OF_ARRAY.match(pointer) is not None


def _known_finding(
    file: bytes, code: bytes, pointer: bytes, sample: bytes, count: int
) -> KnownFinding:
    return KnownFinding(
        restored(code),
        restored(file),
        restored(pointer) or None,
        read_back(sample) if sample else None,
        count,
    )


@lru_cache(maxsize=1)
def _of_several_runs() -> frozenset[str]:
    """Return the codes that compare runs: what they find depends on all inputs of the call."""
    return frozenset(main_format().cross_run.codes().values())
