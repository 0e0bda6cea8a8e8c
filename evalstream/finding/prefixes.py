"""A prefix in a store that is looked through for runs, as a folder is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evalstream.errors import CannotCheck
from evalstream.finding.looking import (
    AGGREGATE,
    LARGEST_AGGREGATE,
    TOO_LARGE,
    Look,
    looked,
)
from evalstream.finding.trees import Known, Tree
from evalstream.runs import (
    AGGREGATE_ENDING,
    ALL_ROWS_ENDINGS,
    SAMPLES,
    Nothing,
)
from evalstream.sources.remote import as_prefix, exists, listed, read_each


class Prefix:
    """A prefix and the names of the objects below it."""

    def __init__(self, url: str) -> None:
        self._start = as_prefix(url)

    def fill(self, tree: Tree) -> Iterator[Nothing]:
        """List all objects below the prefix; where they cannot all be, say so and keep none.

        Rows whose aggregate was not listed would look as if they had none.
        """
        try:
            for page in listed(self._start):
                tree.add(page)
        except (OSError, CannotCheck) as error:
            tree.clear()
            yield Nothing(self._start, f"it could not be listed: {error}", readable=False)

    def path_of(self, below: str) -> str:
        """Return the URL of what is below the prefix."""
        return self._start + below

    def below(self, path: str) -> str | None:
        """Return which path below the prefix a URL names, None where it leads elsewhere."""
        return path.removeprefix(self._start) if path.startswith(self._start) else None

    def really_below(self, _path: str) -> str | None:
        """Return None: stores have no links."""
        return None

    def identity(self, below: str) -> str:
        """Return the one URL of what is below the prefix."""
        return self.path_of(below)

    def holds(self, path: str) -> bool:
        """Tell whether there is an object that was not listed, outside the prefix."""
        return self.below(path) is None and is_readable(path)

    def has_folder(self, _path: str) -> bool:
        """Return True: stores have no folders of which one could tell."""
        return True

    def look(self, _path: str) -> Look | None:
        """Return None: what was not listed is not there."""
        return None

    def looks(self, files: Iterable[Known], tree: Tree) -> Iterator[Look | None]:
        """Look into JSON objects, some at once.

        Those that have their rows beside them by name are not read: `x.json` is the aggregate
        of `x_samples.jsonl`, and whoever checks the two sees what it declares.
        """
        files = list(files)
        known = [_known_by_list(file, tree) for file in files]
        unread = [file for file, look in zip(files, known, strict=True) if look is None]
        texts = read_each((self.path_of(file.path) for file in unread), LARGEST_AGGREGATE)
        for look in known:
            if look is not None:
                yield look
                continue
            text = next(texts)
            yield Look(AGGREGATE) if text is None else looked(text)

    def beside(self, folder: str, tree: Tree) -> Iterator[str]:
        """List the aggregates of a folder."""
        return map(self.path_of, tree.aggregates_in(self.below(f"{folder}/") or ""))


def is_readable(url: str) -> bool:
    """Tell whether a remote file is there; many stores forbid to look at what is not."""
    try:
        return exists(url)
    except PermissionError:
        return False


def _known_by_list(file: Known, tree: Tree) -> Look | None:
    """Say what an object is as far as names and sizes tell, None where it has to be read."""
    if (file.size or 0) > LARGEST_AGGREGATE:
        return Look(TOO_LARGE)
    stem = file.path.removesuffix(AGGREGATE_ENDING)
    named = (f"{stem}{SAMPLES}{ending}" for ending in ALL_ROWS_ENDINGS)
    return Look(AGGREGATE) if any(map(tree.known, named)) else None
