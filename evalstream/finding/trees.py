"""The files of a tree, kept on disk in order: those of a folder by name, then its folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from evalstream.finding.keeping import Keeping, restored, stored
from evalstream.finding.looking import AGGREGATE, Look
from evalstream.sources.remote import Listed

PAGE: Final = 500
"""How many files are had from disk at once."""

_TABLES: Final = """
    CREATE TABLE folder (key BLOB PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE file (
        key BLOB PRIMARY KEY, size INTEGER, mark TEXT,
        kind INTEGER, declared BLOB, rows BLOB, claimed INTEGER
    ) WITHOUT ROWID;
"""
_FILE: Final = b"\1"
_FOLDER: Final = b"\2"
_END: Final = b"\0"


class Known(NamedTuple):
    """A file of a tree, by its path below the root, and what was learned of it.

    `look` is what a JSON file is, `rows` are those found for it; rows may be `claimed`.
    """

    path: str
    size: int | None
    mark: str | None
    look: Look | None
    rows: str | None
    claimed: bool


class Tree:
    """The files below a folder or a prefix, however many; paths in it are parted by slashes."""

    def __init__(self) -> None:
        self._kept = Keeping(_TABLES)

    def enter(self, folders: Iterable[str]) -> None:
        """Remember folders that have to be looked into."""
        keys = ((key_of(path, is_folder=True),) for path in folders)
        self._kept.change("INSERT OR IGNORE INTO folder VALUES (?)", keys)

    def next_folder(self) -> str | None:
        """Return the first folder, in order, that has to be looked into, and forget it."""
        for (key,) in self._kept.rows("SELECT key FROM folder ORDER BY key LIMIT 1"):
            self._kept.change("DELETE FROM folder WHERE key = ?", [(key,)])
            return path_of(key)
        return None

    def add(self, files: Iterable[Listed], *, are_folders: bool = False) -> None:
        """Take files, or folders that stand among them; each counts once."""
        self._kept.change(
            "INSERT OR IGNORE INTO file (key, size, mark) VALUES (?, ?, ?)",
            ((key_of(path, is_folder=are_folders), size, mark) for path, size, mark in files),
        )

    def clear(self) -> None:
        """Forget all files."""
        self._kept.change("DELETE FROM file", [()])

    def note(self, looks: Iterable[tuple[str, Look, str | None]]) -> None:
        """Take what JSON files are, and the rows found for them, which may be outside."""
        self._kept.change(
            "UPDATE file SET kind = ?, declared = ?, rows = ? WHERE key = ?",
            (
                (look.kind, _stored(look.declared), _stored(rows), key_of(path))
                for path, look, rows in looks
            ),
        )

    def claim(self, paths: Iterable[str]) -> None:
        """Take files that are the rows of an aggregate."""
        keys = ((key_of(path),) for path in paths)
        self._kept.change("UPDATE file SET claimed = 1 WHERE key = ?", keys)

    def known(self, path: str) -> Known | None:
        """Return what is known of a file, None where the tree does not have it."""
        found = self._kept.rows(f"SELECT {_COLUMNS} FROM file WHERE key = ?", key_of(path))  # noqa: S608 - ours
        return _known(found[0]) if found else None

    def files(self) -> Iterator[Known]:
        """Iterate over all files in order; they may change meanwhile, but none may be added."""
        for page in self.pages():
            yield from page

    def pages(self) -> Iterator[list[Known]]:
        """Iterate over all files in order, many at once."""
        return self._between(b"", _FOLDER + b"\xff")

    def aggregates_in(self, folder: str) -> Iterator[str]:
        """Iterate over the paths of the aggregates right in a folder."""
        start = key_of(folder, is_folder=True) if folder else b""
        for page in self._between(start + _FILE, start + _FOLDER):
            yield from (one.path for one in page if one.look and one.look.kind == AGGREGATE)

    def close(self) -> None:
        """Forget everything."""
        self._kept.close()

    def _between(self, start: bytes, end: bytes) -> Iterator[list[Known]]:
        while found := self._kept.rows(
            f"SELECT {_COLUMNS} FROM file WHERE key > ? AND key < ? ORDER BY key LIMIT {PAGE}",  # noqa: S608 - ours
            start,
            end,
        ):
            yield [_known(row) for row in found]
            start = found[-1][0]


def key_of(path: str, *, is_folder: bool = False) -> bytes:
    """Return the bytes by which paths are sorted as they are listed.

    Within a folder its files come first; the bytes of UTF-8 sort as the characters do.
    """
    *folders, name = stored(path).split(b"/")
    above = b"".join([_FOLDER + folder + _END for folder in folders])
    return above + (_FOLDER + name + _END if is_folder else _FILE + name)


def path_of(key: bytes) -> str:
    """Return the path that a key stands for; that of a folder ends with a slash."""
    return restored(b"/".join(part[1:] for part in key.split(_END)))


_COLUMNS: Final = "key, size, mark, kind, declared, rows, claimed"


def _known(row: tuple[bytes, int | None, str | None, int | None, bytes, bytes, int]) -> Known:
    key, size, mark, kind, declared, rows, claimed = row
    look = None if kind is None else Look(kind, _restored(declared))
    return Known(path_of(key), size, mark, look, _restored(rows), bool(claimed))


def _stored(text: str | None) -> bytes | None:
    return None if text is None else stored(text)


def _restored(data: bytes | None) -> str | None:
    return None if data is None else restored(data)
