"""Paths that differ only in case, and collide where file names are not case-sensitive."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from typing import Final

from evalstream.model.data_class import NamedTuple

_SERVER: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/]*/?")
"""The server part of a URL; stores distinguish the case of keys, but not of this part."""

MOST_FOLDERS: Final = 4_096
"""Most folders remembered while names are collected."""

_NAMES: Final = """
DROP TABLE IF EXISTS names;
CREATE TABLE names (folded TEXT, name TEXT, path TEXT, run INTEGER, is_aggregate INTEGER);
BEGIN;
"""

_COLLISIONS: Final = """
INSERT INTO collisions SELECT n.run, n.is_aggregate, n.path, f.path
    FROM (
        SELECT MIN(names.rowid) AS own, first FROM names CROSS JOIN (
            SELECT folded AS same, MIN(rowid) AS first FROM names
            GROUP BY folded HAVING MIN(name) <> MAX(name)
        ) ON folded = same
        GROUP BY folded, name
    )
    JOIN names AS n ON n.rowid = own JOIN names AS f ON f.rowid = first
    WHERE own > first;
DROP TABLE names;
"""
"""Each further spelling of a name in a folder, at its first use, with the first spelling."""


class Step(NamedTuple):
    """A file or folder: its name, its path, and the path without case."""

    name: str
    path: str
    folded: str


class RunFolder(NamedTuple):
    """A folder: the beginning of its files' paths, the same without case, and the steps to it."""

    path: str
    folded: str
    steps: tuple[Step, ...]


def collide(base: sqlite3.Connection) -> None:
    """Fill the table `collisions` from the names of files in the table `runs`.

    The columns are a run, whether its aggregate has the path, the path of a file or folder, and the
    earlier path that differs only in case.
    """
    base.executescript(_NAMES)
    base.executemany("INSERT INTO names VALUES (?, ?, ?, ?, ?)", _names(base))
    base.execute("COMMIT")
    base.executescript(_COLLISIONS)


def leading_folder(beginning: str) -> RunFolder:
    """Return the folder at the beginning of a path or URL, up to its last slash."""
    server = _SERVER.match(beginning)
    above = server[0] if server else ""
    rest = beginning[len(above) :]
    if rest.startswith("/"):
        above += "/"
    folded, found = above.lower(), []
    for name in os.path.normpath(rest).split("/") if rest else ():
        if name not in ("", "."):
            found.append(Step(name, above + name, folded + without_case(name)))
            above, folded = f"{above}{name}/", f"{folded}{without_case(name)}/"
    return RunFolder(above, folded, tuple(found))


def without_case(name: str) -> str:
    """Return a text equal for names that differ in case, letter by letter: `ß` is not `ss`."""
    if name.isascii():
        return name.lower()
    folded = ((letter, letter.casefold()) for letter in name)
    return "".join(new if len(new) == 1 else old.lower() for old, new in folded)


def _names(base: sqlite3.Connection) -> Iterator[tuple[str, str, str, int, int]]:
    """Iterate over the names of files by run, and of their folders, unless just returned."""
    known: dict[str, RunFolder] = {}
    returned: set[str] = set()
    for run, is_aggregate, path in base.execute(_PATHS):
        beginning, slash, name = path.rpartition("/")
        beginning += slash
        folder = known.get(beginning)
        if folder is None:
            folder = leading_folder(beginning)
            if len(known) >= MOST_FOLDERS:
                known.clear()
                returned.clear()
            known[beginning] = folder
            for step in folder.steps:
                if step.path not in returned:
                    returned.add(step.path)
                    yield step.folded, step.name, step.path, run, is_aggregate
        yield folder.folded + without_case(name), name, folder.path + name, run, is_aggregate


_PATHS: Final = """
SELECT number, 1, aggregate FROM runs WHERE aggregate IS NOT NULL
UNION ALL SELECT number, 0, file FROM runs WHERE file IS NOT NULL
ORDER BY 1, 2 DESC
"""
