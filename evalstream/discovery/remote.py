"""Search a prefix in a store for runs, like a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, tee

from evalstream.discovery import peek
from evalstream.discovery.counterpart import is_outside, without_rows
from evalstream.discovery.file_table import FileEntry, FileTable, KnownFile
from evalstream.discovery.unrecognised import EMPTY, ROWS_LIKE, Leftovers
from evalstream.discovery.unrecognised import OTHER as OTHER_KIND
from evalstream.io import names as file_names
from evalstream.io import remote
from evalstream.io.beginning import stored_beginning
from evalstream.io.names import Exclusion
from evalstream.model.errors import CannotCheck
from evalstream.model.run import NoInput, Run
from evalstream.parsing.limits import MOST_JSON_BYTES


class Prefix:
    """A prefix and the names of the objects below it."""

    kind = "prefix"

    def __init__(self, url: str, exclusion: Exclusion) -> None:
        self.root = remote.as_prefix(url)
        self._exclusion = exclusion

    def fill(self, tree: FileTable, left: Leftovers) -> Iterator[NoInput]:
        """List all objects below the prefix; if this fails, say so and keep none.

        In a partial list, rows whose aggregate is not listed would seem to have none.
        """
        try:
            for page in remote.list_objects(self.root):
                tree.add(
                    entry for one in page if (entry := self._classify_object(one, left)) is not None
                )
        except (OSError, CannotCheck) as error:
            tree.clear()
            yield NoInput(self.root, f"it could not be listed: {error}", readable=False)

    def join_path(self, below: str) -> str:
        """Return the URL of an object below the prefix."""
        return self.root + below

    def identity(self, below: str) -> str:
        """Return the one URL of an object below the prefix."""
        return self.join_path(below)

    def find_unlisted(self, _below: str) -> str | None:
        """Return None: an object that is not listed does not exist."""
        return None

    def is_met_anyway(self, below: str) -> bool:
        """Tell whether an object is listed under its own name and read."""
        return file_names.is_data_name(below)

    def looks(
        self, files: Iterable[KnownFile], tree: FileTable
    ) -> Iterator[peek.AggregatePeek | None]:
        """Peek into objects, several at a time.

        An object whose rows are beside it by name is not read: `x.json` is the aggregate of
        `x_samples.jsonl`, and the check of the pair finds what it declares. Rows are not read
        either, as their check recognises other content.
        """
        files = list(files)
        known = [_known_by_list(file, tree) for file in files]
        unread, again = tee(file for file, look in zip(files, known, strict=True) if look is None)
        texts = remote.read_each((self.join_path(file.path) for file in unread), MOST_JSON_BYTES)
        for look in known:
            if look is None:
                look = peek.peek_safely(  # noqa: PLW2901
                    partial(_peek_object, next(again), next(texts), tree)
                )
            yield look

    def _classify_object(self, one: remote.Listed, left: Leftovers) -> FileEntry | None:
        if self._exclusion.covers_any(one.path):
            left.excluded += 1
        elif file_names.is_data_name(one.path):
            return FileEntry(*one)
        else:
            left.add(ROWS_LIKE if file_names.is_like_rows(one.path) else OTHER_KIND, one.path)
        return None


def is_readable(url: str) -> bool:
    """Tell whether a remote file exists; many stores forbid requests for missing objects."""
    try:
        return remote.exists(url)
    except PermissionError:
        return False


def _peek_object(file: KnownFile, text: bytes | OSError, tree: FileTable) -> peek.AggregatePeek:
    is_json = file_names.is_json_name(file.path)
    if isinstance(text, OSError):
        # The check of a pair by name reads it again, and says why it cannot.
        is_pair = is_json and any(map(tree.find_file, file_names.rows_named_like(file.path)))
        kind = peek.AGGREGATE if is_pair else peek.UNREAD
        return peek.AggregatePeek(kind, detail=None if is_pair else f"it cannot be read: {text}")
    if is_json:
        return peek.peek_document(text, file.path)
    return peek.peek_bytes(stored_beginning(file.path, text))


def _known_by_list(file: KnownFile, tree: FileTable) -> peek.AggregatePeek | None:
    """Return the kind of an object as far as names and sizes show it; None if it must be read."""
    if file_names.is_rows_name(file.path):
        return peek.AggregatePeek(peek.ROWS, detail=None if file.size else EMPTY)
    is_json = file_names.is_json_name(file_names.without_packing(file.path))
    if not is_json and not file_names.is_yaml_name(file.path):
        return peek.AggregatePeek(peek.OTHER)
    if (file.size or 0) > MOST_JSON_BYTES:
        return peek.AggregatePeek(peek.TOO_LARGE)
    if not file_names.is_json_name(file.path):
        return None
    stem = file_names.without_ending(file.path)
    named = (f"{stem}{file_names.SAMPLES}{ending}" for ending in file_names.ALL_ROWS_ENDINGS)
    return peek.AggregatePeek(peek.AGGREGATE) if any(map(tree.find_file, named)) else None


_SIGNS_OF_URLS = ("?", "#", "::", "\0")
_VERSION = "?versionId="


def stands_for_prefix(url: str) -> bool:
    """Tell whether a URL is the beginning of objects' names. Raises OSError, MissingExtra."""
    if _is_web(url):
        return False
    if url.endswith("/"):
        return True
    if file_names.ends_like_ours(url) or _VERSION in url or is_readable(url):
        return False
    return any(remote.list_objects(url))


def found_at(url: str) -> Run | peek.AggregatePeek:
    """Find the other half of a remote run: beside it, by name, or where its aggregate declares it.

    A URL with a query is signed for one object, so no other name is guessed from it. An object that
    is not an aggregate is returned as a peek. Raises OSError if a document cannot be read, and
    MissingExtra.
    """
    plain = url.partition("?" if _is_web(url) else _VERSION)[0]
    is_signed = _is_web(url) and plain != url
    if not file_names.is_json_name(plain):
        candidates = [] if is_signed else file_names.aggregate_candidates(plain)
        return Run(url, next(filter(is_readable, candidates), None))
    look = peek.peek_document(remote.read_whole(url, MOST_JSON_BYTES), url)
    if look.kind not in (peek.AGGREGATE, peek.BROKEN, peek.LIKE_AGGREGATE):
        return look
    named = chain(_beside(plain, look.declared), file_names.rows_named_like(plain))
    rows = None if is_signed else next(filter(is_readable, named), None)
    if rows is not None:
        return Run(rows, url)
    leads_out = look.declared if look.declared and is_outside(look.declared) else None
    return without_rows(url, look.declared, leads_out)


def _beside(url: str, declared: str | None) -> list[str]:
    """Name the object beside an aggregate that it declares.

    The name adds no query, and leads to no other folder.
    """
    name = os.path.basename(declared or "")
    if name in {"", os.curdir, os.pardir} or any(sign in name for sign in _SIGNS_OF_URLS):
        return []
    if _is_web(url):
        # Folders need no library for URLs.
        from urllib.parse import quote

        name = quote(name)
    return [f"{url.rpartition('/')[0]}/{name}"]


def _is_web(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))
