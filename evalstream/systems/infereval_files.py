"""Where the documents of infereval lie, how they are read, and which of them belong together."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import IO, Any, Final

from evalstream.documents import LARGEST_DOCUMENT
from evalstream.errors import CannotCheck
from evalstream.formats import NAMES, eee
from evalstream.formats.infereval import (
    BENCHMARK,
    EVALUATION,
    ITEMS,
    NAME,
    kind_by_members,
    recognised,
)
from evalstream.formats.infereval_hash import hashes_of
from evalstream.glimpse import ARRAY, GLIMPSED_BYTES, OBJECT, Glimpse, glimpsed
from evalstream.members import Members
from evalstream.model import Options, Reader
from evalstream.parsing import UTF8_MARK, fast
from evalstream.runs import PACKED_ENDINGS, STDIN, Nothing, Run, printable
from evalstream.sources.compressed import Unpacked, compression_of
from evalstream.sources.remote import RemoteReader, is_remote
from evalstream.sources.stream import READ_BYTES, Descriptor, Rewound, Stored
from evalstream.standing import change_of
from evalstream.systems.infereval_shape import benchmark_validator, is_sound, shape_faults

MAGIC_BYTES: Final = 6
"""How many bytes tell a compression."""

ENDINGS: Final = (".json", *(f".json{packed}" for packed in PACKED_ENDINGS))
ROWS_ENDINGS: Final = (".jsonl", ".ndjson")


class Document:
    """A document whose bytes can be read from the first on again and again.

    What comes only once, from standard input or a pipe, is kept on disk meanwhile. Raises
    OSError where it cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._kept: IO[bytes] | None = None
        self._opened: os.stat_result | None = None
        if "\0" in path:
            raise OSError("its name has a NUL in it")
        if path == STDIN or (not is_remote(path) and comes_once(path)):
            self._kept = _copied(path)
        elif not is_remote(path):
            self._opened = os.stat(path)

    @property
    def size(self) -> int:
        """How many bytes are stored, 0 where that is not known."""
        return self._opened.st_size if self._opened is not None else 0

    def pieces(self) -> Iterator[bytes]:
        """Iterate over the bytes, unpacked. Raises OSError and CannotCheck."""
        reader = self._reader()
        try:
            start = b""
            while len(start) < MAGIC_BYTES and (data := reader.read()):
                start += data
            packed, reader = compression_of(start), Rewound(start, reader)
            if packed is not None:
                reader = Unpacked(reader, packed)
            while data := reader.read():
                yield data
        finally:
            reader.close()

    def whole(self) -> bytes:
        """Return all bytes, unpacked. Raises OSError and CannotCheck, also where they are many."""
        held = bytearray()
        for piece in self.pieces():
            held += piece
            if len(held) > LARGEST_DOCUMENT:
                most = LARGEST_DOCUMENT >> 20
                raise CannotCheck(f"a document of more than {most:,} MiB is not read into memory")
        return bytes(held)

    def changed(self) -> str | None:
        """Say what changed since the document was opened, where that can be told."""
        return None if self._opened is None else change_of(self._path, self._opened)

    def close(self) -> None:
        """Let go of what was kept."""
        if self._kept is not None:
            self._kept.close()

    def _reader(self) -> Reader:
        if self._kept is not None:
            self._kept.seek(0)
            return Descriptor(self._kept.fileno())
        return RemoteReader(self._path) if is_remote(self._path) else Stored(self._path)


@dataclass(frozen=True, slots=True)
class _Found:
    """A document in a folder: what it is, and by what it is joined with others."""

    path: str
    kind: str
    id: Any
    declared: Any = None


def kind_of(path: str) -> str | None:
    """Return which document a file is that is said to be one of this system's, if it is one.

    What is not readable or torn counts as an evaluation, so that it is told why. Raises OSError
    and CannotCheck.
    """
    seen = _seen(path)
    if seen.kind == ARRAY:
        return None
    kind = recognised(seen, "")
    if kind is None:
        members = _outline(path, "benchmark_id")
        kind = kind_by_members(members.keys()) or kind_by_members(seen.keys)
    return kind


def runs_below(folder: str) -> Iterator[Run | Nothing]:
    """Find the runs in a folder: evaluations with their benchmarks, and the benchmarks left."""
    troubles: list[Nothing] = []
    found = [one for path in _files_below(folder, troubles) for one in _looked_at(path)]
    documents = [one for one in found if isinstance(one, _Found)]
    yield from troubles
    benchmarks = [one for one in documents if one.kind == BENCHMARK]
    used: set[str] = set()
    runs: list[Run | Nothing] = []
    for one in found:
        if isinstance(one, Nothing):
            runs.append(one)
        elif one.kind == EVALUATION:
            run = _paired(one, benchmarks, folder)
            used.update([run.aggregate] if run.aggregate else [])
            runs.append(run)
        else:
            runs.append(Run(None, one.path, format=NAME))
    yield from (run for run in runs if isinstance(run, Nothing) or run.rows or _is_left(run, used))
    if not runs and not troubles:
        yield Nothing(folder, f"the folder holds {NOT_OURS}", format=NAME)


