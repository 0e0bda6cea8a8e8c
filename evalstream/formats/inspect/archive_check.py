"""Check a log that is an archive: its members, and the log that they form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from evalstream.engine.documents import DocumentCheck
from evalstream.engine.log_reading import UNREADABLE
from evalstream.engine.row_pass import WORTH_A_POOL_BYTES, usable_cores
from evalstream.formats.inspect.archive import ArchiveMember
from evalstream.formats.inspect.format import HEADER
from evalstream.formats.inspect.log_check import LogCheck
from evalstream.formats.inspect.member_check import (
    BATCH_BYTES,
    JOURNAL,
    JOURNAL_FOLDER,
    REDUCTIONS,
    SAMPLE,
    START,
    SUMMARIES,
    ArchiveSource,
    MemberBatch,
    MemberCheck,
    MemberJob,
    check_member_batch,
)
from evalstream.formats.inspect.rules.log import INS103, INS104, INS105, INS106, INS107, INS108
from evalstream.formats.inspect.rules.summaries import INS206
from evalstream.formats.inspect.values import same
from evalstream.formats.inspect.views import LogView
from evalstream.formats.inspect.zip_format import DamagedMember
from evalstream.io.progress import Progress
from evalstream.model.block import group_by_size
from evalstream.model.errors import MissingExtra
from evalstream.model.finding import Severity, Violation
from evalstream.model.hashing import hash_function
from evalstream.model.signals import STOPPING
from evalstream.model.text import count_noun
from evalstream.parsing.array_elements import Element
from evalstream.parsing.array_splitter import ArraySplitter
from evalstream.parsing.json import pointer
from evalstream.parsing.json_values import object_or_empty
from evalstream.parsing.limits import MOST_JSON_BYTES

if TYPE_CHECKING:
    from hashlib import _Hash

    from evalstream.executors.base import Backend

_LIVE: Final = ("model_args", "task_args", "solver_args", "model_roles", "metadata", "scorers")
"""Members of `eval` whose values are written as they are at that moment: objects may change.

