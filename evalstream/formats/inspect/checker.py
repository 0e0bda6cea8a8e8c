"""Find and check logs of Inspect."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Mapping
from contextlib import closing
from functools import partial
from typing import Any, Final

from evalstream.engine.documents import DocumentCheck
from evalstream.engine.log_reading import (
    UNREADABLE,
    begun,
    copy_to_disk,
    note_broken_list,
    open_log,
    parse_text,
    pieces,
)
from evalstream.engine.positions import envelope_locator, envelope_mover
from evalstream.formats.base import load_catalogue, other_formats
from evalstream.formats.inspect.archive_check import ArchiveCheck
from evalstream.formats.inspect.claims import ClaimCheck
from evalstream.formats.inspect.format import ENDING, HEADER, NAME, SAMPLES, ZIP, is_member_at
from evalstream.formats.inspect.log_check import LogCheck
from evalstream.formats.inspect.member_check import ArchiveSource
from evalstream.formats.inspect.rules.coverage import find_other_model, may_lack_samples
from evalstream.formats.inspect.views import LogView
from evalstream.io.names import is_local, printable
from evalstream.io.progress import Progress
from evalstream.model.block import ByteStream
from evalstream.model.claim import JudgedClaim
from evalstream.model.errors import CannotCheck
from evalstream.model.finding import Position, Show
from evalstream.model.options import Options
from evalstream.model.run import STDIN, Run
from evalstream.model.run_summary import RunSummary
from evalstream.model.text import count_noun
from evalstream.parsing.array_elements import Element
from evalstream.parsing.json_values import object_or_empty
from evalstream.parsing.object_splitter import Envelope, ObjectSplitter
from evalstream.rules.base import Rule
from evalstream.rules.inputs import ES003, ES005

UNPACKED: Final = (
    "this is a member of an archive that was unpacked; "
    "zip the content of its folder to a file named .eval, and check that"
)
NO_SAMPLES: Final = "the samples, which the run logged, are not in this file"
DRAINED: Final = "samples were not run, as the log says, or were removed"
UNNAMED: Final = "the log does not say which figures some declared metrics gave"
NOT_OURS = f"not a log of Inspect; {other_formats()}"


def check(run: Run, options: Options, show: Show, progress: Progress) -> RunSummary:
    """Check one log and pass its findings to `show`, in order."""
    documents = DocumentCheck(run, options, show, load_catalogue(NAME))
    with closing(LogCheck(documents)) as log:
        one = _Check(documents, log, progress)
        one.run(run.rows or STDIN)
        return one.summary()


class _Check:
    def __init__(self, documents: DocumentCheck, log: LogCheck, progress: Progress) -> None:
        self._documents, self._log, self._progress = documents, log, progress
        self._view: LogView | None = None
        # The lines and columns of samples, a column that is not known as 0.
        self._starts = array("Q")

    def run(self, path: str) -> None:
        """Read the log, and report why it cannot be read."""
        try:
            with self._documents.reading(lambda: count_noun(self._log.totals.samples, "sample")):
                folder, name = os.path.split(path)
                has_samples = name == HEADER and os.path.isdir(os.path.join(folder, SAMPLES))
                if has_samples or (path != STDIN and is_local(path) and is_member_at(path)):
                    raise CannotCheck(UNPACKED)
                reader, size = open_log(path, self._documents.watch)
                with closing(reader):
                    self._progress.begin(self._documents.name, size)
                    start, whole = begun(reader)
                    if start.startswith(ZIP[:2]) or path.lower().endswith(ENDING):
                        self._archive(path, whole)
                    else:
                        self._json(whole)
        finally:
            self._progress.end()

    def _archive(self, path: str, reader: ByteStream) -> None:
        """Check an archive, from a copy on disk if it cannot be read in any order."""
        is_local = path != STDIN and os.path.isfile(path)
        with open(path, "rb", buffering=0) if is_local else copy_to_disk(reader) as file:
            size = os.fstat(file.fileno()).st_size
            self._documents.size += size
            source = ArchiveSource(file.fileno(), size, path if is_local else None)
            checked = ArchiveCheck(self._log, self._documents, source, self._progress)
            with closing(checked):
                self._finish(checked.view(), has_summaries=checked.has_summaries)

    def _json(self, reader: ByteStream) -> None:
        """Check a log that is one JSON object, in constant memory."""
        log, options = self._log, self._documents.options
        members = ObjectSplitter(SAMPLES, options.max_line_bytes)
        has_begun = False
        for piece in pieces(reader):
            for element in members.feed(piece):
                has_begun = has_begun or self._begin(members)
                if log.is_refused:
                    return
                if element.whole:
                    self._sample(element)
            self._documents.size += len(piece)
            self._progress.advance(len(piece), log.totals.samples, self._documents.collector.errors)
        for element in members.end():
            has_begun = has_begun or self._begin(members)
            if element.whole and not log.is_refused:
                self._sample(element)
        if not log.is_refused:
            self._end(members)

    def _begin(self, members: ObjectSplitter) -> bool:
        """Read the part before the samples, as far as it can be read alone."""
        envelope = members.envelope()
        # The check of the whole envelope reports violations in this part.
        text = envelope.text[: envelope.cut] + b"]}"
        found = parse_text(text, self._documents.options.max_depth)
        self._log.header(object_or_empty(found))
        return True

    def _sample(self, element: Element) -> None:
        place = f"/{SAMPLES}/{self._log.totals.samples}"
        self._starts.extend((element.line, element.column or 0))
        self._log.sample(element, place)

    def _locate(self, envelope: Envelope, pointers: Iterable[str]) -> Mapping[str, Position]:
        """Return the positions of pointers to samples, and into the part outside them."""
        wanted = list(pointers)
        found = dict(envelope_locator(envelope)(wanted))
        for pointer in wanted:
            name = pointer.removeprefix(f"/{SAMPLES}/")
            if name != pointer and name.isdecimal() and 2 * int(name) < len(self._starts):
                line, column = self._starts[2 * int(name) : 2 * int(name) + 2]
                found[pointer] = Position(line, column or None)
        return found

    def _end(self, members: ObjectSplitter) -> None:
        """Check the part of a JSON log outside its samples."""
        log, issue = self._log, members.issue
        envelope = members.envelope()
        if issue is not None:
            note_broken_list(self._documents, issue, f"/{SAMPLES}/{log.totals.samples}")
            log.lose("the samples could not be read to their end")
            return
        if not envelope.is_whole:
            most = self._documents.options.max_line_bytes
            self._fail(ES003, f"the part outside the samples is longer than {most:,} bytes")
            return
        self._documents.locate(partial(self._locate, envelope))
        header = log.parse(envelope.text, envelope_mover(envelope))
        if header is UNREADABLE or not isinstance(header, dict):
            self._fail(ES005, f"this is {NOT_OURS}") if header is not UNREADABLE else None
            self._documents.cannot("the log could not be read as an object")
            return
        if not {"eval", "status", "version"} & header.keys():
            self._fail(ES005, f"this is {NOT_OURS}")
            return
        log.refuse_version(header.get("version"))
        if log.is_refused:
            return
        if not log.totals.samples:
            log.header(header)
        elif not log.is_declared:
            self._documents.cannot("what the log declares comes after its samples")
        if header.get(SAMPLES) and isinstance(header[SAMPLES], list):
            self._documents.cannot("a second list of samples was not checked")
        view = LogView(header, "", log.store)
        view.reductions, view.reductions_at = header.get("reductions"), "/reductions"
        if view.reductions is None and "sample_reductions" in view.results:
            view.reductions = view.results["sample_reductions"]
            view.reductions_at = "/results/sample_reductions"
        view.is_header = SAMPLES not in header
        self._finish(view, has_summaries=False)

    def _finish(self, view: LogView | None, *, has_summaries: bool) -> None:
        if view is None or self._log.is_refused:
            return
        self._view = view
        self._log.finish(view, has_summaries=has_summaries)

    def _fail(self, rule: Rule, reason: str) -> None:
        self._documents.refuse(rule.violation(reason), None, reason)

    def summary(self) -> RunSummary:
        """Return the verdict."""
        claims: list[JudgedClaim] = []
        has_unnamed = False
        if self._view is not None:
            judged = ClaimCheck(self._view)
            has_unnamed = judged.has_unnamed
            self._documents.note_all(judged.violations)
            claims = judged.claims
        version: Any = None if self._view is None else self._view.header.get("version")
        summary = self._documents.close(
            rows=self._log.totals.samples,
            version=None if version is None else str(version),
            claims=claims,
        )
        if has_unnamed:
            summary.leave_unconfirmed(UNNAMED)
        if self._view is not None:
            for found in find_other_model(self._view):
                summary.leave_unconfirmed(printable(found.message))
            if self._view.is_header and self._view.reductions is not None:
                summary.leave_unconfirmed(NO_SAMPLES)
            if may_lack_samples(self._view):
                summary.leave_unconfirmed(DRAINED)
            summary.checked = tuple(self._log.list_verified())
            summary.links = self._log.links
        return summary
