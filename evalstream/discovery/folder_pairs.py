"""The pairs of a folder that names alone show, to divide them without opening a file."""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Iterable, Iterator
from functools import cached_property, partial

from evalstream.discovery.counterpart import places
from evalstream.discovery.local import LocalFolder, Sort, entry_type
from evalstream.discovery.peek import AGGREGATE, peek_aggregate, peek_safely
from evalstream.formats.registry import MAIN, NAMES, paired_format
from evalstream.io import names as file_names
from evalstream.io.spill_table import encode_name
from evalstream.model.run import NoInput, Run


class FolderPairs:
    """JSON files of a folder, each with the only rows that have its name, in listing order.

    `sizes` are those of the rows in bytes. `others` counts the other files that may hold data, and
    `digest` changes with the names of all such files, and with the sizes of the rows.
    """

    def __init__(self, path: str, exclude: Iterable[str]) -> None:
        exclusion = file_names.Exclusion(exclude)
        self._folder = LocalFolder(path, exclusion)
        self._names: list[tuple[str, str]] = []
        self.sizes = array("q")
        self.others = 0
        digest = hashlib.sha256(encode_name(f"{path}\n"))
        folders = [""]
        while folders:
            below = folders.pop()
            inner, files = _list_folder(self._folder.join_path(below), below, exclusion)
            folders += sorted(inner, key=encode_name, reverse=True)
            pairs = sorted(_name_pairs(files), key=lambda pair: encode_name(pair[0]))
            self.others += len(files) - 2 * len(pairs)
            self._names += ((below + one, below + rows) for one, rows in pairs)
            self.sizes.extend(files[rows] for _, rows in pairs)
            listed = (f"{below}{name}\0{files[name]}\n" for name in sorted(files, key=encode_name))
            digest.update(encode_name("".join(listed)))
        self.digest = digest.hexdigest()

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self._names)

    def paths(self) -> Iterator[str]:
        """Iterate over the paths of the JSON files."""
        return (self._folder.join_path(aggregate) for aggregate, _ in self._names)

    def find_run(self, index: int) -> Run | None:
        """Return the run of a pair as a search finds it, None if other files decide it."""
        aggregate, rows = self._names[index]
        path = self._folder.join_path(aggregate)
        look = peek_safely(partial(peek_aggregate, path))
        if look is None or look.kind != AGGREGATE or _is_member(aggregate):
            return None
        declared = look.declared
        for place in places(self._folder.root, aggregate, declared) if declared else ():
            if place == rows:
                break
            if os.path.lexists(os.path.join(self._folder.root, place)):
                return None
        return Run(self._folder.join_path(rows), path)

    def index_of(self, found: Run | NoInput) -> int | None:
        """Return the index of the pair to which a run of the folder belongs, or None."""
        if isinstance(found, NoInput) or found.format != MAIN or found.aggregate is None:
            return None
        return self._indexes.get(found.aggregate)

    @cached_property
    def _indexes(self) -> dict[str, int]:
        return {path: index for index, path in enumerate(self.paths())}


def _list_folder(
    path: str, below: str, exclusion: file_names.Exclusion
) -> tuple[list[str], dict[str, int]]:
    """List the folders in a folder that a search enters, and the data files with their sizes.

    The sizes of JSON files count as 0, and those of links and devices as -1.
    """
    folders: list[str] = []
    files: dict[str, int] = {}
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                name = entry.name
                if file_names.is_hidden(name) or exclusion.covers(below + name):
                    continue
                sort = entry_type(entry)
                if sort is Sort.FOLDER:
                    folders.append(f"{below}{name}/")
                elif file_names.is_data_name(name):
                    is_sized = sort is Sort.FILE and not file_names.is_json_name(name)
                    size = entry.stat(follow_symlinks=False).st_size if is_sized else 0
                    files[name] = size if sort is Sort.FILE else -1
    except OSError:
        pass  # the search of the whole folder reports it
    return folders, files


def _name_pairs(files: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Iterate over the names that are alone with their stem: a JSON file and rows."""
    by_stem: dict[str, list[str]] = {}
    for name in files:
        stem = os.path.splitext(file_names.without_packing(name))[0]
        for one in {stem, stem.removesuffix(file_names.SAMPLES)}:
            by_stem.setdefault(one, []).append(name)
    for stem, names in by_stem.items():
        aggregate = stem + file_names.AGGREGATE_ENDING
        if len(names) != 2 or aggregate not in names:
            continue
        rows = names[names[0] == aggregate]
        if file_names.rows_rank(stem, rows) is not None and min(files[aggregate], files[rows]) >= 0:
            yield aggregate, rows


def _is_member(path: str) -> bool:
    """Tell whether a format of documents may take a file by its path alone."""
    formats = filter(None, map(paired_format, NAMES))
    return any(one.kind_by_path(path, lambda: True) is not None for one in formats)
