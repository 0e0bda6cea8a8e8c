"""The manifest of a folder: the SHA-256 of each of its documents (section 9.2)."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from evalstream.engine.documents import DocumentCheck
from evalstream.engine.positions import json_locator
from evalstream.formats.evalguard.document import LARGEST_DOCUMENT, read_bytes
from evalstream.formats.evalguard.files import iterate_files
from evalstream.formats.evalguard.format import MANIFEST, MANIFEST_FILE, is_manifest, schema_name
from evalstream.formats.evalguard.rules.documents import EVG601, EVG602, EVG603, EVG604
from evalstream.io.inputs import document_bytes
from evalstream.io.names import printable
from evalstream.io.readers import Watch
from evalstream.model.changes import SealedText
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Violation
from evalstream.model.signals import STOPPING
from evalstream.model.text import count_noun
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import fast_or_none

ALGORITHM: Final = "sha256"


class Digest(NamedTuple):
    """The SHA-256 of a file's bytes, as hex digits, and their number."""

    sha256: str
    size: int


def make_digest(text: bytes) -> Digest:
    """Return the digest of a file's bytes."""
    return Digest(sha256(text).hexdigest(), len(text))


def sealed_folder(folder: str) -> SealedText:
    """Return the manifest of a folder as it is and as it would be now.

    Raises OSError and CannotCheck for a file that cannot be read, or that a link leads to outside
    of the folder.
    """
    digests: dict[str, Digest] = {}
    seen: set[str] = set()
    for file in iterate_files(folder):
        STOPPING.check()
        true_path = os.path.realpath(file.path)
        # The check reads a file once, whatever links lead to it.
        if is_manifest(file.path) or (true_path in seen and not file.leaves):
            continue
        seen.add(true_path)
        if file.leaves or file.incomplete_reason:
            reason = file.incomplete_reason or "the link leads out of the folder"
            raise CannotCheck(f"{printable(file.path)}: {reason}")
        text = read_bytes(file.path, Watch())
        if text is None:
            raise CannotCheck(f"{printable(file.path)} is larger than {LARGEST_DOCUMENT:,} bytes")
        digests[os.path.relpath(file.path, folder).replace(os.sep, "/")] = make_digest(text)
    path = os.path.join(folder, MANIFEST_FILE)
    before = _read_stored(path)
    return SealedText(path, before, format_manifest(digests), is_foreign=_is_foreign(before))


def _is_foreign(text: bytes | None) -> bool:
    if not text:
        return False
    value = fast_or_none(text)
    return not isinstance(value, dict) or value.keys() != {"algorithm", "documents"}


def _read_stored(path: str) -> bytes | None:
    """Return the bytes of the stored manifest, or None without one.

    Raises CannotCheck for what is not a regular file: a link may lead to the manifest of another
    folder, or to any other file, which the seal would replace, and opening a named pipe blocks.
    """
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise CannotCheck(f"{printable(path)} is not a regular file")
    return document_bytes(path)


def format_manifest(digests: Mapping[str, Digest]) -> bytes:
    """Return the text of a manifest: one line for each document, in the order of their paths."""
    lines = [
        f"    {json.dumps({'path': path, 'sha256': digest.sha256, 'size': digest.size})}"
        for path, digest in sorted(digests.items())
    ]
    listed = ",\n".join(lines)
    return f'{{\n  "algorithm": "{ALGORITHM}",\n  "documents": [\n{listed}\n  ]\n}}\n'.encode()


class FolderManifest:
    """A manifest in a folder that is checked, and what of it was compared.

    `path` is its path, `count` the number of documents that are as it lists them, and `total` the
    number that it lists.
    """

    def __init__(self, path: str) -> None:
        self.path, self.folder = path, os.path.dirname(path)
        self.count = self.total = 0
        self.is_kept = False

    def check(
        self, documents: DocumentCheck, digests: Mapping[str, Digest], text: bytes | None
    ) -> None:
        """Compare the manifest, or the `text` that will be it, with the files that were read."""
        name = printable(self.path)
        if text is None:
            text = documents.bytes(self.path)
        if text is None:
            return
        documents.locate(json_locator(text), name)
        reading = documents.read(text, name, "a manifest")
        if reading is None or reading.value is None:
            return
        value = reading.value
        faults = list(
            documents.schema_violations(schema_name(MANIFEST), value, EVG601.code)
        ) or list(_faults(value["documents"]))
        documents.note_all(reading.filter_violations(faults), name)
        if faults:
            documents.cannot(f"nothing could be compared with {name}")
            return
        found = list(self._differences(documents, value["documents"], digests))
        self.is_kept = not found
        documents.note_all(found, name)
        for violation, path in self._report_unlisted(value["documents"], digests):
            self.is_kept = False
            documents.note(violation, printable(path))

    def _differences(
        self, documents: DocumentCheck, listed: list[dict[str, Any]], digests: Mapping[str, Digest]
    ) -> Iterator[Violation]:
        self.total = len(listed)
        unread = 0
        for index, one in enumerate(listed):
            path = os.path.join(self.folder, one["path"])
            digest, place = digests.get(path), pointer(("documents", index, "path"))
            if digest is not None and digest == Digest(one["sha256"], one["size"]):
                self.count += 1
            elif digest is not None:
                yield _report_changed(digest, one, index)
            elif os.path.lexists(path):
                unread += 1
            else:
                message = "no such file is in the folder any more"
                yield EVG603.violation(message, place, found=one["path"])
        if unread:
            documents.cannot(f"{count_noun(unread, 'document')} of {printable(self.path)} not read")

    def _report_unlisted(
        self, listed: list[dict[str, Any]], digests: Mapping[str, Digest]
    ) -> Iterator[tuple[Violation, str]]:
        known = {os.path.join(self.folder, one["path"]) for one in listed}
        start = f"{self.folder.rstrip('/')}/" if self.folder else ""
        for path in digests:
            if path.startswith(start) and path not in known:
                message = f"the document is not in the manifest {printable(self.path)}"
                yield EVG604.violation(message), path


def _report_changed(digest: Digest, listed: Mapping[str, Any], index: int) -> Violation:
    path = listed["path"][:200]
    if digest.sha256 == listed["sha256"]:
        message = f"{path} has {count_noun(digest.size, 'byte')}"
        return EVG602.violation(message, ("documents", index, "size"), found=listed["size"])
    message = f"{path} is not the document that was sealed: its SHA-256 is {digest.sha256}"
    return EVG602.violation(message, ("documents", index, "sha256"), found=listed["sha256"])


def _faults(listed: list[dict[str, Any]]) -> Iterator[Violation]:
    seen: set[str] = set()
    for index, one in enumerate(listed):
        path, place = one["path"], pointer(("documents", index, "path"))
        parts = path.split("/")
        if "\0" in path or "\\" in path or {"", ".", ".."} & set(parts):
            yield EVG601.violation("not a path below the folder of the manifest", place, found=path)
        elif path in seen:
            yield EVG601.violation("the path is listed twice", place, found=path)
        seen.add(path)
