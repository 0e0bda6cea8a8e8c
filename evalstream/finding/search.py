"""The search for what an input stands for: a run, or those in a folder or below a prefix."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from evalstream.errors import CannotCheck
from evalstream.finding.companions import Companions
from evalstream.finding.folders import Folder, json_files_in
from evalstream.finding.keeping import Keeping, stored
from evalstream.finding.looking import holds_array, look_at
from evalstream.finding.objects import run_at, stands_for_prefix
from evalstream.finding.pairing import Found, runs_in
from evalstream.finding.prefixes import Prefix
from evalstream.finding.walking import real_path
from evalstream.runs import (
    ALL_ROWS_ENDINGS,
    NO_ENDING,
    STDIN,
    Nothing,
    Run,
    ends_like_ours,
    is_packed_name,
    missing_rows,
    rows_candidates,
)
from evalstream.sources.remote import is_remote

_LOOKS: Final = 1024
"""How many looks are remembered: rows and their aggregate are often named one after the other."""


class Search:
    """Finds runs by input; which were found is kept on disk."""

    def __init__(self) -> None:
        self._seen = Keeping("CREATE TABLE seen (name BLOB PRIMARY KEY) WITHOUT ROWID")
        self._look = lru_cache(maxsize=_LOOKS)(look_at)
        self._companions = Companions(self._look, json_files_in)
        self._real_folder = lru_cache(maxsize=_LOOKS)(real_path)

    def runs(self, path: str) -> Iterator[Run | Nothing]:
        """Find the runs that one input stands for and that were not found before."""
        for what, identities in self._found(path):
            if not (identities and self._were_seen(identities)):
                yield what

    def close(self) -> None:
        """Forget everything."""
        self._seen.close()
        self._companions.close()

    def _were_seen(self, identities: Iterable[str]) -> bool:
        names = ((stored(name),) for name in identities)
        return not self._seen.change("INSERT OR IGNORE INTO seen VALUES (?)", names)

    def _found(self, path: str) -> Iterator[Found]:
        if path == STDIN:
            yield Found(Run(STDIN, None))
        elif not _is_name(path):
            yield Found(Nothing(path, "no file can be called so", readable=False))
        elif is_remote(path):
            yield from _remote(path)
        elif os.path.isdir(path):
            yield from runs_in(Folder(path), path)
        else:
            yield self._named(path)

    def _named(self, path: str) -> Found:
        """Return the run that a file stands for."""
        is_stream = os.path.exists(path) and not os.path.isfile(path)
        if is_stream:
            run = Run(path, None)
        elif path.endswith(ALL_ROWS_ENDINGS):
            run = Run(path, self._companions.aggregate_of(path))
        elif ends_like_ours(path):
            holds_rows = is_packed_name(path) or holds_array(path)
            aggregate = self._companions.aggregate_of(path) if holds_rows else None
            run = Run(path, aggregate) if holds_rows else self._run_of(path)
        elif os.path.exists(path):
            return Found(Nothing(path, NO_ENDING))
        else:
            run = Run(path, None)
        names = (name for name in (run.rows, run.aggregate) if name is not None)
        return Found(run, tuple(map(self._identity, names)))

    def _run_of(self, aggregate: str) -> Run:
        """Find the rows of an aggregate."""
        look = self._look(aggregate)
        declared = None if look is None else look.declared
        rows = next(filter(os.path.isfile, rows_candidates(aggregate, declared)), None)
        return Run(rows, aggregate, None if rows else missing_rows(declared))

    def _identity(self, path: str) -> str:
        """Return the one path of a file, without another look at each folder above it."""
        folder, name = os.path.split(path)
        if name in ("", os.curdir, os.pardir) or os.path.islink(path):
            return real_path(path)
        return os.path.join(self._real_folder(folder), name)


def _remote(url: str) -> Iterator[Found]:
    try:
        if stands_for_prefix(url):
            yield from runs_in(Prefix(url), url)
            return
        run = run_at(url)
    except (OSError, CannotCheck) as error:
        yield Found(Nothing(url, f"{error}", readable=False))
        return
    yield Found(run, tuple(name for name in (run.rows, run.aggregate) if name is not None))


def _is_name(path: str) -> bool:
    """Tell whether a path is one that the system can be asked for."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False
