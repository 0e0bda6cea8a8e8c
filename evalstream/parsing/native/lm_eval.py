"""The compiled scanner of lm-eval's samples, through ctypes: which rows are certainly sound."""

from __future__ import annotations

import ctypes
import threading
from array import array
from collections.abc import Iterator, Sequence
from ctypes import Structure, byref, c_char_p, c_uint64, c_void_p
from enum import IntEnum
from itertools import zip_longest
from typing import Final

from evalstream.model.data_class import NamedTuple
from evalstream.parsing.native.binding import Hasher, hasher, library

DIGESTS_BYTES: Final = 96
"""The size of the three digests of a row."""

MOST_ROWS: Final = 4096
MOST_VALUES: Final = 8 * MOST_ROWS
MOST_TEXT_BYTES: Final = 1 << 22
"""What one call of the scanner has room for; a row with a larger doc is left."""

DEEPEST: Final = 100
"""The scanner takes no deeper row, so that a higher limit of the user changes nothing."""

MOST_FIELDS: Final = 16
"""Members of docs that the scanner compares with other parts of a row."""

_BEHIND_NAME: Final = b"\xff"
_MOST_NAMES: Final = 64
_RUN_WORDS: Final = 6
_PLACE_WORDS: Final = 6


class SampleRun(NamedTuple):
    """Rows on consecutive lines with one filter, the same metrics and consecutive doc_ids.

    `filter` and `metrics` are numbers of the block; `value` is the place of the first value.
    """

    filter: int
    metrics: int
    doc_id: int
    line: int
    rows: int
    value: int


_TEXTS: Final = ("generation", "openings", "fields", "question", "constant", "choices")
_BYTES: Final = (("", c_char_p), ("_length", c_uint64))


class _Name(Structure):
    _fields_ = (("start", c_uint64), ("length", c_uint64))


class _Form(Structure):
    _fields_ = (
        *((f"{name}{part}", kind) for name in _TEXTS for part, kind in _BYTES),
        *(
            (name, c_uint64)
            for name in ("is_named", "choice_place", "member_count", "repeats", "target")
        ),
    )


class _Scan(Structure):
    _fields_ = (
        ("bytes", c_char_p),
        ("size", c_uint64),
        ("longest", c_uint64),
        ("at", c_uint64),
        ("line", c_uint64),
        ("runs", c_void_p),
        ("most_runs", c_uint64),
        ("run_count", c_uint64),
        ("digests", c_void_p),
        ("most_rows", c_uint64),
        ("row_count", c_uint64),
        ("values", c_void_p),
        ("most_values", c_uint64),
        ("value_count", c_uint64),
        ("texts", c_void_p),
        ("most_bytes", c_uint64),
        ("filters", _Name * _MOST_NAMES),
        ("metrics", _Name * _MOST_NAMES),
        ("metric_counts", c_uint64 * _MOST_NAMES),
        ("filter_count", c_uint64),
        ("metrics_count", c_uint64),
        ("scoring", c_uint64),
        ("delimiter", c_char_p),
        ("delimiter_length", c_uint64),
        ("is_chat", c_uint64),
        ("gold", c_char_p),
        ("gold_length", c_uint64),
        ("known_filters", c_char_p),
        ("known_length", c_uint64),
        ("contents", c_void_p),
        ("places", c_void_p),
        ("form", _Form),
    )


class Scoring(IntEnum):
    """How much of the scores of a row the scanner compares with its answers.

    `FILTERED` is that the first answer to each request is taken, `CHOICES` also acc and acc_norm,
    and `GENERATED` also exact_match.
    """

    UNSCORED = 0
    FILTERED = 1
    CHOICES = 2
    GENERATED = 3


class RequestTarget(IntEnum):
    """What stands in the place of the target in the first request."""

    ANYTHING = 0
    PROMPT = 1
    SECOND = 2


