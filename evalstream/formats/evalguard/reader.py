"""Read the files of EvalGuard, and note why some are not documents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

from evalstream.engine.documents import DocumentCheck
from evalstream.engine.layout import LM_EVAL, LOGS_OF_FORMATS
from evalstream.formats.base import Detector, other_formats
from evalstream.formats.evalguard import views
from evalstream.formats.evalguard.document import (
    LARGEST_DOCUMENT,
    Reading,
    is_of_another,
    read,
    read_bytes,
    unread_document,
)
from evalstream.formats.evalguard.files import File, iterate_files, kind_of_part
from evalstream.formats.evalguard.format import (
    KINDS,
    MANIFEST_FILE,
    METRIC,
    METRICS,
    NAME,
    REPORT,
    RESPONSE,
    TASK,
    file_stem,
    is_manifest,
    kind_of_folder,
)
from evalstream.formats.evalguard.manifest import Digest, FolderManifest, make_digest
from evalstream.formats.evalguard.report import is_of_harness
from evalstream.formats.evalguard.responses import Response, make_response
from evalstream.formats.evalguard.rules.documents import EVG101, EVG502
from evalstream.formats.evalguard.rules.folder import SIGNS, check_schema, check_schema_name
from evalstream.io.beginning import read_beginning
from evalstream.io.names import Exclusion, is_local, is_rows_name, printable
from evalstream.io.progress import Progress
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck, describe_error
from evalstream.model.finding import PlacedViolation, Severity, Violation
from evalstream.model.run import STDIN
from evalstream.model.signals import STOPPING
from evalstream.rules.inputs import ES001, ES005

UNKNOWN: Final = (
    "neither its folder nor its members show a document of EvalGuard, "
    f"so that it was not checked; {other_formats()}"
)

_FOLDERS: Final = 1024
"""How many folders are remembered with their true paths."""


class ReadFile(NamedTuple):
    """A file that was read: its name in reports, and its document, if it has one.

    Results of a harness that have rows beside them make their claims as its log.
    """

    name: str
    reading: Reading
    document: views.Document | None
    response: Response | None = None
    has_rows: bool = False

    @property
    def documents(self) -> tuple[views.Document, ...]:
        """The documents in the file."""
        if self.response is not None:
            return self.response.documents
        return () if self.document is None else (self.document,)

    @property
    def makes_claims(self) -> bool:
        """Whether the file reports measured values that are checked with it."""
        has_reports = any(document.kind == REPORT for document in self.documents)
        has_reports = has_reports and not self.has_rows
        return has_reports or (self.response is not None and self.response.endpoint == METRICS)


class FolderReader:
    """Reads the files of a run.

    `folder` has the documents, `manifests` those of folders, and `digests` the digests of the files
    that were read, by path, if there are manifests.
    """

    def __init__(self, documents: DocumentCheck, detect: Detector) -> None:
        self._documents, self._detect = documents, detect
        self._holds_rows = lru_cache(maxsize=_FOLDERS)(self._find_rows)
        self._run, self._options = documents.run, documents.options
        self.folder = views.Folder()
        self.manifests: list[FolderManifest] = []
        self.digests: dict[str, Digest] = {}

    def read(self, progress: Progress) -> list[ReadFile]:
        """Read all files, and add their documents to the folder."""
        found: list[ReadFile] = []
        for file in self._without_manifests(self._files()):
            STOPPING.check()
            before = self._documents.size
            one = self._read(file)
            if one is not None:
                found.append(one)
            progress.advance(self._documents.size - before, len(found))
        own = [one.document for one in found if one.document is not None]
        self.folder.followed = self._is_followed(own)
        for document in own:
            self.folder.add(document)
        self.folder.left_out = self._left_out(found)
        return found

    def _iterate_named(self) -> Iterator[str]:
        return filter(None, (self._run.rows, self._run.aggregate, *self._run.beside))

    def iterate_folders(self) -> Iterator[str]:
        """Yield the folders that were named."""
        for path in self._iterate_named():
            if is_local(path) and os.path.isdir(path):
                yield path

    def _files(self) -> Iterator[File]:
        """Yield every file once."""
        seen: set[str] = set()
        real_folder = lru_cache(maxsize=_FOLDERS)(os.path.realpath)
        for path in self._iterate_named():
            for file in iterate_files(path, self._options.exclude):
                true_path = file.path
                if file.is_found and not file.is_link:
                    folder, name = os.path.split(file.path)
                    true_path = f"{real_folder(folder)}/{name}"
                elif is_local(file.path):
                    true_path = os.path.realpath(file.path)
                if true_path not in seen or file.leaves:
                    seen.add(true_path)
                    yield file

    def _without_manifests(self, files: Iterable[File]) -> list[File]:
        found = list(files)
        paths = [file.path for file in found if is_manifest(file.path) and not file.leaves]
        if found and not found[0].is_found and is_manifest(found[0].path):
            return []
        if self._options.sealing is not None and self._run.rows is not None:
            paths.append(os.path.normpath(os.path.join(self._run.rows, MANIFEST_FILE)))
        self.manifests = [FolderManifest(path) for path in dict.fromkeys(paths)]
        return [file for file in found if file.path not in paths]

    def _is_followed(self, documents: list[views.Document]) -> bool:
        """Return whether references lead to documents that were named, too."""
        is_folder = any(True for _ in self.iterate_folders())
        beyond_reports = any(document.kind != REPORT for document in documents)
        unread = any(stems for kind, stems in self.folder.unread.items() if kind != REPORT)
        return (is_folder or self._run.aggregate is not None) and (beyond_reports or unread)

    def _left_out(self, read_files: list[ReadFile]) -> frozenset[str]:
        """Return the kinds that documents refer to, but that the call leaves out.

        A folder named after a kind of document is a part of a configuration; what is in its other
        parts is not known.
        """
        if not self.folder.followed or not all(map(kind_of_part, self._iterate_named())):
            return frozenset()
        kinds = {one.reading.kind for one in read_files}
        return frozenset() if None in kinds else frozenset({TASK, METRIC} - kinds)

    def _read(self, file: File) -> ReadFile | None:
        """Read a file, or return None if this check does not read it."""
        name = printable(file.path)
        if file.leaves:
            message = "the link leads out of the folder and was not followed"
            reason = f"{name}: a link out of the folder"
            return self._not_read(file, EVG502.violation(message), reason)
        if file.incomplete_reason:
            reason = f"cannot be read: {file.incomplete_reason}"
            return self._not_read(file, ES001.violation(reason), f"{name}: {reason}")
        try:
            text = read_bytes(file.path, self._documents.watch)
        except (OSError, CannotCheck) as error:
            reason = f"cannot be read: {describe_error(error)}"
            return self._not_read(file, ES001.violation(reason), f"{name} {reason}")
        if text is None:
            message = f"larger than {LARGEST_DOCUMENT >> 20} MiB, the limit for a document"
            return self._not_read(file, ES005.violation(message), f"{name} is {message}")
        self._documents.size += len(text)
        if self.manifests:
            self.digests[os.path.normpath(file.path)] = make_digest(text)
        return None if is_of_another(file, text, self._detect) else self._parse_file(file, text)

    def _parse_file(self, file: File, text: bytes) -> ReadFile:
        name = printable(file.path)
        try:
            reading = read(file, text, self._options.max_depth)
        except CannotCheck as error:
            violation = ES001.violation(f"cannot be read: {error}")
            return self._not_read(file, violation, f"{name}: {error}")
        if reading.value is not None and _is_schema(file, reading.value):
            return ReadFile(
                name, reading._replace(violations=[*self._of_schema(file, reading)]), None
            )
        return self._document(file, name, reading)

    def _of_schema(self, file: File, reading: Reading) -> Iterator[PlacedViolation]:
        yield from reading.violations
        about = EVG101.violation("a schema, not a document", severity=Severity.INFO)
        yield PlacedViolation(about)
        for violation in check_schema_name(file.path, is_nested=bool(file.folders)):
            yield PlacedViolation(violation)
        for violation in check_schema(reading.value or {}, self._options.engine):
            if violation.pointer not in reading.replaced:
                yield PlacedViolation(violation)

    def _document(self, file: File, name: str, reading: Reading) -> ReadFile:
        if reading.value is None:
            self._documents.cannot(f"{name} could not be read as a document")
            self._remember(file, reading)
            return ReadFile(name, reading, None)
        if reading.kind is None:
            self._documents.cannot(f"{name} is not a known document")
            violations = [*reading.violations, PlacedViolation(ES005.violation(UNKNOWN))]
            return ReadFile(name, reading._replace(violations=violations), None)
        if reading.kind == RESPONSE:
            return ReadFile(name, reading, None, make_response(name, reading.value))
        stem = None if file.path == STDIN else file_stem(file.path)
        document = views.Document(name, reading.kind, reading.value, stem, len(file.folders))
        is_log = reading.kind == REPORT and is_of_harness(document)
        return ReadFile(name, reading, document, has_rows=is_log and self._has_rows(file))

    def _has_rows(self, file: File) -> bool:
        """Tell whether a search finds rows beside results, which it checks as logs of both."""
        is_searched = file.is_found and self._options.input_format != NAME
        return is_searched and self._holds_rows(os.path.dirname(file.path))

    def _find_rows(self, folder: str) -> bool:
        """Tell whether a folder holds rows of lm-eval that a search takes."""
        exclusion = Exclusion(self._options.exclude)
        try:
            names = [one for one in os.listdir(folder) if not one.startswith(".")]
            paths = [os.path.join(folder, name) for name in names]
            rows = filter(os.path.isfile, filter(is_rows_name, paths))
            kinds = [self._detect(read_beginning(o)) for o in rows if not exclusion.covers_below(o)]
        except OSError:
            return False
        logs = (LOGS_OF_FORMATS.get(f"{one.format} {one.document}") for one in kinds if one)
        return any(log is not None and log.harness == LM_EVAL for log in logs)

    def _not_read(self, file: File, violation: Violation, reason: str) -> ReadFile:
        self._documents.cannot(reason)
        reading = unread_document(file, violation)
        self._remember(file, reading)
        return ReadFile(printable(file.path), reading, None)

    def _remember(self, file: File, reading: Reading) -> None:
        """Remember what an unread file may define, so that it is not reported as missing."""
        for kind in KINDS if reading.kind is None else (reading.kind,):
            self.folder.unread[kind].add(file_stem(file.path))
        layout = views.LAYOUT_OF_KIND.get(reading.kind or "")
        if layout is not None:
            self.folder.unread_layouts.add(layout)


def _is_schema(file: File, value: dict[str, Any]) -> bool:
    return file.is_schema and bool(SIGNS & value.keys() or kind_of_folder(file.folders) is None)
