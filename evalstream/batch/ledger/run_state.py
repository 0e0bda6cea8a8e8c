"""The state of the files of a run and beside it before its check, to detect later changes."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from threading import Event
from typing import Final

from evalstream.io.names import (
    S3,
    is_remote,
    printable,
    redact_url,
    rows_named_like,
    without_ending,
)
from evalstream.io.readers import FileState, file_state, is_settled
from evalstream.io.remote.reader import find_store
from evalstream.io.remote.retry import with_retries
from evalstream.io.remote.store import MODIFIED
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck
from evalstream.model.run import MAIN_FORMAT, STDIN, Run
from evalstream.model.signals import STOPPING


class RunState(NamedTuple):
    """The state of a run's files.

    `key` is the same for every check of the same files; `place` is the path of the first of them,
    as reports display it. `text` is equal as long as nothing changed, names and companion files
    included. `taken` is in nanoseconds since the epoch. `is_settled` means that any later change
    will change the timestamps.
    """

    key: bytes
    place: str
    text: str
    taken: int
    is_settled: bool


def read_state(run: Run, companions: CompanionFinder | None = None) -> RunState | None:
    """Return the state of a run's files; None where the run cannot be identified later.

    This is so for streams, for runs with further files `beside`, and for URLs with parts that
    reports do not display: these may be secrets, and may be all that distinguishes two URLs.
    `companions` is shared by many runs.
    """
    if run.beside:
        return None
    taken, companions = time.time_ns(), companions or CompanionFinder()
    names = (run.rows, run.aggregate, run.inputs)
    marks = [_listed_state(run) or _state_of_name(run.rows), *map(_state_of_name, names[1:])]
    # A name without a state is a stream.
    if any(name is not None and mark is None for name, mark in zip(names, marks, strict=True)):
        return None
    alone = run.aggregate or run.inputs
    if run.rows is None and run.format != MAIN_FORMAT and alone and not is_remote(alone):
        # The check of results alone looks at the samples beside them.
        marks.append(companions.state_of_folder(os.path.dirname(alone) or os.curdir))
    try:
        places = [
            os.path.abspath(name) if name is not None and not is_remote(name) else name
            for name in names
        ]
    except OSError:  # the working directory was deleted
        return None
    known = [mark for mark in marks if mark is not None]
    seen = [mark and mark.seen for mark in marks]
    place = next((place for place in places if place is not None), "")
    return RunState(
        key=key_of_names([run.format, places]),
        place=printable(place),
        text=_text(
            [names, run.missing, run.rivals, seen, run.legacy_path, _companions(run, companions)]
        ).decode(),
        taken=taken,
        is_settled=all(is_settled(mark.changed, taken) for mark in known),
    )


def key_of_names(names: object) -> bytes:
    """Return the key under which a ledger has what it remembers for some names."""
    return hashlib.sha256(_text(names)).digest()


def _listed_state(run: Run) -> FileState | None:
    """Return the state of the rows from a listing, where it has an ETag; this saves a request."""
    rows = run.rows or ""
    is_lasting = rows.partition("://")[0].lower() in S3 and redact_url(rows) == rows
    if not run.mark or not is_lasting:
        return None
    return FileState(["listed", run.size, run.mark], _moment(run.mark.partition(" ")[2]))


def _state_of_name(name: str | None) -> FileState | None:
    if name is None or name == STDIN:
        return None
    if not is_remote(name):
        return file_state(name)
    return _remote_state(name) if redact_url(name) == name else None


def _remote_state(url: str) -> FileState:
    try:
        store = find_store(url)
        with STOPPING.interruptible():
            info = with_retries(store.get_info, Event())
        store.close()
    except (OSError, CannotCheck):
        return FileState(["unreadable"], None)
    reported = info.marks.get(MODIFIED)
    moment = None if reported is None else _moment(reported)
    # An ETag or a generation alone identifies the version of an object.
    permanent = 0 if info.marks.keys() - {MODIFIED} else None
    seen = ["object", info.size, sorted(info.marks.items())]
    return FileState(seen, permanent if moment is None else moment)


def _moment(reported: str) -> int | None:
    """Parse a time as stores send it: RFC 9110, ISO 8601, or seconds since the epoch."""
    for read in (parsedate_to_datetime, datetime.fromisoformat, _from_seconds):
        try:
            moment = read(reported)
            aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
            return int(aware.timestamp()) * 1_000_000_000
        except (ValueError, OverflowError, OSError):
            continue
    return None


def _from_seconds(reported: str) -> datetime:
    return datetime.fromtimestamp(float(reported), UTC)


def _companions(run: Run, finder: CompanionFinder) -> list[list[str]]:
    """List other rows files under an aggregate's name, and the targets of links."""
    if run.aggregate is None:
        return []
    found = []
    for path in finder.beside(run.aggregate):
        if path != run.rows:
            target = ""
            # Links are not followed: their targets may be outside of the inputs.
            with suppress(OSError):
                target = os.readlink(path)
            found.append([path, target])
    return found


