"""Rows that score one sample or show one input, more of them than memory holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from evalstream.model.row_record import ABSENT, CONTENT_AT, KEY_AT, KEY_BYTES, RowRecord, RowRecords
from evalstream.stats.duplicates import (
    Coverage,
    DuplicateKind,
    DuplicateMatch,
    SampleGroup,
    says_again,
)
from evalstream.stats.input_index import FirstsShown, Shown
from evalstream.stats.partitions import Digest, Partitions, Pieces, searched

_CONTENT: Final = Digest(CONTENT_AT, KEY_BYTES)
_KEY: Final = Digest(KEY_AT, KEY_BYTES)


def one_sample(capacity: int, coverage: Coverage, pieces: Pieces) -> Iterator[DuplicateMatch]:
    """Search rows of one sample, and add them to what is covered.

    Rows with the same bytes are found first, in parts of `capacity` rows; what is left to remember
    of the others does not grow with their number.
    """
    copies = searched(Partitions(capacity, _CONTENT, _copies), pieces())
    copy, group = next(copies, None), None
    for record in _records(pieces()):
        if group is None:
            group = SampleGroup(record, record.line)
            coverage.add_firsts([record.place], [record.word])
            continue
        if copy is not None and copy.line == record.line:
            found = [(copy.kind, copy.earlier)]
            copy = next(copies, None)
        else:
            found = list(group.look_at_new(record, record.line))
        group.cover(record, record.word, coverage, is_again=says_again(found))
        yield from (DuplicateMatch(record.line, kind, record.offset, line) for kind, line in found)


def one_input(capacity: int, pieces: Pieces) -> Iterator[DuplicateMatch]:
    """Search rows that show one input, in parts of `capacity` rows of the same samples."""
    firsts = FirstsShown()
    for record in _records(pieces()):
        if record.input == ABSENT:
            return
        firsts.add(record, record.line)
    yield from searched(Partitions(capacity, _KEY, partial(_shown, firsts)), pieces())


def _copies(pieces: Pieces) -> Iterator[DuplicateMatch]:
    """Find the rows whose bytes came before."""
    lines: dict[int, int] = {}
    for record in _records(pieces()):
        earlier = lines.setdefault(record.content, record.line)
        if earlier != record.line:
            yield DuplicateMatch(record.line, DuplicateKind.SAME_BYTES, record.offset, earlier)


def _shown(firsts: FirstsShown, pieces: Pieces) -> Iterator[DuplicateMatch]:
    """Search rows of some of the samples that show an input, whose first rows are known."""
    group = Shown(firsts)
    for record in _records(pieces()):
        for kind, earlier in group.look(record, record.line):
            yield DuplicateMatch(record.line, kind, record.offset, earlier)


def _records(pieces: Iterable[bytes]) -> Iterator[RowRecord]:
    for data in pieces:
        yield from RowRecords(data).records()