NOT_OURS: Final = (
    f"no benchmark and no evaluation of {NAME}; the formats that can be named are "
    f"{', '.join(NAMES)}"
)


def _is_left(run: Run, used: set[str]) -> bool:
    return run.aggregate not in used


def _paired(evaluation: _Found, benchmarks: list[_Found], folder: str) -> Run:
    """Find the benchmark of an evaluation by its id, and among several by benchmark_hash."""
    candidates = [one for one in benchmarks if one.id == evaluation.id and one.id is not None]
    if len(candidates) > 1:
        candidates = [one for one in candidates if _is_declared(one, evaluation)][:1] or candidates
    if len(candidates) == 1:
        return Run(evaluation.path, candidates[0].path, format=NAME)
    if candidates:
        names = ", ".join(printable(one.path) for one in candidates)
        reason = f"several benchmarks have its benchmark_id, and none its hash: {names}"
    else:
        reason = f"no benchmark in {printable(folder)} has its benchmark_id"
    return Run(evaluation.path, None, missing=reason, format=NAME)


def _is_declared(benchmark: _Found, evaluation: _Found) -> bool:
    document = _document(benchmark.path)
    if not is_sound(shape_faults(benchmark_validator("auto"), document)):
        return False
    return evaluation.declared in hashes_of(document, None)


def _looked_at(path: str) -> Iterator[_Found | Nothing]:
    """Say what a file in a folder is, if it is a document of this system."""
    try:
        seen = _seen(path)
        if eee.recognised(seen, path) is not None:
            yield Nothing(path, "this is a file of eee; it is to be named by itself", format=NAME)
            return
        if path.endswith(ROWS_ENDINGS):
            return
        kind = recognised(seen, path)
        has_items = ITEMS in seen.keys and seen.kind != ARRAY
        if kind is None and has_items:
            # What tells it may stand behind the items.
            behind = _outline(path, "benchmark_id")
            kind = recognised(Glimpse(OBJECT, seen.keys.union(behind)), path)
        if kind == BENCHMARK:
            document = _document(path)
            yield _Found(path, kind, document.get("id"))
        elif kind == EVALUATION:
            members = _outline(path, "benchmark_hash")
            yield _Found(path, kind, members.get("benchmark_id"), members.get("benchmark_hash"))
        elif has_items:
            message = "it has items, but else nothing of a benchmark or an evaluation"
            yield Nothing(path, f"{message}; --format-name {NAME} checks it alone", format=NAME)
    except OSError as error:
        yield Nothing(
            path, f"cannot be read: {error.strerror or error}", readable=False, format=NAME
        )
    except CannotCheck as error:
        yield Nothing(path, f"cannot be read: {error}", readable=False, format=NAME)


def _seen(path: str) -> Glimpse:
    """Look at the beginning of a document, unpacked."""
    head = b""
    with closing(Document(path)) as document:
        for piece in document.pieces():
            head += piece
            if len(head) >= GLIMPSED_BYTES:
                break
    return glimpsed(head[:GLIMPSED_BYTES])


def _outline(path: str, wanted: str) -> dict[str, Any]:
    """Return the members of a document but for its items, no more than up to a wanted one."""
    members = Members(ITEMS, Options().max_line_bytes)
    with closing(Document(path)) as document:
        for piece in document.pieces():
            had_begun = members.has_begun
            members.feed(piece)
            if members.has_begun and not had_begun:
                found = _parsed(members.envelope().text + b"}")
                if wanted in found:
                    return found
    members.end()
    return _parsed(members.envelope().text)


def _document(path: str) -> Any:
    with closing(Document(path)) as document:
        return _parsed(document.whole().removeprefix(UTF8_MARK))


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        value = fast(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _files_below(folder: str, troubles: list[Nothing]) -> Iterator[str]:
    """List files of JSON in order, hidden ones and links left out."""

    def trouble(error: OSError) -> None:
        troubles.append(
            Nothing(str(error.filename), f"{error.strerror}", readable=False, format=NAME)
        )

    for place, folders, names in os.walk(folder, onerror=trouble):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.normpath(os.path.join(place, name))
            is_ours = name.endswith((*ENDINGS, *ROWS_ENDINGS)) and not name.startswith(".")
            if is_ours and os.path.isfile(path) and not os.path.islink(path):
                yield path


def comes_once(path: str) -> bool:
    """Tell whether a path names something that can be read only once, such as a named pipe."""
    mode = os.stat(path).st_mode
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _copied(path: str) -> IO[bytes]:
    """Copy what comes only once to disk. Raises OSError."""
    if path == STDIN and sys.stdin is None:
        raise OSError("standard input is closed")
    copy = tempfile.TemporaryFile(prefix="evalstream-")  # noqa: SIM115 - closed by the document
    if path == STDIN:
        reader = Descriptor(sys.stdin.fileno())
        while data := reader.read():
            copy.write(data)
    else:
        with open(path, "rb", buffering=0) as source:
            shutil.copyfileobj(source, copy, READ_BYTES)
    copy.flush()
    return copy
