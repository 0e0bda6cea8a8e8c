"""Elements of a JSON array: their bytes, the reader of one, and scanners that take them first.

The reader is the standard parser: tokens do not tell where a value stops being JSON.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import Final, Protocol

from evalstream.model.data_class import NamedTuple
from evalstream.parsing.lazy_regex import LazyPattern

# Only the end of a value is needed, so the decoder keeps as little of it as possible; numbers may
# have any length because they are not converted.
DECODER: Final = json.JSONDecoder(parse_int=bool, parse_float=bool, object_hook=bool)

_CUT_ESCAPE = LazyPattern(r"u[0-9A-Fa-f]{0,4}")

_WORDS: Final = ("null", "true", "false", "NaN", "Infinity", "-Infinity")

_CUT_TOKENS: Final = frozenset(
    {"", ".", "e", "E", "e+", "e-", "E+", "E-"}
    | {word[:length] for word in _WORDS for length in range(1, len(word))}
)

_LONGEST_CUT_TOKEN: Final = max(map(len, _CUT_TOKENS))


class ReadOutcome(Enum):
    """Whether a value is complete, truncated, invalid, or nested too deeply to parse."""

    COMPLETE = "complete"
    CUT = "truncated"
    MALFORMED = "malformed"
    TOO_DEEP = "too deep"


class ReadResult(NamedTuple):
    """How far a value could be read: to its end, to its error or to the end of the text."""

    outcome: ReadOutcome
    end: int


def read_value(text: str, start: int) -> ReadResult:
    """Read the value that begins at `start` as far as possible."""
    try:
        end = DECODER.raw_decode(text, start)[1]
    except json.JSONDecodeError as error:
        if is_cut(text, error.pos):
            return ReadResult(ReadOutcome.CUT, len(text))
        return ReadResult(ReadOutcome.MALFORMED, error.pos)
    except RecursionError:
        return ReadResult(ReadOutcome.TOO_DEEP, len(text))
    if text[start] not in '{["' and _is_cut_token(text, end):
        return ReadResult(ReadOutcome.CUT, len(text))
    return ReadResult(ReadOutcome.COMPLETE, end)


def is_cut(text: str, error: int) -> bool:
    """Tell whether an error may disappear with more text; False is certain."""
    if text.startswith('"', error):
        return not _is_complete_string(text, error)
    return _is_cut_token(text, error) or _CUT_ESCAPE.fullmatch(text, error) is not None


def _is_cut_token(text: str, start: int) -> bool:
    """Tell whether the text ends where a number or a literal may continue."""
    return len(text) - start <= _LONGEST_CUT_TOKEN and text[start:] in _CUT_TOKENS


def _is_complete_string(text: str, quote: int) -> bool:
    """Tell whether a string is closed or invalid; the error of a truncated one is at its quote."""
    try:
        DECODER.raw_decode(text, quote)
    except json.JSONDecodeError as error:
        return error.pos != quote
    return True


class Element(NamedTuple):
    """The bytes of one element, without white space or comma around them.

    `offset` is the byte offset of the first byte in the input, `line` its line from 1, where only
    line feeds end lines. `column` counts characters from 1; it is None if other than ASCII text is
    before the element on its line. An element that is not `whole` is the point where the array
    breaks: its text is a bounded part of the input there.
    """

    text: bytes
    offset: int
    line: int
    whole: bool = True
    column: int | None = None


class Piece(NamedTuple):
    """The bytes of a list that are there, for a scanner: from `at` on, or behind an element.

    `offset` is that of the bytes in the input, and `line_start` that of the line of `at`. From
    `wide` on are other bytes than ASCII, and `behind` is the end of the element before.
    """

    data: bytes
    at: int
    is_behind: bool
    longest: int
    offset: int
    line: int
    line_start: int
    wide: int | None
    behind: int


class PieceEnd(NamedTuple):
    """Where a scanner stopped, behind the last element that it took, as in `Piece`."""

    at: int
    line: int
    line_start: int


class ListScanner(Protocol):
    """Takes elements of a list before the splitter looks at them."""

    def take(self, piece: Piece) -> PieceEnd:
        """Take the elements that come first, and return where the others begin."""
        ...


class ArrayError(NamedTuple):
    """An error in the array itself; `offset` is in bytes, `line` and `column` count from 1.

    `name` is the name of the rule that it breaks.
    """

    message: str
    offset: int
    line: int
    name: str = "invalid-json"
    column: int | None = None