class RowRequest(NamedTuple):
    """How rows were asked for: texts as JSON writes them, empty for what is not known.

    `generation` is the second argument, `openings` are texts of all prompts, and `choices` those of
    all docs. `question` has texts before, between and behind `fields`, each with a member of docs,
    or the one member alone if it `is_named`: then `constant` is the question of docs without it.
    `choice_field` is the member with the choices of a doc, `members` are those that each doc has,
    and `repeats` is the number of answers or 0.
    """

    generation: bytes = b""
    openings: Sequence[bytes] = ()
    question: Sequence[bytes] = ()
    fields: Sequence[bytes] = ()
    constant: bytes = b""
    is_named: bool = False
    choices: Sequence[bytes] = ()
    choice_field: bytes = b""
    members: Sequence[bytes] = ()
    repeats: int = 0
    target: RequestTarget = RequestTarget.ANYTHING

    @property
    def names(self) -> list[bytes]:
        """The members of docs, each once; the ones that each doc has come first."""
        choices = [self.choice_field] if self.choice_field else []
        return list(dict.fromkeys([*self.members, *self.fields, *choices]))

    def pack(self) -> _Form:
        """Return it as the scanner reads it."""
        names = self.names
        places = [_BEHIND_NAME + bytes([names.index(one)]) for one in self.fields]
        question = b"".join(map(b"".join, zip_longest(self.question, places, fillvalue=b"")))
        texts = {
            "generation": self.generation,
            "openings": _join(self.openings),
            "fields": _join(names),
            "question": question,
            "constant": self.constant,
            "choices": _join(self.choices),
        }
        lengths = {f"{name}_length": len(text) for name, text in texts.items()}
        place = names.index(self.choice_field) + 1 if self.choice_field else 0
        return _Form(
            **texts,
            **lengths,
            is_named=self.is_named,
            choice_place=place,
            member_count=len(self.members),
            repeats=self.repeats,
            target=self.target,
        )


def _join(names: Sequence[bytes]) -> bytes:
    return b"".join(name + _BEHIND_NAME for name in names)


class RowScoring(NamedTuple):
    """How rows were scored; `delimiter` is before each choice, as JSON writes it.

    `gold` is the member of docs that is their target, empty for none. With `filters` the scanner
    leaves rows of other ones. `has_contents` asks for what the rows of a doc have in common,
    `has_answers` for what the scanner does not compare. `request` is how the rows were asked for.
    """

    scoring: Scoring = Scoring.UNSCORED
    delimiter: bytes = b""
    is_chat: bool = False
    gold: bytes = b""
    filters: tuple[str, ...] = ()
    has_contents: bool = False
    has_answers: bool = False
    request: RowRequest = RowRequest()


class RowAnswers(NamedTuple):
    """Members of a row as they are written."""

    target: bytes
    resps: bytes
    filtered: bytes


