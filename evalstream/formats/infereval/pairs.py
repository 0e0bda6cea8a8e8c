"""Pair the documents of infereval: by benchmark_id, then by benchmark_hash."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from evalstream.formats.base import Documents
from evalstream.formats.infereval.benchmark_hash import benchmark_hashes
from evalstream.formats.infereval.files import outline, peek_file
from evalstream.formats.infereval.format import BENCHMARK, EVALUATION, NAME, kind_by_signs
from evalstream.io.containment import files_inside
from evalstream.io.names import is_json_name, is_local, printable
from evalstream.io.spill_table import SpillTable, decode_name, encode_name
from evalstream.model.errors import CannotCheck, describe_error
from evalstream.model.options import Options
from evalstream.model.run import NoInput, Run
from evalstream.parsing.json import canonical, text_or_none

MOST_BESIDE: Final = 500
"""The number of documents beside a named evaluation among which its benchmark is searched."""

NAMED: Final = 5
"""The number of benchmarks with the same id that a message lists."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A document in a folder: its kind, and the ids that join it with others."""

    path: str
    kind: str
    id: Any
    declared: Any = None


def pair_runs(documents: Documents, *, named: bool) -> Iterator[Run | NoInput]:
    """Pair evaluations with their benchmarks by path; other benchmarks are runs of their own.

    If the documents were `named` in one call, the only unmatched evaluation and benchmark form a
    pair whatever their ids: the check reports that they differ.
    """
    with closing(_Documents()) as kept:
        for kind, path in documents():
            kept.take(kind, path)
        kept.pair(named=named)
        yield from kept.runs(named=named)


_TABLES: Final = """
    CREATE TABLE document (
        number INTEGER PRIMARY KEY, path BLOB, kind TEXT, id BLOB, declared TEXT,
        benchmark BLOB, missing TEXT, used INTEGER DEFAULT 0, reason TEXT, readable INTEGER
    );
    CREATE INDEX by_id ON document (id);
"""


class _Documents:
    def __init__(self) -> None:
        self._kept = SpillTable(_TABLES)
        self.close = self._kept.close
        self._find_hashes = lru_cache(maxsize=1024)(
            lambda path: benchmark_hashes(path, None, Options())
        )

    def take(self, kind: str, path: str) -> None:
        """Read the ids of a document, and remember them."""
        one = looked_at(path, kind)
        row: tuple[Any, ...]
        if isinstance(one, NoInput):
            row = (encode_name(path), None, None, None, one.reason, one.readable)
        else:
            id_ = None if one.id is None else canonical(one.id)
            declared = text_or_none(one.declared)
            row = (encode_name(path), one.kind, id_, declared, None, None)
        self._kept.change(
            "INSERT INTO document (path, kind, id, declared, reason, readable) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [row],
        )

    def pair(self, *, named: bool) -> None:
        """Find the benchmark of each evaluation by its id, and among several by benchmark_hash."""
        for number, id_, declared in self._each("id, declared", EVALUATION):
            self._choose(number, declared, self._benchmarks(id_))
        if named:
            self._join_last()
            for number, path, id_, declared in self._left():
                self._choose(number, declared, list(benchmarks_beside(path, id_)))

    def _choose(self, number: int, declared: str | None, candidates: list[str]) -> None:
        """Join an evaluation with the only candidate, or the one that has the declared hash."""
        if len(candidates) > 1:
            several = candidates
            candidates = [one for one in several if declared in self._find_hashes(one)][:1]
            candidates = candidates or several
        if len(candidates) == 1:
            self._join(number, candidates[0])
        elif candidates:
            names = ", ".join(map(printable, candidates[:NAMED]))
            reason = f"several benchmarks have its benchmark_id, but none has its hash: {names}"
            self._kept.change(
                "UPDATE document SET missing = ? WHERE number = ?", [(reason, number)]
            )

    def _left(self) -> list[tuple[int, str, bytes, str | None]]:
        """Return the evaluations with an id that have no benchmark, if none was named."""
        found = self._kept.rows(
            "SELECT number, path, id, declared FROM document WHERE kind = ? AND id IS NOT NULL "
            "AND benchmark IS NULL AND missing IS NULL",
            EVALUATION,
        )
        return [(number, decode_name(path), id_, declared) for number, path, id_, declared in found]

    def runs(self, *, named: bool) -> Iterator[Run | NoInput]:
        where = "that was named" if named else "in the searched folder"
        unread = "SELECT 1 FROM document WHERE kind IS NULL OR kind = ? AND id IS NULL LIMIT 1"
        has_unread = self._kept.rows(unread, BENCHMARK)
        where += " that could be read" if has_unread else ""
        none = f"no benchmark {where} has its benchmark_id"
        if named and not self._kept.rows("SELECT 1 FROM document WHERE kind = ?", BENCHMARK):
            none = ""  # the check says that there was none to compare it with
        columns = "path, kind, benchmark, missing, used, reason, readable"
        for _, path, kind, benchmark, missing, used, reason, readable in self._each(columns):
            name = decode_name(path)
            if kind is None:
                yield NoInput(name, reason, readable=bool(readable), format=NAME)
            elif kind == BENCHMARK:
                if not used:
                    yield Run(None, name, format=NAME)
            elif benchmark is not None:
                yield Run(name, decode_name(benchmark), format=NAME)
            else:
                yield Run(name, None, missing=missing or none or None, format=NAME)

    def _each(self, columns: str, kind: str | None = None) -> Iterator[Any]:
        which = "" if kind is None else f"AND kind = '{kind}'"
        query = f"SELECT number, {columns} FROM document WHERE number > ? {which} LIMIT 500"  # noqa: S608 - ours
        return self._kept.pages(query)

    def _benchmarks(self, id_: bytes | None) -> list[str]:
        found = self._kept.rows(
            "SELECT path FROM document WHERE id = ? AND kind = ? ORDER BY number", id_, BENCHMARK
        )
        return [decode_name(path) for (path,) in found]

    def _join(self, number: int, benchmark: str) -> None:
        name = encode_name(benchmark)
        self._kept.change("UPDATE document SET benchmark = ? WHERE number = ?", [(name, number)])
        self._kept.change("UPDATE document SET used = 1 WHERE path = ?", [(name,)])

    def _join_last(self) -> None:
        """Join one evaluation and one benchmark, if only these two are unmatched."""
        left = self._kept.rows(
            "SELECT number FROM document WHERE kind = ? AND benchmark IS NULL LIMIT 2", EVALUATION
        )
        unused = self._kept.rows(
            "SELECT path FROM document WHERE kind = ? AND used = 0 LIMIT 2", BENCHMARK
        )
        if len(left) == len(unused) == 1:
            self._join(left[0][0], decode_name(unused[0][0]))


