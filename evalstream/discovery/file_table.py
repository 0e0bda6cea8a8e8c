"""The files of a tree, kept on disk in order: the files of a folder by name, then its folders."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from evalstream.discovery.peek import AGGREGATE, AggregatePeek
from evalstream.io.spill_table import SpillTable, decode_name, encode_name
from evalstream.model.data_class import NamedTuple

if TYPE_CHECKING:
    from evalstream.io.remote import Listed

PAGE: Final = 500
"""How many files are read from disk at once."""

_TABLES: Final = """
    CREATE TABLE folder (key BLOB PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE file (
        key BLOB PRIMARY KEY, size INTEGER, mark TEXT, target BLOB,
        kind INTEGER, declared BLOB, detail TEXT, rows BLOB, leads_out BLOB, claimed INTEGER
    ) WITHOUT ROWID;
"""
_FILE: Final = b"\1"
_FOLDER: Final = b"\2"
_END: Final = b"\0"


class FileEntry(NamedTuple):
    """A file to add to a tree: its path below the root, and what the listing says about it.

    `target` is the path within the root that a link points to, None if the file is not a link.
    """

    path: str
    size: int | None = None
    mark: str | None = None
    target: str | None = None


class KnownFile(NamedTuple):
    """A file of a tree: its path below the root, and its properties.

    `look` is its kind, `rows` are the rows found for an aggregate. `leads_out` is the path that the
    aggregate declares, if it leads out of the tree. Rows may be `claimed` by an aggregate.
    """

    path: str
    size: int | None
    mark: str | None
    target: str | None
    look: AggregatePeek | None
    rows: str | None
    leads_out: str | None
    claimed: bool

    @property
    def true_path(self) -> str:
        """The path of the file below the root, with links resolved."""
        return self.path if self.target is None else self.target


class Note(NamedTuple):
    """New facts about a file: its kind, and the rows found for it, which may be outside."""

    path: str
    look: AggregatePeek
    rows: str | None = None
    leads_out: str | None = None


class FileTable:
    """The files below a folder or a prefix, in constant memory; `/` separates path parts."""

    def __init__(self) -> None:
        self._kept = SpillTable(_TABLES)
        self._has_entered = False
        self._page: dict[str, KnownFile] = {}

    def enter(self, folders: Collection[str]) -> None:
        """Remember folders that are still to be listed."""
        keys = ((listing_key(path, is_folder=True),) for path in folders)
        self._kept.change("INSERT OR IGNORE INTO folder VALUES (?)", keys)
        self._has_entered = bool(folders) or self._has_entered

    def folders(self) -> Iterator[str]:
        """Iterate over the folders to list, in order, also those entered meanwhile."""
        while page := self._kept.rows("SELECT key FROM folder ORDER BY key LIMIT ?", PAGE):
            self._has_entered = False
            for (key,) in page:
                yield path_from_key(key)
                if self._has_entered:
                    break
            self._kept.change("DELETE FROM folder WHERE key <= ?", [(key,)])

    def add(self, files: Iterable[FileEntry | Listed], *, are_folders: bool = False) -> None:
        """Add files, or folders listed among them; each counts once."""
        self._kept.change(
            "INSERT OR IGNORE INTO file (key, size, mark, target) VALUES (?, ?, ?, ?)",
            (
                (
                    listing_key(one.path, is_folder=are_folders),
                    one.size,
                    one.mark,
                    _encode_text(getattr(one, "target", None)),
                )
                for one in files
            ),
        )

    def clear(self) -> None:
        """Remove all files."""
        self._kept.change("DELETE FROM file", [()])

    def note(self, notes: Iterable[Note]) -> None:
        """Store new facts about files."""
        self._kept.change(
            "UPDATE file SET kind = ?, declared = ?, detail = ?, rows = ?, leads_out = ? "
            "WHERE key = ?",
            (
                (
                    one.look.kind,
                    _encode_text(one.look.declared),
                    one.look.detail,
                    _encode_text(one.rows),
                    _encode_text(one.leads_out),
                    listing_key(one.path),
                )
                for one in notes
            ),
        )

    def claim(self, paths: Iterable[str]) -> None:
        """Mark files as the rows of an aggregate."""
        keys = ((listing_key(path),) for path in paths)
        self._kept.change("UPDATE file SET claimed = 1 WHERE key = ?", keys)

    def find_file(self, path: str) -> KnownFile | None:
        """Return the properties of a file, or None if the tree does not contain it."""
        found = self._kept.rows(f"SELECT {_COLUMNS} FROM file WHERE key = ?", listing_key(path))  # noqa: S608 - ours
        return _make_known_file(found[0]) if found else None

    def find_listed_file(self, path: str) -> KnownFile | None:
        """Return what the listing says about a file, mostly of the last page; rows may be older."""
        return self._page.get(path) or self.find_file(path)

    def files(self) -> Iterator[KnownFile]:
        """Iterate over all files in order; files may change meanwhile, but none may be added."""
        for page in self.pages():
            yield from page

    def pages(self) -> Iterator[list[KnownFile]]:
        """Iterate over all files in order, in pages."""
        for page in self._between(b"", _FOLDER + b"\xff"):
            self._page = {one.path: one for one in page}
            yield page

    def iterate_unread(self) -> Iterator[list[KnownFile]]:
        """Iterate over the files that no format read or claimed, in order, in pages."""
        return self._between(b"", _FOLDER + b"\xff", "kind IS NULL AND claimed IS NULL")

    def of_kind(self, kind: int) -> Iterator[KnownFile]:
        """Iterate over the files of one kind, in order."""
        for page in self._between(b"", _FOLDER + b"\xff", f"kind = {kind:d}"):
            yield from page

    def beginning(self, path: str) -> Iterator[KnownFile]:
        """Iterate over the files whose path starts with `path` and has no further slash."""
        start = listing_key(path)
        for page in self._between(start, start + b"\xff"):
            yield from page

    def iterate_aggregates(self, folder: str) -> Iterator[KnownFile]:
        """Iterate over the aggregates directly in a folder."""
        start = listing_key(folder, is_folder=True) if folder else b""
        for page in self._between(start + _FILE, start + _FOLDER):
            yield from (one for one in page if one.look and one.look.kind == AGGREGATE)

    def holds(self, kind: int, name: str) -> bool:
        """Tell whether a file of a kind is a document of the format `name`."""
        query = "SELECT 1 FROM file WHERE kind = ? AND detail LIKE ? LIMIT 1"
        return bool(self._kept.rows(query, kind, f"{name} %"))

    def holds_any(self, folder: str, details: Sequence[str]) -> bool:
        """Tell whether a folder holds one of some kinds of document, each given with its format."""
        start = listing_key(folder, is_folder=True) if folder else b""
        marks = ", ".join("?" * len(details))
        query = f"SELECT 1 FROM file WHERE key > ? AND key < ? AND detail IN ({marks}) LIMIT 1"  # noqa: S608 - ours
        return bool(self._kept.rows(query, start + _FILE, start + _FOLDER, *details))

    def close(self) -> None:
        """Delete the table."""
        self._kept.close()

    def _between(self, start: bytes, end: bytes, which: str = "1") -> Iterator[list[KnownFile]]:
        query = (
            f"SELECT {_COLUMNS} FROM file WHERE key > ? AND key < ? AND {which} "  # noqa: S608 - ours
            f"ORDER BY key LIMIT {PAGE}"
        )
        while found := self._kept.rows(query, start, end):
            yield [_make_known_file(row) for row in found]
            start = found[-1][0]


def listing_key(path: str, *, is_folder: bool = False) -> bytes:
    """Return the bytes that sort paths, as UTF-8 does; in a folder its files come first."""
    folder, slash, name = encode_name(path).rpartition(b"/")
    above = _FOLDER + folder.replace(b"/", _END + _FOLDER) + _END if slash else b""
    return above + (_FOLDER + name + _END if is_folder else _FILE + name)


def path_from_key(key: bytes) -> str:
    """Return the path of a key; the path of a folder ends with a slash."""
    path = key[1:].replace(_END + _FILE, b"/").replace(_END + _FOLDER, b"/")
    return decode_name(path.replace(_END, b"/"))


_COLUMNS: Final = "key, size, mark, target, kind, declared, detail, rows, leads_out, claimed"


def _make_known_file(row: tuple[Any, ...]) -> KnownFile:
    key, size, mark, target, kind, declared, detail, rows, leads_out, claimed = row
    return KnownFile(
        path_from_key(key),
        size,
        mark,
        _decode_text(target),
        None if kind is None else AggregatePeek(kind, _decode_text(declared), detail),
        _decode_text(rows),
        _decode_text(leads_out),
        bool(claimed),
    )


def _encode_text(text: str | None) -> bytes | None:
    return None if text is None else encode_name(text)


def _decode_text(data: bytes | None) -> str | None:
    return None if data is None else decode_name(data)