class SampleScanner:
    """Looks at the lines of blocks, one block after the other, for one thread at a time.

    After `start`, each `take` replaces what the one before returned.
    """

    def __init__(self, loaded: ctypes.CDLL, sha256: Hasher) -> None:
        self._library, self._hasher = loaded, sha256
        self._runs = array("Q", bytes(8 * _RUN_WORDS * MOST_ROWS))
        self._values = array("d", bytes(8 * MOST_VALUES))
        self._contents = array("Q", bytes(8 * MOST_ROWS))
        self._places = array("Q", bytes(8 * _PLACE_WORDS * MOST_ROWS))
        self._digests = ctypes.create_string_buffer(DIGESTS_BYTES * MOST_ROWS)
        self._texts = ctypes.create_string_buffer(MOST_TEXT_BYTES)
        self._data = b""
        self.how = RowScoring()
        self._scan = _Scan()

    def start(self, data: bytes, longest: int, how: RowScoring | None = None) -> None:
        """Begin with a block of lines; those of more than `longest` bytes are left."""
        self._data, self.how = data, (how := how or RowScoring())
        known = _join([name.encode(errors="surrogatepass") for name in how.filters])
        self._scan = _Scan(
            bytes=data,
            size=len(data),
            longest=longest,
            runs=self._runs.buffer_info()[0],
            most_runs=MOST_ROWS,
            digests=ctypes.addressof(self._digests),
            values=self._values.buffer_info()[0],
            most_values=MOST_VALUES,
            texts=ctypes.addressof(self._texts),
            most_bytes=MOST_TEXT_BYTES,
            scoring=how.scoring,
            delimiter=how.delimiter,
            delimiter_length=len(how.delimiter),
            is_chat=how.is_chat,
            gold=how.gold,
            gold_length=len(how.gold),
            known_filters=known,
            known_length=len(known),
            contents=self._contents.buffer_info()[0] if how.has_contents else None,
            places=self._places.buffer_info()[0],
            form=how.request.pack(),
        )

    def take(self, start: int, line: int, most: int = MOST_ROWS) -> int:
        """Take at most some rows from the line that begins at `start`, whose number is `line`.

        Returns how many follow each other there; 0 means that the first one is left.
        """
        scan = self._scan
        scan.at, scan.line, scan.most_rows = start, line, most
        scan.run_count = scan.row_count = scan.value_count = 0
        taken: int = self._library.scan_lm_rows(byref(scan), byref(self._hasher))
        return taken

    def ignore_requests(self) -> None:
        """Take rows of this block however they were asked for, if they have as many answers."""
        self._scan.form = _Form(repeats=self.how.request.repeats)

    @property
    def stop(self) -> int:
        """The place behind the rows that were taken."""
        return int(self._scan.at)

    def digests(self) -> bytes:
        """Return the three digests of each row that was taken."""
        return ctypes.string_at(self._digests, DIGESTS_BYTES * self._scan.row_count)

    def contents(self, start: int, stop: int) -> Sequence[int]:
        """Return what some of the taken rows have in common with other rows of their docs.

        It is the 64-bit XXH64 of the canonical JSON of a list of doc, target, arguments and resps,
        with the doc_id as its seed.
        """
        return self._contents[start:stop]

    def answers(self, start: int, stop: int) -> Iterator[RowAnswers]:
        """Iterate over what some of the taken rows were answered, and their targets."""
        words = iter(self._places[_PLACE_WORDS * start : _PLACE_WORDS * stop])
        parts = (self._data[at : at + size] for at, size in zip(words, words, strict=True))
        return map(RowAnswers, parts, parts, parts)

    def runs(self) -> Iterator[SampleRun]:
        """Iterate over the runs of the rows that were taken."""
        words = self._runs[: _RUN_WORDS * self._scan.run_count].tolist()
        parts = (words[place::_RUN_WORDS] for place in range(_RUN_WORDS))
        return map(SampleRun._make, zip(*parts, strict=True))

    def values(self, start: int, stop: int) -> Sequence[float]:
        """Return the values of metrics at some places, NaN for those that are not numbers."""
        return self._values[start:stop]

    @property
    def value_count(self) -> int:
        """The number of values of the rows that were taken."""
        return int(self._scan.value_count)

    def filter(self, number: int) -> bytes:
        """Return the name of a filter as it is written, without quotes."""
        return self._text(self._scan.filters[number])

    def metrics(self, number: int) -> bytes:
        """Return the names of metrics as they are written, without brackets."""
        return self._text(self._scan.metrics[number])

    def _text(self, name: _Name) -> bytes:
        return self._data[name.start : name.start + name.length]


def sample_scanner() -> SampleScanner | None:
    """Return the scanner of this thread, None where the library is not built or is another one."""
    if not hasattr(_OF_THREAD, "scanner"):
        loaded = library()
        if loaded is not None and loaded.lm_scan_size() != ctypes.sizeof(_Scan):
            loaded = None
        _OF_THREAD.scanner = loaded and SampleScanner(loaded, hasher("sha256"))
    found: SampleScanner | None = _OF_THREAD.scanner
    return found


_OF_THREAD: Final = threading.local()