`inspect score --stream` keeps the start of a log whose scorers it replaces.
"""

_BOTH: Final = (False, True)
_MOCK: Final = "mockllm/"
"""How the names of mock models begin; they count their usage in their own arguments."""

_STOPPED: Final = ("error", "cancelled")
"""The status of a run that a retry runs again."""

_MOST_NOTED: Final = 100
"""Most differences of a journal that are reported."""

_PARTED: Final = re.compile(r"samples/.+_epoch_[0-9]+/sample\.json", re.DOTALL)
"""A sample that is stored in parts, as the next layout of large samples has it."""


class ArchiveCheck:
    """Checks an archive: every byte of its members, and the log that they are.

    `has_summaries` says whether the summaries of all samples were compared.
    """

    def __init__(
        self, log: LogCheck, documents: DocumentCheck, source: ArchiveSource, progress: Progress
    ) -> None:
        self._log, self._documents, self._progress = log, documents, progress
        self._source = source
        self._check = MemberCheck(log, source)
        self._archive = self._check.archive
        self.close = self._archive.close
        self.has_summaries = False
        self._has_parts = False

    def view(self) -> LogView | None:
        """Check the archive, and return the log without its samples, None if it has none."""
        if not self._archive.open():
            self._documents.cannot("the archive has no directory, so that nothing in it was read")
            return None
        reason = self._archive.unsafe()
        if reason is not None:
            self._note_repeated(None)
            self._documents.cannot(f"nothing in the archive was unpacked: {reason}")
            return None
        start, header = self._read(START), self._read(HEADER)
        told = header if isinstance(header, dict) else start
        self._note_repeated(object_or_empty(told).get("status"))
        if isinstance(told, dict):
            self._log.header(told)
        if self._log.is_refused:
            return None
        return self._view(start, header) if self._members() else None

    def _note_repeated(self, status: Any) -> None:
        """Report repeated members; a retry that stops again has samples of the first run, too."""
        for name, number, is_same in self._archive.iterate_repeated():
            self._check.has_repeated = True
            message = f"the archive has {number:,} members of this name"
            is_retried = status in _STOPPED and SAMPLE.fullmatch(name) is not None
            self._documents.note(
                INS103.violation(
                    message + (", with the same content" if is_same else ""),
                    (name,),
                    severity=Severity.WARNING if is_same or is_retried else None,
                )
            )

    def _members(self) -> bool:
        """Unpack and check all members in the order of their bytes, and the samples among them.

        Tell whether the log can be checked as a whole.
        """
        backend = self._choose_backend()
        if backend is None:
            for batch in self._iterate_batches():
                for member in batch.members:
                    self._check.member(member)
                self._advance(sum(member.packed for member in batch.members))
        else:
            self._check_in_workers(backend)
        if self._has_parts:
            self._log.refuse("this log stores samples in parts, a layout that is not known")
            return False
        if self._archive.unexplained:
            message = (
                f"{count_noun(self._archive.unexplained, 'byte')} between members belong to none"
            )
            self._documents.note(INS104.violation(message, severity=Severity.INFO))
        if self._check.lacks:
            self._log.lose(self._check.lacks)
        return not self._check.lacks

    def _choose_backend(self) -> Backend | None:
        """Return the processes that check members, None where this one does it alone."""
        options = self._documents.options
        jobs = options.jobs or usable_cores()
        collects = options.links or options.samples is not None or self._check.has_repeated
        is_small = self._archive.unpacked < WORTH_A_POOL_BYTES and options.executor != "pool"
        if self._source.path is None or collects or is_small or jobs < 2:
            return None
        if options.executor == "serial":
            return None
        from evalstream.executors import pool

        return pool.backend(jobs)

    def _check_in_workers(self, backend: Backend) -> None:
        from evalstream.executors.base import run_in_order

        job = MemberJob(self._source, self._archive.end, self._documents.options, self._log.shared)
        for found in run_in_order(
            backend, partial(check_member_batch, job), self._iterate_batches()
        ):
            STOPPING.check()
            self._documents.note_all(found.violations)
            self._documents.cannot(found.reason)
            for facts in found.facts:
                self._log.store.add_rows(facts)
            self._log.totals.merge(found.totals)
            self._check.lacks = self._check.lacks or found.lacks
            self._advance(found.packed)

    def _iterate_batches(self) -> Iterator[MemberBatch]:
        """Iterate over the members in the order of their bytes, some at a time."""
        for batch in group_by_size(self._whole_members(), attrgetter("size"), BATCH_BYTES):
            yield MemberBatch(self._documents.name, tuple(batch))

    def _whole_members(self) -> Iterator[ArchiveMember]:
        for member in self._archive.laid_out():
            if _PARTED.fullmatch(member.name):
                self._has_parts = True
                return
            yield member

    def _advance(self, packed: int) -> None:
        errors = self._documents.collector.errors
        self._progress.advance(packed, self._log.totals.samples, errors)

    def _read(self, name: str) -> Any:
        """Return the value of a member, None if there is none, UNREADABLE if it cannot be read."""
        member = self._archive.find_member(name)
        if member is None:
            return None
        if member.size > MOST_JSON_BYTES or self._archive.refusal(member) is not None:
            self._documents.cannot(f"{name} is too large to be read")
            return UNREADABLE
        try:
            text = b"".join(self._archive.pieces(member))
        except (DamagedMember, MissingExtra):
            # The pass over all members reports it.
            return UNREADABLE
        return self._log.parse(text, place=pointer((name,)))

    def _view(self, start: Any, header: Any) -> LogView | None:
        if header is UNREADABLE or (header is None and start in (None, UNREADABLE)):
            self._documents.cannot("the header of the log could not be read")
            if header is None:
                self._documents.note(INS108.violation(f"{HEADER} and {START} are missing"))
            return None
        base = pointer((HEADER,))
        if header is None:
            message = f"the run did not finish: the archive has no {HEADER}"
            self._documents.note(INS105.violation(message))
            base, header = pointer((START,)), start
        elif not isinstance(header, dict):
            self._documents.note(INS107.violation("the header must be an object", base))
            return None
        else:
            self._compare_start(start, header)
        # A header without a status is the start of a log that did not finish.
        begun = header if "status" in header else {**header, "status": "started"}
        view = LogView(begun, base, self._log.store)
        self._log.store.flush()
        self._summaries(is_finished=header is not start)
        view.reductions, view.reductions_at = self._reductions(view), pointer((REDUCTIONS,))
        return view

    def _compare_start(self, start: Any, header: dict[str, Any]) -> None:
        if start is None:
            self._documents.note(INS108.violation(f"{START} is missing"))
            return
        if not isinstance(start, dict):
            return
        for name in ("version", "eval", "plan"):
            if name in header and name in start:
                self._compare_part(name, header[name], start[name])
            elif name in header or name in start:
                lacks = START if name in header else HEADER
                self._documents.note(INS106.violation(f"{lacks} has no {name}", (lacks,)))

    def _compare_part(self, name: str, here: Any, there: Any) -> None:
        """Report the first difference among members that a run may change, and among the others."""
        parts = [(here, there, False)]
        if isinstance(here, dict) and isinstance(there, dict):
            parts = [
                (_live(here, of=is_live), _live(there, of=is_live), is_live) for is_live in _BOTH
            ]
        for one, other, is_live in parts:
            if same(one, other):
                continue
            path, found, expected = _difference(one, other, (name,))
            is_mock = is_live and str(here.get("model")).startswith(_MOCK)
            self._documents.note(
                INS106.violation(
                    f"{START} has another value",
                    (HEADER, *path),
                    expected=expected,
                    found=found,
                    severity=(Severity.INFO if is_mock else Severity.WARNING) if is_live else None,
                )
            )

    def _summaries(self, *, is_finished: bool) -> None:
        """Compare the summaries with the samples: those at the end, or those of the journal."""
        member = self._archive.find_member(SUMMARIES)
        if member is not None:
            read = self._check_journal()
            self.has_summaries = read is not None and read == self._digest_summaries(member)
            if not self.has_summaries:
                self._log.store.forget_summaries()
                self.has_summaries = self._each_summary(member, self._log.summary)
            return
        if is_finished:
            self._documents.note(INS108.violation(f"{SUMMARIES} is missing"))
        for one in self._archive.members(JOURNAL_FOLDER):
            if JOURNAL.fullmatch(one.name):
                self._each_summary(one, self._log.summary)

    def _check_journal(self) -> bytes | None:
        """Warn of a journal whose summaries are not those of the samples.

        The harness writes both from one object, also where it writes a log anew. Summaries of an
        earlier attempt at a sample stay in the journal: such a journal is not compared.

        Returns the digest of the texts of its summaries if nothing is wrong with them, else None.
        """
        found: list[Violation] = []
        texts = hash_function("sha256", self._archive.unpacked)()
        number, of = 0, self._log.store.count

        def take(value: Any, place: str) -> None:
            nonlocal number
            number += 1
            if len(found) < _MOST_NOTED:
                found.extend(self._log.compare_summary(value, place))

        for one in self._archive.members(JOURNAL_FOLDER):
            if JOURNAL.fullmatch(one.name) and not self._each_summary(one, take, texts):
                return None
        if number < of and self._log.totals.samples_known:
            message = f"the journal has summaries of {number:,} of {count_noun(of, 'sample')}"
            found.append(INS206.violation(message))
        for violation in found if number <= of else ():
            self._documents.note(violation._replace(severity=Severity.WARNING))
        return None if found or not self._log.is_plain else texts.digest()

    def _digest_summaries(self, member: ArchiveMember) -> bytes | None:
        """Return the digest of the texts of summaries, None if some cannot be read."""
        texts = hash_function("sha256", self._archive.unpacked)()
        splitter = ArraySplitter(self._documents.options.max_line_bytes)
        with suppress(DamagedMember):
            for element in self._iterate_elements(member, splitter):
                _add_text(texts, element)
            return texts.digest() if splitter.issue is None else None
        return None

    def _iterate_elements(
        self, member: ArchiveMember, splitter: ArraySplitter
    ) -> Iterator[Element]:
        """Iterate over the elements of the list in a member. Raises DamagedMember."""
        if self._archive.refusal(member) is not None:
            raise DamagedMember
        for piece in self._archive.pieces(member):
            yield from splitter.feed(piece)
        yield from splitter.end()

    def _each_summary(
        self, member: ArchiveMember, take: Callable[[Any, str], None], texts: _Hash | None = None
    ) -> bool:
        """Hand on the summaries in a member; tell whether all of them could be read.

        Their texts are added to a digest.
        """
        splitter = ArraySplitter(self._documents.options.max_line_bytes)
        base = pointer((member.name,))
        try:
            for number, element in enumerate(self._iterate_elements(member, splitter)):
                place = f"{base}/{number}"
                value = self._log.parse(element.text, place=place) if element.whole else None
                if value is not UNREADABLE and element.whole:
                    take(value, place)
                if texts is not None:
                    _add_text(texts, element)
        except DamagedMember:
            return False
        if splitter.issue is not None:
            message = f"the summaries cannot be read: {splitter.issue.message}"
            self._documents.note(INS107.violation(message, base))
            return False
        return True

    def _reductions(self, view: LogView) -> Any:
        found = self._read(REDUCTIONS)
        has_reducers = any(one.value.get("reducer") for one in view.results_scores)
        if found is None and has_reducers and view.is_finished:
            self._documents.note(INS108.violation(f"{REDUCTIONS} is missing"))
        if found is None or found is UNREADABLE:
            return None
        if not isinstance(found, list):
            self._documents.note(INS107.violation("reductions must be a list", (REDUCTIONS,)))
        return found


def _add_text(texts: _Hash, element: Element) -> None:
    texts.update(b"%d %d " % (element.whole, len(element.text)) + element.text)


def _live(members: Mapping[str, Any], *, of: bool) -> dict[str, Any]:
    """Return the members that a run itself may change, or all others."""
    return {name: value for name, value in members.items() if (name in _LIVE) is of}


def _difference(one: Any, other: Any, path: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any, Any]:
    """Return the path of the first member that two values do not share, and both its values."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in one:
            if name not in other or not same(one[name], other[name]):
                return _difference(one[name], other.get(name), (*path, name))
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        index, (here, there) = next(pair for pair in pairs if not same(*pair[1]))
        return _difference(here, there, (*path, index))
    return path, one, other