def _text(value: object) -> bytes:
    """Encode names of any bytes: invalid UTF-8 is escaped."""
    return _ENCODER.encode(value).encode("ascii")


_ENCODER: Final = json.JSONEncoder(separators=(",", ":"))


MOST_NAMES: Final = 20_000
"""Most names kept in memory; in a larger folder each name is looked up by itself."""


MOST_FOLDERS: Final = 1_000
"""Most folders whose states are kept in memory."""

_ENDINGS: Final = tuple(rows_named_like(""))


class _Listing(NamedTuple):
    """The names in a folder in lower case, None for too many, and its state at that time."""

    state: tuple[int, ...]
    names: frozenset[str] | None


class CompanionFinder:
    """Finds the rows files that an aggregate may have, with one listing for many aggregates.

    A listing is used as long as the folder does not change. A change shows in the timestamps of
    the folder, except directly after another change: then the folder is listed again.
    """

    def __init__(self) -> None:
        self._listings: dict[str, _Listing] = {}
        self._states: dict[str, FileState | None] = {}
        self._kept = 0

    def state_of_folder(self, folder: str) -> FileState | None:
        """Return the state of a folder and all in it, perhaps that of the first call.

        A check that comes after a change is noted with the older state, and made again. The state
        of a folder that has just changed may miss another change, and is not kept.
        """
        if folder in self._states:
            return self._states[folder]
        now, state = time.time_ns(), file_state(folder)
        if state is not None and is_settled(state.changed, now):
            if len(self._states) >= MOST_FOLDERS:
                self._states.clear()
            self._states[folder] = state
        return state

    def beside(self, aggregate: str) -> Iterator[str]:
        """Iterate over the existing rows files named like an aggregate, links included."""
        folder, name = os.path.split(without_ending(aggregate))
        names = self._read_names(folder or os.curdir)
        # A file system may treat names as equal that differ in case or in their Unicode form.
        if names is None or not name.isascii():
            yield from filter(os.path.lexists, rows_named_like(aggregate))
            return
        stem = name.lower()
        for ending in [ending for ending in _ENDINGS if stem + ending in names]:
            path = without_ending(aggregate) + ending
            if os.path.lexists(path):
                yield path

    def _read_names(self, folder: str) -> frozenset[str] | None:
        """Return the names in a folder in lower case; None if it has too many or no listing."""
        now = time.time_ns()
        try:
            status = os.stat(folder)
            if not stat.S_ISDIR(status.st_mode):
                return None
            changed = max(status.st_mtime_ns, status.st_ctime_ns)
            state = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
            known = self._listings.get(folder)
            if known is not None and known.state == state:
                return known.names
            with os.scandir(folder) as entries:
                some = frozenset(entry.name.lower() for entry in islice(entries, MOST_NAMES))
                names = some if next(entries, None) is None else None
        except (OSError, ValueError):
            return None
        if is_settled(changed, now):
            self._keep(folder, _Listing(state, names))
        return names

    def _keep(self, folder: str, listing: _Listing) -> None:
        size = 1 + len(listing.names or ())
        if self._kept + size > MOST_NAMES:
            self._listings.clear()
            self._kept = 0
        self._listings[folder] = listing
        self._kept += size
