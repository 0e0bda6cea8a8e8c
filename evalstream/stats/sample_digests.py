"""Digests by which samples are compared, and the samples of a block."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from xxhash import xxh64_intdigest

from evalstream.io.digest import digest128
from evalstream.model.data_class import NamedTuple
from evalstream.model.options import SampleRequest
from evalstream.model.sample_record import UNKNOWN, BlockSamples, GroupLabel, SampleFlag, SampleRow
from evalstream.parsing import json
from evalstream.parsing.json_values import to_number

if TYPE_CHECKING:
    from evalstream.stats.run_samples import RunSamples

APART: Final = b"\xff"
"""A byte that UTF-8 does not use, between texts that are digested together."""

_WORDS: Final = struct.Struct(">QQ")


class InputDigests:
    """The digests of an input: its identity, its question and the input itself.

    An identity is two digests of 64 bits, which are the same for the same raw input, references and
    choices. A question is the raw input with the choices; `folded` is the same for questions that
    differ only in white space, case and forms of letters.
    """

    __slots__ = ("folded", "high", "input", "low", "question")

    def __init__(self, raw: str, references: Sequence[str], choices: Sequence[str]) -> None:
        question = encode_text(raw)
        covered = b"".join([question, *(APART + encode_text(text) for text in references)])
        options = b"".join([APART + encode_text(text) for text in choices])
        seed = xxh64_intdigest(options) if options else 0
        self.high, self.low = text_identity(covered, seed)
        self.input = bytes_digest(covered, seed)
        self.question = bytes_digest(question, seed)
        self.folded = folded_digest(raw, choices)


def folded_digest(raw: str, choices: Sequence[str]) -> int:
    """Return the digest of a question and its choices, each folded."""
    return bytes_digest(APART.join([encode_text(fold(text)) for text in (raw, *choices)]))


def fold(text: str) -> str:
    """Return a text in normal form KC, without case, and with single spaces within it."""
    if text.isascii():
        return " ".join(text.lower().split())
    from unicodedata import normalize

    return " ".join(normalize("NFKC", normalize("NFKC", text).casefold()).split())


class FoldedLetter(NamedTuple):
    """What `fold` makes of a letter that does not join the one before it.

    `first` and `last` are the combining classes of its ends. A letter stays behind the one before
    it if its `first` is 0, or not below the `last` of that one.
    """

    first: int
    last: int
    text: bytes


@lru_cache(maxsize=1 << 16)
def fold_letter(letter: str) -> FoldedLetter | None:
    """Return how a letter is folded, None for one that may join the letter before it.

    Source: Unicode Standard Annex 15; only second letters of compositions join others.
    """
    from unicodedata import combining, normalize

    once = normalize("NFKC", letter).casefold()
    apart = normalize("NFKD", letter), normalize("NFKD", once)
    first = combining(letter)
    if any(text[0] in _second_letters() or combining(text[0]) != first for text in apart):
        return None
    if first and {letter} != {once, *apart}:
        return None
    text = "".join(" " if one.isspace() else one for one in normalize("NFKC", once))
    return FoldedLetter(first, max(combining(one[-1]) for one in apart), encode_text(text))


@lru_cache
def _second_letters() -> frozenset[str]:
    """Return the letters that normal forms join to the letter before them."""
    from unicodedata import decomposition

    found = filter(None, map(decomposition, map(chr, range(_COMPOSED))))
    pairs = (one.split() for one in found if one[0] != "<")
    seconds = (chr(int(pair[1], 16)) for pair in pairs if len(pair) == 2)
    return frozenset([*seconds, *map(chr, _HANGUL_PARTS)])


_COMPOSED: Final = 0x20000
"""Letters from here on are not composed of others."""

_HANGUL_PARTS: Final = range(0x1160, 0x1200)
"""Vowels and finals, which join the letters before them by a rule."""


def text_identity(text: bytes, seed: int = 0) -> tuple[int, int]:
    """Return both halves of the identity that a text gives."""
    high, low = _WORDS.unpack(digest128(text, seed))
    return high, low


def bytes_digest(text: bytes, seed: int = 0) -> int:
    """Return the digest of a text, which is never UNKNOWN."""
    return xxh64_intdigest(text, seed) or UNKNOWN + 1


def text_digest(text: Any) -> int:
    """Return the digest of a text such as a prompt, UNKNOWN for none and for an empty one."""
    return bytes_digest(encode_text(text)) if text and isinstance(text, str) else UNKNOWN


def sample_text(sample: Any) -> bytes:
    """Return a sample id as text: the number 1 and the text "1" are the same sample."""
    if isinstance(sample, str):
        return encode_text(sample)
    if isinstance(sample, float) and sample.is_integer():
        sample = int(sample)  # JSON Schema counts 1.0 as an integer
    return b"" if sample is None else json.canonical(sample)


def id_digest(sample: Any) -> int:
    """Return the digest of a sample id, of any JSON type, UNKNOWN for none."""
    text = sample_text(sample)
    return bytes_digest(text) if text else UNKNOWN


def read_cluster(request: SampleRequest, record: Any, shown: InputDigests | None = None) -> int:
    """Return the digest of the value by which a record is clustered, UNKNOWN for none.

    Where no value was asked for, it is that of its question, which copies share.
    """
    if request.cluster is None:
        return UNKNOWN if shown is None else shown.folded
    value = json.resolve_pointer(record, request.cluster)
    return UNKNOWN if value is None else bytes_digest(json.canonical(value))


def encode_text(text: str) -> bytes:
    """Return the bytes of a text, which may contain lone surrogates."""
    return text.encode(errors="surrogatepass")


def record_sample(
    request: SampleRequest,
    sample: Any,
    shown: InputDigests | None,
    line: int,
    offset: int,
    record: Any = None,
) -> SampleRow:
    """Return the sample of a record, which has no score and flags yet.

    `sample` is its sample id, of any JSON type, and `shown` its input, None if it is not known.
    Without the `record` it has no wanted cluster. It has no identity by sample_hash.
    """
    text = sample_text(sample)
    high = low = UNKNOWN
    if request.by == "input" and shown is not None:
        high, low = shown.high, shown.low
    elif request.by == "sample_id" and text:
        high, low = text_identity(text)
    return SampleRow(
        high,
        low,
        bytes_digest(text) if text else UNKNOWN,
        0,
        line,
        offset,
        float("nan"),
        0,
        UNKNOWN if shown is None else shown.question,
        UNKNOWN if shown is None else shown.input,
        UNKNOWN,
        read_cluster(request, record, shown),
    )


def score_sample(row: SampleRow, score: Any, is_right: bool | None) -> SampleRow:
    """Return a sample with a score; unchanged where that is not a finite number."""
    number = to_number(score)
    if number is None or not isfinite(number):
        return row
    flags = {True: SampleFlag.RIGHT, False: SampleFlag.WRONG, None: SampleFlag(0)}[is_right]
    return row._replace(score=number, flags=int(flags))


def has_identity(row: SampleRow) -> bool:
    """Tell whether a sample can be paired with one of another run."""
    return (row.high, row.low) != (UNKNOWN, UNKNOWN)


class SampleBatch:
    """Samples that wait to be handed on."""

    __slots__ = ("_groups", "_rows")

    def __init__(self) -> None:
        self._groups: dict[GroupLabel, int] = {}
        self._rows: list[bytes] = []

    def __len__(self) -> int:
        """Return the number of samples that wait."""
        return len(self._rows)

    def add(self, label: GroupLabel, row: SampleRow) -> None:
        """Add a sample of a group; the group that the row itself names does not count."""
        number = self._groups.setdefault(label, len(self._groups))
        self._rows.append(row._replace(group=number).pack())

    def take(self) -> BlockSamples:
        """Return the samples that wait, and forget them."""
        block = BlockSamples(tuple(self._groups), b"".join(self._rows))
        self._groups, self._rows = {}, []
        return block


BATCH_SAMPLES: Final = 1000


class SampleCollector:
    """Hands the samples of records on to those of their run, many at once."""

    def __init__(self, samples: RunSamples) -> None:
        self._samples, self._batch, self._unidentified = samples, SampleBatch(), 0

    def add(
        self, record: SampleRow, scores: Iterable[tuple[GroupLabel, float, SampleFlag]]
    ) -> None:
        """Add a record with its scores: the group, the value and the flags of each."""
        self._unidentified += not has_identity(record)
        for label, score, flags in scores:
            self._batch.add(label, record._replace(score=score, flags=int(flags)))
        if len(self._batch) >= BATCH_SAMPLES:
            self._samples.take(self._batch.take(), 0)

    def finish(self) -> None:
        """Pass on what waits, and the number of records without an identity."""
        self._samples.take(self._batch.take(), 0)
        self._samples.unidentified = self._unidentified
