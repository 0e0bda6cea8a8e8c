"""Check the members of an archive: their bytes, and the samples that they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

from evalstream.formats.inspect.archive import Archive, ArchiveMember
from evalstream.formats.inspect.format import HEADER
from evalstream.formats.inspect.log_check import LogCheck, PartTotals
from evalstream.formats.inspect.rules.log import INS101, INS102, INS104
from evalstream.formats.inspect.store import FactRows
from evalstream.formats.inspect.zip_format import ArchiveEnd, DamagedMember
from evalstream.model.block import MEBIBYTE
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import MissingExtra
from evalstream.model.finding import Violation
from evalstream.model.options import Options
from evalstream.model.signals import STOPPING
from evalstream.model.text import count_noun
from evalstream.parsing.array_elements import Element
from evalstream.parsing.json import pointer
from evalstream.rules.base import Rule

BATCH_BYTES: Final = MEBIBYTE
"""About so many unpacked bytes are one task of a worker."""

START: Final = "_journal/start.json"
SUMMARIES: Final = "summaries.json"
REDUCTIONS: Final = "reductions.json"

SAMPLE: Final = re.compile(r"samples/(.+)_epoch_([0-9]+)\.json", re.DOTALL)
JOURNAL_FOLDER: Final = "_journal/summaries/"
JOURNAL: Final = re.compile(rf"{JOURNAL_FOLDER}[0-9]+\.json")
_NAMES: Final = (HEADER, SUMMARIES, REDUCTIONS)
_OTHERS: Final = re.compile(r"_journal/(?:config_updates/)?[^/]*\.json|results\.json")


class ArchiveSource(NamedTuple):
    """An open archive: its descriptor and size, and its path, None for a copy without one."""

    descriptor: int
    size: int
    path: str | None


class MemberCheck:
    """Checks members one by one.

    `has_repeated` says that several members may have one name, `lacks` what is missing to unpack
    some of them.
    """

    def __init__(self, log: LogCheck, source: ArchiveSource) -> None:
        self._log, self._documents = log, log.documents
        reports = partial(self._report, INS101), partial(self._report, INS102)
        self.archive = Archive(source.descriptor, source.size, *reports)
        self.has_repeated = False
        self.lacks = ""

    def _report(self, rule: Rule, message: str, member: str | None) -> None:
        place = None if member is None else pointer((member,))
        self._documents.note(rule.violation(message, place))

    def member(self, member: ArchiveMember) -> None:
        """Unpack and check one member, and the sample that it is."""
        STOPPING.check()
        self._log.totals.members += 1
        place, is_sample = pointer((member.name,)), SAMPLE.fullmatch(member.name) is not None
        is_known = is_sample or member.name in _NAMES or JOURNAL.fullmatch(member.name)
        if not (is_known or _OTHERS.fullmatch(member.name)):
            self._documents.note(INS104.violation("a log has no member of this name", place))
        is_last = not self.has_repeated or self.archive.is_last(member)
        is_content = is_sample and is_last
        text = self._unpack_member(
            member, self._documents.options.max_line_bytes if is_content else 0
        )
        if not is_content:
            return
        if isinstance(text, bytes):
            # A member of an archive has no lines.
            self._log.sample(Element(text, member.offset, 0), place, member.name)
        elif text is not None:
            self._log.too_long(place, text)
        elif not self.lacks:
            self._log.lose(f"the member {member.name} could not be unpacked")

    def _unpack_member(self, member: ArchiveMember, most: int) -> bytes | int | None:
        """Unpack a member and check its bytes; return them if they are at most `most`.

        Of a longer member return its length, and None for one that is damaged or not unpacked.
        """
        refusal = self.archive.refusal(member)
        if refusal is not None:
            self._report(INS102, f"the member {refusal}", member.name)
            self._documents.cannot(f"a member was not unpacked: it {refusal}")
            return None
        kept: list[bytes] = []
        size = 0
        try:
            for piece in self.archive.pieces(member):
                STOPPING.check()
                size += len(piece)
                if size <= most:
                    kept.append(piece)
                else:
                    kept.clear()
        except DamagedMember as error:
            self._report(INS101, f"the member {error}", member.name)
            return None
        except MissingExtra as error:
            self.lacks = self.lacks or str(error)
            return None
        self._log.totals.sound_members += 1
        return b"".join(kept) if size <= most else size


class MemberJob(NamedTuple):
    """Data that all workers of an archive share: the archive, the options, and the log's header."""

    source: ArchiveSource
    end: ArchiveEnd | None
    options: Options
    header: Mapping[str, Any] | None


class MemberBatch(NamedTuple):
    """Some members, which follow each other in the archive."""

    path: str
    members: tuple[ArchiveMember, ...]

    def describe(self) -> str:
        """Name the members of the batch."""
        return f"its {count_noun(len(self.members), 'member')} from {self.members[0].name} on"


class FoundInMembers(NamedTuple):
    """The result of a batch: violations, why it is incomplete, and facts of samples."""

    violations: list[Violation]
    reason: str | None
    lacks: str
    facts: list[FactRows]
    totals: PartTotals
    packed: int


def check_member_batch(job: MemberJob, batch: MemberBatch) -> FoundInMembers:
    """Check a batch of members in a worker."""
    documents: Any = _Notes(job.options)
    facts: list[FactRows] = []
    store: Any = SimpleNamespace(add_rows=facts.append)
    log = LogCheck(documents, store)
    if job.header is not None:
        log.header(job.header)
    with open(str(job.source.path), "rb", buffering=0) as file:
        source = job.source._replace(descriptor=file.fileno())
        check = MemberCheck(log, source)
        with closing(check.archive):
            check.archive.end = job.end
            for member in batch.members:
                check.member(member)
    packed = sum(member.packed for member in batch.members)
    reason, lacks = documents.reason, check.lacks
    return FoundInMembers(documents.violations, reason, lacks, facts, log.totals, packed)


class _Notes:
    """Keeps the violations of members, which have no lines, and the first reason."""

    collector = SimpleNamespace(samples=None)

    def __init__(self, options: Options) -> None:
        self.options = options
        self.violations: list[Violation] = []
        self.reason: str | None = None

    def note(
        self,
        violation: Violation,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        """Keep a violation."""
        del file, line, column
        self.violations.append(violation)

    def cannot(self, reason: str | None) -> None:
        """Keep the first reason."""
        self.reason = self.reason or reason
