"""Reader of one JSON value in a text that may be truncated."""

from __future__ import annotations

import json
from enum import Enum
from typing import Final, NamedTuple

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
        if _is_cut(text, error.pos):
            return ReadResult(ReadOutcome.CUT, len(text))
        return ReadResult(ReadOutcome.MALFORMED, error.pos)
    except RecursionError:
        return ReadResult(ReadOutcome.TOO_DEEP, len(text))
    if text[start] not in '{["' and _is_cut_token(text, end):
        return ReadResult(ReadOutcome.CUT, len(text))
    return ReadResult(ReadOutcome.COMPLETE, end)


def _is_cut(text: str, error: int) -> bool:
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
