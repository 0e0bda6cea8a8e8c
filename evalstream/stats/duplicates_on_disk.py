"""Duplicate search on disk for rows of one sample or one input that do not fit in memory."""

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
    is_repetition,
)
from evalstream.stats.input_index import FirstUses, InputGroup
from evalstream.stats.partitions import Digest, Partitions, Pieces, search_partitions

_CONTENT: Final = Digest(CONTENT_AT, KEY_BYTES)
_KEY: Final = Digest(KEY_AT, KEY_BYTES)


def search_sample(capacity: int, coverage: Coverage, pieces: Pieces) -> Iterator[DuplicateMatch]:
    """Search rows of one sample, and add them to `coverage`.

    Rows with the same bytes are found first, in parts of `capacity` rows. The memory for the other
    rows does not grow with their number.
    """
    copies = search_partitions(Partitions(capacity, _CONTENT, _find_copies), pieces())
    copy, group = next(copies, None), None
    for record in _records(pieces()):
        coverage.add_marks([record.place], [record.mark])
        if group is None:
            group = SampleGroup(record, record.line)
            coverage.add_firsts([record.place], [record.word])
            continue
        if copy is not None and copy.line == record.line:
            found = [(copy.kind, copy.earlier)]
            copy = next(copies, None)
        else:
            found = list(group.add_unless_copy(record, record.line))
        group.cover(record, record.word, coverage, is_repeated=is_repetition(found))
        yield from (DuplicateMatch(record.line, kind, record.offset, line) for kind, line in found)


def search_input(capacity: int, pieces: Pieces) -> Iterator[DuplicateMatch]:
    """Search rows that show one input, in parts of `capacity` rows of the same samples."""
    firsts = FirstUses()
    for record in _records(pieces()):
        if record.input == ABSENT:
            return
        firsts.add(record, record.line)
    yield from search_partitions(
        Partitions(capacity, _KEY, partial(_search_group, firsts)), pieces()
    )


def _find_copies(pieces: Pieces) -> Iterator[DuplicateMatch]:
    """Find the rows whose bytes an earlier row has."""
    lines: dict[int, int] = {}
    for record in _records(pieces()):
        earlier = lines.setdefault(record.content, record.line)
        if earlier != record.line:
            yield DuplicateMatch(record.line, DuplicateKind.SAME_BYTES, record.offset, earlier)


def _search_group(firsts: FirstUses, pieces: Pieces) -> Iterator[DuplicateMatch]:
    """Search rows of some samples that show one input, whose first rows are known."""
    group = InputGroup(firsts)
    for record in _records(pieces()):
        for kind, earlier in group.add(record, record.line):
            yield DuplicateMatch(record.line, kind, record.offset, earlier)


def _records(pieces: Iterable[bytes]) -> Iterator[RowRecord]:
    for data in pieces:
        yield from RowRecords(data).records()
