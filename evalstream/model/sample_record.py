"""Sample records: what a comparison of runs reads of each row, and of each sample.

Records are words of 64 bits, one behind the other, in the byte order of the machine. Digests and
numbers are unsigned; the score is the bits of a double.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntFlag
from typing import Final

from evalstream.model.data_class import NamedTuple

ROW_WORDS: Final = 12
ROW_BYTES: Final = 8 * ROW_WORDS
"""The size of a SampleRow, in words and in bytes."""

UNKNOWN: Final = 0
"""A digest of something that a row does not have."""

_ROW: Final = struct.Struct("=QQQQQQdQQQQQ")


class SampleFlag(IntFlag):
    """Bit flags of a row or a sample."""

    RIGHT = 1
    """is_correct is true, in every row of the sample."""

    WRONG = 2
    """is_correct is false, in every row of the sample."""

    FAILED = 4
    """A row has an error."""

    AMBIGUOUS = 8
    """The identity is that of several sample ids of the run."""


class SampleRow(NamedTuple):
    """One row, in the terms of a comparison.

    `high` and `low` are the identity of its sample, both 0 for a row without one. `sample` digests
    the sample_id as text, `group` is the number of its result and metric in the run. `line` counts
    from 1 and `offset` is in bytes of the unpacked file. `score` is NaN where the row has none.
    `question` digests input.raw and the choices, `input` these and the references, `prompt`
    input.formatted, and `cluster` the value by which samples are clustered, or where that was not
    asked for, the question in a form that copies of it share (0: unknown, for each).
    """

    high: int
    low: int
    sample: int
    group: int
    line: int
    offset: int
    score: float
    flags: int
    question: int
    input: int
    prompt: int
    cluster: int

    def pack(self) -> bytes:
        """Return the record."""
        return _ROW.pack(*self)


class SampleScore(NamedTuple):
    """One sample under one result: its rows, reduced to their mean.

    The first members are those of the sample's first row by line; `cluster` is UNKNOWN if its rows
    have several. `score` is the mean over the
    `scored` rows of `rows` in all, NaN without any; `spread` is the sum of their squared deviations
    from it. `failed` counts rows with an error.
    """

    high: int
    low: int
    sample: int
    group: int
    line: int
    offset: int
    score: float
    flags: int
    question: int
    input: int
    prompt: int
    cluster: int
    rows: int
    scored: int
    spread: float
    failed: int


class PairFlag(IntFlag):
    """Bit flags of a matched pair of samples, beside the flags of both sides."""

    OTHER_PROMPT = 1 << 32
    """Both prompts are known, and differ."""

    OTHER_INPUT = 1 << 33
    """Both inputs are known, and differ: drift, unless the question is the same."""

    OTHER_REFERENCE = 1 << 34
    """Both inputs are known and differ, but the questions do not: relabelled."""

    OTHER_CLUSTER = 1 << 35
    """The clusters differ, or one run alone has one."""

    ONE_PROMPT = 1 << 36
    """One run alone shows its prompt."""


B_SHIFT: Final = 16
"""How far the flags of the second side are shifted among those of a pair."""


class SamplePair(NamedTuple):
    """One sample that two runs score under one result and metric.

    `flags` are those of both sides (the second shifted by B_SHIFT) and of the pair. `metric` is the
    number that both groups have in the comparison. `rows_a` and `spread_a` are the number of scored
    rows and their spread. `ordinal` numbers the samples of the first run, in their order.
    """

    metric: int
    flags: int
    score_a: float
    score_b: float
    rows_a: int
    rows_b: int
    spread_a: float
    spread_b: float
    line_a: int
    offset_a: int
    line_b: int
    offset_b: int
    cluster: int
    sample_a: int
    sample_b: int
    ordinal: int


class GroupLabel(NamedTuple):
    """The values that all rows of one result share.

    `place` is the index of the result that they join; without one they share `name` and `result`:
    their evaluation_name and evaluation_result_id as texts, None where they have none.
    """

    place: int | None
    name: str | None = None
    result: str | None = None


class BlockSamples(NamedTuple):
    """The rows of a block: packed SampleRows whose groups are indices into `labels`."""

    labels: tuple[GroupLabel, ...]
    rows: bytes


def sample_rows(data: bytes) -> Iterator[SampleRow]:
    """Iterate over packed rows."""
    return map(SampleRow._make, _ROW.iter_unpack(data))
