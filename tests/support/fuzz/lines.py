"""Lines: rows as they are written, changes of their bytes, and lines that are not rows."""

import json
import random
import re
from collections.abc import Callable
from typing import Any, Final

import orjson

from fuzz.literals import filled

Writer = Callable[[Any], bytes]

WRITERS: Final[tuple[Writer, ...]] = (
    orjson.dumps,
    orjson.dumps,
    orjson.dumps,
    lambda row: json.dumps(row).encode(),
    lambda row: json.dumps(row, ensure_ascii=False, separators=(", ", ":")).encode(),
    lambda row: json.dumps(row, separators=(" \t,\r ", "\t: ")).encode(),
    lambda row: orjson.dumps(row, option=orjson.OPT_SORT_KEYS),
)

MARK: Final = b"\xef\xbb\xbf"

GARBAGE: Final = (
    b"", b"", b" ", b"\t", b"\r", b" \r", b"\x0b", b"\0", b"\0" * 40, b"[]", b"{}", b"null", b"1",
    b'"x"', b"no row", b"INFO: step 3", b"\xff\xfe", MARK, b"{", b"}", b'{"a": 1', b"[1, 2",
    b'{"schema_version": "9.9.9"}', b'{"schema_version": "0.3.0"}', b"{}{}", b"NaN", b"// x",
    b'{"a": 1, "a": 2}', "\u00a0\u2028".encode(), b" " * 70, b"x" * 3000, b"[" * 300,
    b'{"a":' * 300 + b"1" + b"}" * 300,
)  # fmt: skip
"""Lines that are not rows."""

_KEY: Final = re.compile(rb'"([a-z_]{2,}) *":')
_VALUE: Final = re.compile(rb'(?<=:)(?:"[^"\\]{0,40}"|-?[0-9.]+|null|true|false)(?=[,}])')
_ODD_BYTES: Final = b'"\\,:{}[]0-. \x00\x80e+\t;x\x7f/\xc3\xed\r\x1e'


def written(row: Any, writer: Writer) -> bytes:
    """Write a row as one line without its newline."""
    try:
        text = writer(row)
    except TypeError:
        # What is nested too deep for one writer is not for the other.
        text = json.dumps(row).encode()
    return filled(text).replace(b"\n", b" ")


def spoilt(line: bytes, chance: random.Random) -> bytes:
    """Return a line with a change of its bytes."""
    return chance.choice(_CHANGES)(line, chance)


def _flip(line: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(line) or 1)
    return line[:place] + bytes([chance.choice(_ODD_BYTES)]) + line[place + 1 :]


def _insert(line: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(line) + 1)
    return line[:place] + bytes([chance.choice(_ODD_BYTES)]) + line[place:]


def _delete(line: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(line) or 1)
    return line[:place] + line[place + chance.choice((1, 1, 2, 30)) :]


def _cut(line: bytes, chance: random.Random) -> bytes:
    return line[: chance.randrange(len(line) + 1)]


def _splice(line: bytes, chance: random.Random) -> bytes:
    return line[: chance.randrange(len(line) + 1)] + line


def _surround(line: bytes, chance: random.Random) -> bytes:
    some = (b" ", b"\t", b"\r", b"\x0c", MARK, b",", b"\0", b"\xc2\xa0", b"x", b"{}", b"]", b"[")
    other = chance.choice(some)
    return other + line if chance.random() < 0.5 else line + other


def _escape_key(line: bytes, chance: random.Random) -> bytes:
    return _changed(_KEY, line, chance, _escaped)


def _escape_value(line: bytes, chance: random.Random) -> bytes:
    return _changed(_VALUE, line, chance, _escaped)


def _null_value(line: bytes, chance: random.Random) -> bytes:
    return _changed(_VALUE, line, chance, lambda _: b"null")


def _repeat_value(line: bytes, chance: random.Random) -> bytes:
    """Put the value of one member where another one was."""
    values = _VALUE.findall(line)
    return _changed(_VALUE, line, chance, lambda _: chance.choice(values)) if values else line


def _space(line: bytes, chance: random.Random) -> bytes:
    return _changed(_VALUE, line, chance, lambda text: b" \t" + text + b"\r ")


def _escaped(text: bytes) -> bytes:
    for place, one in enumerate(text):
        if chr(one).isalnum() and text[0] == ord('"'):
            return b"%s\\u%04X%s" % (text[:place], one, text[place + 1 :])
    return text


def _changed(
    pattern: re.Pattern[bytes], line: bytes, chance: random.Random, by: Callable[[bytes], bytes]
) -> bytes:
    """Change one match of a pattern, any of them."""
    spans = [match.span() for match in pattern.finditer(line)]
    if not spans:
        return line
    start, stop = chance.choice(spans)
    return line[:start] + by(line[start:stop]) + line[stop:]


_CHANGES: Final = (
    _flip, _insert, _delete, _cut, _splice, _surround, _escape_key, _escape_value, _null_value,
    _repeat_value, _space,
)  # fmt: skip
