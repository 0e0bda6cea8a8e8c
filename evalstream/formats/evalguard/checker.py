"""Find and check the files of EvalGuard."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Final

from evalstream.engine.documents import DocumentCheck
from evalstream.formats.base import Detector, load_catalogue, load_rules, other_formats
from evalstream.formats.evalguard import views
from evalstream.formats.evalguard.document import conform, true_pointer, with_spelling
from evalstream.formats.evalguard.files import beside_config
from evalstream.formats.evalguard.format import (
    METRIC,
    NAME,
    REPORT,
    TASK,
    VERSION,
    is_manifest,
    schema_name,
)
from evalstream.formats.evalguard.reader import FolderReader, ReadFile
from evalstream.formats.evalguard.report import is_of_harness, iterate_values
from evalstream.formats.evalguard.responses import claims_of_response, judge_figures
from evalstream.formats.evalguard.rules import documents
from evalstream.formats.evalguard.rules.documents import EVG101, EVG502, without_unknown
from evalstream.formats.evalguard.rules.scores import EVG401
from evalstream.io.names import printable
from evalstream.io.progress import Progress
from evalstream.model.claim import JudgedClaim
from evalstream.model.finding import Severity, Show, Violation
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.model.run_summary import Checked, RunSummary
from evalstream.model.signals import STOPPING, without_collector
from evalstream.model.text import count_noun
from evalstream.rules.inputs import ES005, ES007
from evalstream.rules.syntax import ES108

_RULES: Final = tuple(load_rules(NAME))
_MEASURED: Final = re.compile(r"/results/[0-9]+/[^/]+/value")
_TASKS_ALONE: Final = (
    "the layout was not shown: tasks without metrics fit only the one with policies; name the "
    "folder of the policies, too"
)
REFERENCES_UNSEEN: Final = "the documents that it names were not looked up"

_NAMED: Final = 5
"""How many folders are named that were not checked."""

NAME_FOLDERS: Final = "name their folders, too"
MANIFEST_ALONE: Final = "it is the manifest of a folder; name the folder to check it"
NO_DOCUMENT: Final = f"the folder holds no document of EvalGuard; {other_formats()}"


def check(
    run: Run, options: Options, show: Show, progress: Progress, detect: Detector
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

    def __init__(self, run: Run, options: Options, show: Show, detect: Detector) -> None:
        self._run, self._options = run, options
        self._documents = DocumentCheck(run, options, show, load_catalogue(NAME))
        self._enabled = self._documents.context.enabled_codes
        self._reader = FolderReader(self._documents, detect)
        self.folder = self._reader.folder

    def summary(self, progress: Progress) -> RunSummary:
        progress.begin(self._documents.name, 0)
        read_files = self._reader.read(progress)
        for one in read_files:
            STOPPING.check()
            self._record(one)
        if not read_files:
            reason = MANIFEST_ALONE if is_manifest(self._run.rows or "") else NO_DOCUMENT
            self._documents.refuse(ES005.violation(reason), None, reason)
        self._compare_digests()
        progress.end()
        self._note_beside()
        documents = [document for one in read_files for document in one.documents]
        layout = views.LAYOUTS[self.folder.layouts]
        version = VERSION if layout is None else f"{VERSION} ({layout})"
        claims = list(self._claims(read_files))
        makes_claims = any(one.makes_claims for one in read_files)
        summary = self._documents.close(
            rows=len(documents), version=version, claims=claims if makes_claims else None
        )
        summary.checked = tuple(self._iterate_checked(sum(one.has_rows for one in read_files)))
        if self._leaves_open(documents):
            kinds = " and ".join(f"{kind}s" for kind in sorted(self.folder.left_out))
            if kinds:
                summary.leave_open(f"references to {kinds} were not looked up; {NAME_FOLDERS}")
            else:
                summary.leave_unconfirmed(REFERENCES_UNSEEN)
        elif layout == views.POLICIES and views.POLICIES not in self.folder.shown:
            summary.leave_open(_TASKS_ALONE)
        return summary

    def _claims(self, read_files: list[ReadFile]) -> Iterator[JudgedClaim]:
        """Yield the claims of all reports; where there are several, each names its file."""
        several = sum(one.makes_claims for one in read_files) > 1
        for one in read_files:
            claims: Iterable[JudgedClaim] = ()
            if one.response is not None:
                claims = claims_of_response(one.response, self.folder)
            elif one.document is not None and not one.has_rows:
                claims = judge_figures(one.document, self.folder)
            name = one.name.removeprefix(f"{printable(self._run.rows or '')}/")
            for claim in claims:
                yield claim._replace(label=f"{name}: {claim.label}") if several else claim

    def _compare_digests(self) -> None:
        sealing = self._options.sealing
        new = None if sealing is None else sealing.text
        for manifest in self._reader.manifests:
            is_new = os.path.normpath(self._run.rows or "") == (manifest.folder or os.curdir)
            manifest.check(self._documents, self._reader.digests, new if is_new else None)

    def _iterate_checked(self, logs: int) -> Iterator[Checked]:
        """Yield the checks of manifests, what was named together, and the number of logs."""
        if self._run.beside:
            yield Checked(f"together with {', '.join(map(printable, self._run.beside))}", True)
        if logs:
            yield Checked(f"figures of {count_noun(logs, 'report')} checked with rows", None)
        if not self._enabled.isdisjoint(rule.code for rule in documents.ABOUT_MANIFESTS):
            for manifest in self._reader.manifests:
                of = count_noun(manifest.total, "document")
                text = f"sha256 of {manifest.count:,} of {of} ok ({printable(manifest.path)})"
                yield Checked(text, manifest.is_kept)

    def _note_beside(self) -> None:
        for path in self._reader.iterate_folders():
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

    def _record(self, one: ReadFile) -> None:
        self._documents.locate(one.reading.locator, one.name)
        raw = one.document if one.document and is_of_harness(one.document) else None
        values = () if raw is None else self.folder.read_once(raw, iterate_values)
        places = {value.place for value in values}
        for violation, line, column in one.reading.violations:
            is_result = (violation.pointer or "").startswith("/results/")
            # The harness writes NaN for what it could not compute; EVG101 counts such values.
            is_usual = raw is not None and is_result and violation.code == ES108.code
            if not (is_usual and violation.pointer in places):
                severity = Severity.WARNING if is_usual else violation.severity
                noted = violation._replace(severity=severity)
                self._documents.note(noted, one.name, line, column)
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


_REFERENCES: Final = frozenset(
    {rule.code for rule in _RULES if rule.code.startswith(("EVG2", "EVG4"))}
)
"""Rules that compare one document with another."""