def benchmarks_beside(evaluation: str, id_: bytes) -> Iterator[str]:
    """Iterate over the benchmarks with an id, as JSON, in the folder of an evaluation.

    No other folder is searched, and of a folder with very many documents only the first ones.
    """
    if not is_local(evaluation):
        return
    folder = os.path.dirname(evaluation)
    with suppress(OSError):
        names = sorted(filter(is_json_name, os.listdir(folder or os.curdir)))
        for name in files_inside(folder, names[:MOST_BESIDE]):
            path = os.path.join(folder, name)
            if not _is_same(path, evaluation) and _has_id(path, id_):
                yield path


def _is_same(one: str, other: str) -> bool:
    with suppress(OSError):
        return os.path.samefile(one, other)
    return False


def _has_id(path: str, id_: bytes) -> bool:
    """Tell whether a file is a benchmark with an id; another file is not read to its end."""
    with suppress(OSError, CannotCheck):
        if kind_by_signs(peek_file(path).keys) != BENCHMARK:
            return False
        found = looked_at(path, BENCHMARK)
        return isinstance(found, _Found) and found.id is not None and canonical(found.id) == id_
    return False


def looked_at(path: str, kind: str) -> _Found | NoInput:
    """Return the ids that join a document with others; `kind` is its detected kind, if any."""
    try:
        if kind not in (EVALUATION, BENCHMARK):
            # The ids may come after the items.
            members = peek_file(path).keys.union(outline(path, "benchmark_id"))
            kind = kind_by_signs(members) or ""
        if kind == BENCHMARK:
            return _Found(path, kind, outline(path, "id").get("id"))
        if kind == EVALUATION:
            found = outline(path, "benchmark_hash")
            return _Found(path, kind, found.get("benchmark_id"), found.get("benchmark_hash"))
    except (OSError, CannotCheck) as error:
        if kind in (EVALUATION, BENCHMARK):
            return _Found(path, kind, None)  # its check reports why it cannot be read
        return NoInput(
            path, f"cannot be read: {describe_error(error)}", readable=False, format=NAME
        )
    message = "it has items, but no other member of a benchmark or an evaluation"
    return NoInput(path, f"{message}; --input-format {NAME} checks it alone", format=NAME)
