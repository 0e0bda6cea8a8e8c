"""The bytes of objects and of their files in data/: hashed in threads, or known without that."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice, zip_longest
from typing import Any, Final

from evalstream.executors import threads
from evalstream.executors.base import run_in_order
from evalstream.io.remote import is_remote
from evalstream.model.data_class import NamedTuple
from evalstream.store.files import FileMoved, StoreFiles, read_small
from evalstream.store.layout import RECORD, Content

_BUNDLE: Final = 16
_REMOTE_READERS: Final = 8

Known = dict[str, str]
"""Digests that a ledger knows or a host's listing gives, by path."""


class ContentTask(NamedTuple):
    """An object to be read, the file of data/ that should have its bytes, and its entry's claims.

    `data` is None where no file of data/ belongs to it. `version` is the schema_version of the
    entry, if the object's is compared with it.
    """

    object: str
    data: str | None
    content: Content
    known: Known
    are_twins_equal: bool = False
    version: str | None = None


class ContentFault(NamedTuple):
    """A finding about a file: its code, path and message; `is_info` where only the writing differs.

    The code of a file that could not be read is ES001.
    """

    code: str
    path: str
    message: str
    details: dict[str, Any]
    is_info: bool = False


class ContentResult(NamedTuple):
    """What became of a task: what is wrong, and the digests of the files that were read."""

    task: ContentTask
    faults: list[ContentFault]
    digests: Known
    bytes: int


def check_contents(
    files: StoreFiles, tasks: Iterable[ContentTask], jobs: int
) -> Iterator[ContentResult]:
    """Check the contents of objects in threads, and yield the results in the order of the tasks."""
    workers = max(jobs, _REMOTE_READERS) if is_remote(files.root) else jobs
    source = iter(tasks)
    bundles = iter(lambda: list(islice(source, _BUNDLE)), [])
    check = partial(_check_bundle, files)
    for results in run_in_order(threads.backend(workers), check, bundles):
        yield from results


def _check_bundle(files: StoreFiles, tasks: list[ContentTask]) -> list[ContentResult]:
    return [_check(files, task) for task in tasks]


def _check(files: StoreFiles, task: ContentTask) -> ContentResult:
    reading = _Reading(files, task)
    expected = task.content.sha256
    found = reading.digest(task.object, "ES923", "the object is missing")
    if found is not None and found != expected:
        message = "the object has another SHA-256 than its entry"
        reading.fault("ES924", task.object, message, expected=expected, found=found)
    if found is not None and task.version is not None and task.object.endswith(RECORD):
        reading.compare_version(task.version)
    if task.data is not None and not task.are_twins_equal:
        twin = reading.digest(task.data, "ES927", "the file of the entry is missing")
        if twin is not None and twin != expected:
            reading.explain_drift(task.data, expected, twin)
    return ContentResult(task, reading.faults, reading.digests, reading.bytes)


class _Reading:
    """Reads the files of a task, and collects what is wrong with them."""

    def __init__(self, files: StoreFiles, task: ContentTask) -> None:
        self._files, self._task = files, task
        self.faults: list[ContentFault] = []
        self.digests: Known = {}
        self.bytes = 0

    def fault(self, code: str, path: str, message: str, **details: Any) -> None:
        """Add a fault."""
        self.faults.append(ContentFault(code, path, message, details))

    def digest(self, path: str, code: str, missing: str) -> str | None:
        """Return the SHA-256 of a file, or None, with a fault, where it cannot be read in full."""
        if path in self._task.known:
            return self._task.known[path]
        digest = hashlib.sha256()
        try:
            for piece in self._files.read(path):
                digest.update(piece)
                self.bytes += len(piece)
        except FileNotFoundError:
            self.fault(code, path, missing)
        except FileMoved as error:
            self.fault("ES931", path, f"the file changed while it was read: {error}")
        except OSError as error:
            self.fault("ES001", path, error.strerror or str(error))
        else:
            self.digests[path] = digest.hexdigest()
            return self.digests[path]
        return None

    def compare_version(self, version: str) -> None:
        """Compare the schema_version of the object with that of its entry."""
        path = self._task.object
        try:
            found = json.loads(read_small(self._files, path)).get("schema_version")
        except (OSError, ValueError, AttributeError, RecursionError):
            return  # the check of the pair says why it cannot be read
        if found != version:
            message = "eval_schema_version of the entry is not the schema_version of the record"
            self.fault("ES921", path, message, expected=found, found=version)

    def explain_drift(self, path: str, expected: str, found: str) -> None:
        """Add that a file of data/ differs, as an info where only its writing does."""
        try:
            is_same = is_same_json(self._files, self._task.object, self._files, path)
        except OSError as error:
            self.fault("ES001", path, error.strerror or str(error))
            return
        message = "the file of data/ is not the one of its entry"
        if is_same:
            message = "the file of data/ was written anew: its JSON is that of its entry"
        details = {"expected": expected, "found": found}
        self.faults.append(ContentFault("ES927", path, message, details, is_same))


def is_same_json(one: StoreFiles, path: str, other: StoreFiles, other_path: str) -> bool:
    """Tell whether two documents, or two files of rows, have equal JSON: types and lists in order.

    Raises OSError where one of them cannot be read.
    """
    pair = _documents(one, path), _documents(other, other_path)
    try:
        return all(mine == theirs for mine, theirs in zip_longest(*pair))
    except (ValueError, RecursionError):
        return False


def _documents(files: StoreFiles, path: str) -> Iterator[str]:
    """Iterate over the documents of a file, each in one writing."""
    if path.endswith(RECORD):
        yield _normalize(read_small(files, path))
        return
    rest = b""
    for piece in files.read(path):
        *lines, rest = (rest + piece).split(b"\n")
        yield from (_normalize(line) for line in lines if line.strip())
    if rest.strip():
        yield _normalize(rest)


def _normalize(text: bytes) -> str:
    """Write JSON so that equal values are equal texts; members that stand twice stay so."""
    return json.dumps(json.loads(text, object_pairs_hook=_sort_members))


def _sort_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
    return {"": sorted(members, key=lambda member: member[0])}
