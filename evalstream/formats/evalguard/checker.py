"""Find and check the files of EvalGuard."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from evalstream.engine.documents import DocumentCheck
from evalstream.engine.row_pass import describe_error
from evalstream.formats.base import Detector, other_formats
from evalstream.formats.evalguard import views
from evalstream.formats.evalguard.document import (
    LARGEST_DOCUMENT,
    Reading,
    conform,
    in_one,
    is_of_another,
    possible_kinds,
    read,
    read_bytes,
    true_pointer,
    unread_document,
    with_spelling,
)
from evalstream.formats.evalguard.documents import (
    MANIFEST_FILE,
    METRIC,
    METRICS,
    REPORT,
    RESPONSE,
    TASK,
    VERSION,
    file_stem,
    is_manifest,
    kind_of_folder,
    schema_name,
)
from evalstream.formats.evalguard.files import File, beside_config, iterate_files, kind_of_part
from evalstream.formats.evalguard.format import FORMAT
from evalstream.formats.evalguard.manifest import Digest, FolderManifest, make_digest
from evalstream.formats.evalguard.report import is_of_harness
from evalstream.formats.evalguard.responses import (
    Response,
    claims_of_response,
    judge_figures,
    make_response,
)
from evalstream.formats.evalguard.rules import documents
from evalstream.formats.evalguard.rules.documents import EVG101, EVG502, without_unknown
from evalstream.formats.evalguard.rules.schema_files import SIGNS, check_schema, check_schema_name
from evalstream.formats.evalguard.rules.scores import EVG401
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.io.remote import is_remote
from evalstream.model.claim import JudgedClaim
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Finding, PlacedViolation, Severity, Violation
from evalstream.model.options import Options
from evalstream.model.report import Checked, RunSummary
from evalstream.model.run import STDIN, Run
from evalstream.model.signals import STOPPING, without_collector
from evalstream.model.text import count_noun
from evalstream.rules.inputs import ES001, ES005, ES007

_RULES: Final = tuple(FORMAT.rules())
_MEASURED: Final = re.compile(r"/results/[0-9]+/[^/]+/value")
UNKNOWN: Final = (
    "neither its folder nor its members show a document of EvalGuard, "
    f"so that it was not checked; {other_formats()}"
)

_TASKS_ALONE: Final = (
    "the layout was not shown: tasks without metrics fit only the one with policies; name the "
    "folder of the policies, too"
)
REFERENCES_UNSEEN: Final = "the documents that it names were not looked up"

_FOLDERS: Final = 1024
"""How many folders are remembered with their true paths."""

_NAMED: Final = 5
"""How many folders are named that were not checked."""

MANIFEST_ALONE: Final = "it is the manifest of a folder; name the folder to check it"
NO_DOCUMENT: Final = f"the folder holds no document of EvalGuard; {other_formats()}"


class _Read(NamedTuple):
    """A file that was read: its name in reports, and its document, if it has one."""

    name: str
    reading: Reading
    document: views.Document | None
    response: Response | None = None

    @property
    def documents(self) -> tuple[views.Document, ...]:
        """The documents in the file."""
        if self.response is not None:
            return self.response.documents
        return () if self.document is None else (self.document,)

    @property
    def makes_claims(self) -> bool:
        """Whether the file reports measured values."""
        has_reports = any(document.kind == REPORT for document in self.documents)
        return has_reports or (self.response is not None and self.response.endpoint == METRICS)


def check(
    run: Run,
    options: Options,
    show: Callable[[Finding], None],
    progress: Progress,
    detect: Detector,
) -> RunSummary:
    """Check one run and pass its findings to `show`, in order. Raises Stopped.

    `detect` recognises files of all formats, since a folder may hold others as well.
    """
    # Documents have no cycles, and the collector would look through all of them again and again.
    with without_collector():
        return _Check(run, options, show, detect).summary(progress)


def checked_folder(
    run: Run, options: Options, detect: Detector, progress: Progress
) -> tuple[RunSummary, views.Folder]:
    """Check one run without passing its findings on, and return its documents, too."""
    check = _Check(run, options, lambda _: None, detect)
    with without_collector():
        return check.summary(progress), check.folder


class _Check:
    """The check of one run: it reads every file, then checks each document among all others."""

    def __init__(
        self, run: Run, options: Options, show: Callable[[Finding], None], detect: Detector
    ) -> None:
        self._run, self._options, self._detect = run, options, detect
        self._documents = DocumentCheck(run, options, show, FORMAT.catalogue)
        self._enabled = self._documents.context.enabled_codes
        self.folder = views.Folder()
        self._manifests: list[FolderManifest] = []
        self._digests: dict[str, Digest] = {}

    def summary(self, progress: Progress) -> RunSummary:
        """Check the run."""
        files = self._without_manifests(self._files())
        progress.begin(self._documents.name, 0)
        read_files = []
        for file in files:
            STOPPING.check()
            before = self._documents.size
            one = self._read(file)
            if one is not None:
                read_files.append(one)
            progress.advance(self._documents.size - before, len(read_files))
        own = [one.document for one in read_files if one.document is not None]
        documents = [document for one in read_files for document in one.documents]
        self.folder.followed = self._is_followed(own)
        for document in own:
            self.folder.add(document)
        self.folder.left_out = self._left_out(read_files)
        for one in read_files:
            STOPPING.check()
            self._record(one)
        if not read_files:
            reason = MANIFEST_ALONE if is_manifest(self._run.rows or "") else NO_DOCUMENT
            self._documents.note(ES005.violation(reason))
            self._documents.cannot(reason)
        self._compare_digests()
        progress.end()
        self._note_beside()
        layout = views.LAYOUTS[self.folder.layouts]
        version = VERSION if layout is None else f"{VERSION} ({layout})"
        claims = list(self._claims(read_files))
        makes_claims = any(one.makes_claims for one in read_files)
        summary = self._documents.close(
            rows=len(documents), version=version, claims=claims if makes_claims else None
        )
        summary.checked = tuple(self._iterate_checked())
        if self._leaves_open(documents):
            unresolved = self._describe_unresolved()
            if unresolved is None:
                summary.leave_unconfirmed(REFERENCES_UNSEEN)
            else:
                summary.leave_open(unresolved)
        elif layout == views.POLICIES and views.POLICIES not in self.folder.shown:
            summary.leave_open(_TASKS_ALONE)
        return summary

    def _claims(self, read_files: list[_Read]) -> Iterator[JudgedClaim]:
        """Yield the claims of all reports; where there are several, each names its file."""
        several = sum(one.makes_claims for one in read_files) > 1
        for one in read_files:
            claims: Iterable[JudgedClaim] = ()
            if one.response is not None:
                claims = claims_of_response(one.response, self.folder)
            elif one.document is not None:
                claims = judge_figures(one.document, self.folder)
            name = one.name.removeprefix(f"{printable(self._run.rows or '')}/")
            for claim in claims:
                yield claim._replace(label=f"{name}: {claim.label}") if several else claim

    def _without_manifests(self, files: Iterable[File]) -> list[File]:
        """Keep manifests apart, and return the other files."""
        found = list(files)
        paths = [file.path for file in found if is_manifest(file.path) and not file.leaves]
        if found and not found[0].is_found and is_manifest(found[0].path):
            return []
        if self._options.sealing is not None and self._run.rows is not None:
            paths.append(os.path.normpath(os.path.join(self._run.rows, MANIFEST_FILE)))
        self._manifests = [FolderManifest(path) for path in dict.fromkeys(paths)]
        return [file for file in found if file.path not in paths]

    def _compare_digests(self) -> None:
        """Compare the documents with the manifests of their folders."""
        sealing = self._options.sealing
        new = None if sealing is None else sealing.text
        for manifest in self._manifests:
            is_new = os.path.normpath(self._run.rows or "") == (manifest.folder or os.curdir)
            manifest.check(self._documents, self._digests, new if is_new else None)

    def _iterate_checked(self) -> Iterator[Checked]:
        """Say what else was verified: documents that were named together, and manifests."""
        if self._run.beside:
            yield Checked(f"together with {', '.join(map(printable, self._run.beside))}", True)
        if not self._enabled.isdisjoint(rule.code for rule in documents.ABOUT_MANIFESTS):
            for manifest in self._manifests:
                of = count_noun(manifest.total, "document")
                text = f"sha256 of {manifest.count:,} of {of} ok ({printable(manifest.path)})"
                yield Checked(text, manifest.is_kept)

    def _describe_unresolved(self) -> str | None:
        """Return which references were not looked up; warnings say it of single documents."""
        kinds = sorted(self.folder.left_out)
        if not kinds:
            return None
        what = " and ".join(f"{kind}s" for kind in kinds)
        return f"references to {what} were not looked up; name their folders, too"

    def _note_beside(self) -> None:
        """Say which folders of a project are not checked."""
        for path in self._folders():
            names = beside_config(path, self._options.exclude)
            if names:
                which = ", ".join(map(printable, names[:_NAMED]))
                more = ", …" if len(names) > _NAMED else ""
                message = (
                    f"{count_noun(len(names), 'folder')} beside config, reports and schemas "
                    f"{'was' if len(names) == 1 else 'were'} not checked: {which}{more}"
                )
                violation = ES007.violation(message, severity=Severity.INFO)
                self._documents.note(violation, printable(path))

    def _iterate_named(self) -> Iterator[str]:
        """Yield what was named."""
        return filter(None, (self._run.rows, self._run.aggregate, *self._run.beside))

    def _folders(self) -> Iterator[str]:
        """Yield the folders that were named."""
        for path in self._iterate_named():
            if path != STDIN and not is_remote(path) and os.path.isdir(path):
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
                elif file.path != STDIN and not is_remote(file.path):
                    true_path = os.path.realpath(file.path)
                if true_path not in seen or file.leaves:
                    seen.add(true_path)
                    yield file

    def _is_followed(self, documents: list[views.Document]) -> bool:
        """Return whether references lead to documents that were named, too."""
        is_folder = any(True for _ in self._folders())
        beyond_reports = any(document.kind != REPORT for document in documents)
        unread = any(stems for kind, stems in self.folder.unread.items() if kind != REPORT)
        return (is_folder or self._run.aggregate is not None) and (beyond_reports or unread)

    def _left_out(self, read_files: list[_Read]) -> frozenset[str]:
        """Return the kinds that documents refer to, but that the call leaves out.

        A folder named after a kind of document is a part of a configuration; what is in its other
        parts is not known.
        """
        if not self.folder.followed or not all(map(kind_of_part, self._iterate_named())):
            return frozenset()
        kinds = {one.reading.kind for one in read_files}
        return frozenset() if None in kinds else frozenset({TASK, METRIC} - kinds)

    def _leaves_open(self, documents: list[views.Document]) -> bool:
        """Return whether an enabled rule needs references that were not looked up."""
        if not self._enabled & _REFERENCES:
            return False
        left_out = self.folder.left_out
        if self.folder.followed and not left_out:
            return False
        return any(
            document.value.get(member)
            for document in documents
            for member in views.REFERRING.get(document.kind, ())
            # Tasks refer to metrics alone.
            if document.kind != TASK or not self.folder.followed or METRIC in left_out
        )

    def _read(self, file: File) -> _Read | None:
        """Read a file, or return None if this check does not read it."""
        if file.leaves:
            message = "the link leads out of the folder and was not followed"
            return self._not_read(file, EVG502.violation(message), "a link out of the folder")
        if file.incomplete_reason:
            violation = ES001.violation(f"cannot be read: {file.incomplete_reason}")
            return self._not_read(file, violation, f"cannot be read: {file.incomplete_reason}")
        text = self._bytes(file)
        if text is None:
            return _Read(printable(file.path), unread_document(file, []), None)
        return None if is_of_another(file, text, self._detect) else self._parse_file(file, text)

    def _parse_file(self, file: File, text: bytes) -> _Read:
        name = printable(file.path)
        try:
            reading = read(file, text, self._options.max_depth)
        except CannotCheck as error:
            return self._not_read(file, ES001.violation(f"cannot be read: {error}"), str(error))
        if reading.value is not None and _is_schema(file, reading.value):
            return _Read(name, reading._replace(violations=[*self._of_schema(file, reading)]), None)
        return self._document(file, name, reading)

    def _of_schema(self, file: File, reading: Reading) -> Iterator[PlacedViolation]:
        """Yield what is wrong with a schema, beside what is wrong with its text."""
        yield from reading.violations
        about = EVG101.violation("a schema, not a document", severity=Severity.INFO)
        yield PlacedViolation(about)
        for violation in check_schema_name(file.path, is_nested=bool(file.folders)):
            yield PlacedViolation(violation)
        for violation in check_schema(reading.value or {}, self._options.engine):
            if violation.pointer not in reading.replaced:
                yield PlacedViolation(violation)

    def _document(self, file: File, name: str, reading: Reading) -> _Read:
        """Return the document of a file, or note why there is none."""
        if reading.value is None:
            self._documents.cannot(f"{name} could not be read as a document")
            self._remember(file, reading)
            return _Read(name, reading, None)
        if reading.kind is None:
            self._documents.cannot(f"{name} is not a known document")
            violations = [*reading.violations, PlacedViolation(ES005.violation(UNKNOWN))]
            return _Read(name, reading._replace(violations=violations), None)
        if reading.kind == RESPONSE:
            return _Read(name, reading, None, make_response(name, reading.value))
        stem = None if file.path == STDIN else file_stem(file.path)
        document = views.Document(name, reading.kind, reading.value, stem, len(file.folders))
        return _Read(name, reading, document)

    def _not_read(self, file: File, violation: Violation, reason: str) -> _Read:
        name = printable(file.path)
        self._documents.cannot(f"{name}: {reason}")
        reading = unread_document(file, [PlacedViolation(violation)])
        self._remember(file, reading)
        return _Read(name, reading, None)

    def _remember(self, file: File, reading: Reading) -> None:
        """Remember what an unread file may define, so that it is not reported as missing."""
        for kind in possible_kinds(reading):
            self.folder.unread[kind].add(file_stem(file.path))
        layout = views.LAYOUT_OF_KIND.get(reading.kind or "")
        if layout is not None:
            self.folder.unread_layouts.add(layout)

    def _bytes(self, file: File) -> bytes | None:
        """Return the bytes of a file, or None after noting why they cannot be read."""
        name = printable(file.path)
        try:
            text = read_bytes(file.path, self._documents.watch)
        except (OSError, CannotCheck) as error:
            reason = f"cannot be read: {describe_error(error)}"
            self._note_unread(file, ES001.violation(reason), f"{name} {reason}")
            return None
        if text is None:
            message = f"larger than {LARGEST_DOCUMENT >> 20} MiB, the limit for a document"
            self._note_unread(file, ES005.violation(message), f"{name} is {message}")
            return None
        self._documents.size += len(text)
        if self._manifests:
            self._digests[os.path.normpath(file.path)] = make_digest(text)
        return text

    def _note_unread(self, file: File, violation: Violation, reason: str) -> None:
        """Note why the bytes of a file could not be read."""
        self._documents.note(violation, printable(file.path))
        self._documents.cannot(reason)
        self._remember(file, unread_document(file, []))

    def _record(self, one: _Read) -> None:
        """Note the violations of a file."""
        self._documents.locate(one.reading.locator, one.name)
        of_harness = one.document is not None and is_of_harness(one.document)
        for placed in in_one(one.reading) if of_harness else one.reading.violations:
            self._documents.note(placed.violation, one.name, placed.line, placed.column)
        if one.response is not None:
            found = one.response.violations(self._documents, self.folder, self._violations)
        elif one.document is not None:
            found = self._violations(views.FolderItem(one.document, self.folder))
        else:
            return
        for violation in self._without_repeats(list(found)):
            if violation.pointer not in one.reading.replaced:
                self._documents.note(with_spelling(violation, one.reading), one.name)

    def _violations(self, subject: views.FolderItem) -> Iterator[Violation]:
        """Yield what is wrong with a document among others."""
        yield from self._schema_violations(subject)
        for rule in _RULES:
            yield from rule.apply(subject)

    def _schema_violations(self, subject: views.FolderItem) -> Iterator[Violation]:
        """Yield the violations of the schema, except where another rule says more."""
        document = subject.document
        kind, value = document.kind, dict(document.value)
        shape = conform(kind, value)
        if kind == REPORT and is_of_harness(document):
            return
        schema = schema_name(subject.folder.schema(document))
        for violation in self._documents.schema_violations(schema, shape, EVG101.code):
            if violation.keyword == "anyOf":
                continue  # EVG102 reports a range without limits
            place = true_pointer(kind, value, violation.pointer)
            is_measured = kind == REPORT and _MEASURED.fullmatch(place or "") is not None
            code = EVG401.code if is_measured else violation.code
            yield without_unknown(violation)._replace(pointer=place, code=code)

    def _without_repeats(self, violations: list[Violation]) -> Iterator[Violation]:
        """Report a path that leads out of the folder only as that, not also as an unknown id."""
        leaving = {violation.pointer for violation in violations if violation.code == EVG502.code}
        if EVG502.code not in self._enabled:
            leaving = set()
        for violation in violations:
            if violation.code == EVG502.code or violation.pointer not in leaving:
                yield violation


def _is_schema(file: File, value: dict[str, Any]) -> bool:
    """Tell whether a file holds a schema: by its name, and by its members among documents."""
    return file.is_schema and bool(SIGNS & value.keys() or kind_of_folder(file.folders) is None)


_REFERENCES: Final = frozenset(
    {rule.code for rule in _RULES if rule.code.startswith(("EVG2", "EVG4"))}
)
"""Rules that compare one document with another."""
