"""The exact JSON parser: RFC 8259 to the letter, with all violations in a text.

The standard parser reads the values and words the errors; tokens give the depth before it starts.
"""

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from evalstream.model.text import on_one_line
from evalstream.parsing.json import STRING, Parsed, SyntaxIssue, fast, pointer, shorten
from evalstream.parsing.json_tokens import TOKEN
from evalstream.parsing.lazy_regex import LazyPattern

MAX_INTEGER_DIGITS: Final = 4300
"""CPython's default limit for converting digits to an integer; jiter has the same."""

EXCERPT_CHARACTERS: Final = 60
SPLICE_CANDIDATES: Final = 64

_RAW_CONTROL = LazyPattern("[\x00-\x08\x0b\x0c\x0e-\x1f]+")
SURROGATE: Final = LazyPattern("[\ud800-\udfff]")
_FIRST_KEY = LazyPattern(rf"\s*+(\{{\s*+{STRING}\s*+:)")
_LARGEST_FLOAT = sys.float_info.max


def parse_exactly(text: bytes, max_depth: int) -> Parsed:
    """Parse `text` to the letter of RFC 8259 and return all violations."""
    try:
        characters = text.decode()
    except UnicodeDecodeError as error:
        return _unreadable(_undecodable(text, error))
    if text.count(b"[") + text.count(b"{") > max_depth and _depth(characters) > max_depth:
        message = f"nested deeper than {max_depth} levels"
        return _unreadable(SyntaxIssue("too-deep-or-too-big", message))
    return _decode(characters)


def excerpt(characters: str, position: int) -> tuple[str, int]:
    """Return the text around a position on one line, and the index of the position in it."""
    start = max(0, position - EXCERPT_CHARACTERS // 2)
    shown = characters[start : start + EXCERPT_CHARACTERS]
    return on_one_line(shown), position - start


def _unreadable(issue: SyntaxIssue) -> Parsed:
    return Parsed(None, False, [issue])


def _undecodable(text: bytes, error: UnicodeDecodeError) -> SyntaxIssue:
    start = error.start
    begin = text.rfind(b"\n", 0, start) + 1
    around = text[max(0, start - EXCERPT_CHARACTERS // 2) : start + EXCERPT_CHARACTERS // 2]
    shown, _ = excerpt(around.decode(errors="replace"), 0)
    place = f"byte {text[start]:#04x} at byte {start - begin} of the line"
    return SyntaxIssue(
        "invalid-utf8",
        f"{place} is not valid UTF-8: {error.reason}",
        offset=start,
        line=text.count(b"\n", 0, start) + 1,
        column=len(text[begin:start].decode()) + 1,
        excerpt=shown,
        caret=len(text[max(0, start - EXCERPT_CHARACTERS // 2) : start].decode(errors="replace")),
        at_end=error.reason == "unexpected end of data" and error.end == len(text),
    )


def _control_bytes(characters: str, found: re.Match[str]) -> SyntaxIssue:
    start, length = found.start(), len(found.group())
    offset = len(characters[:start].encode())
    shown, caret = excerpt(characters, start)
    kind = "NUL" if set(found.group()) == {"\0"} else "raw control"
    noun = "byte" if length == 1 else "bytes"
    line, column, place = _locate(characters, start)
    message = f"{length} {kind} {noun} at byte {place} of the line"
    if _is_object(characters[found.end() :]):
        restart = place + length
        message = f"{message}; a whole object begins again at byte {restart} of the line"
    return SyntaxIssue(
        "nul-bytes", message, offset=offset, line=line, column=column, excerpt=shown, caret=caret
    )


def _locate(characters: str, position: int) -> tuple[int, int, int]:
    """Return the line and the column of a position, from 1, and its byte in the line, from 0."""
    begin = characters.rfind("\n", 0, position) + 1
    line = characters.count("\n", 0, begin) + 1
    return line, position - begin + 1, len(characters[begin:position].encode())


def _is_object(characters: str) -> bool:
    try:
        return characters.lstrip().startswith("{") and isinstance(fast(characters.encode()), dict)
    except ValueError:
        return False


def _depth(characters: str) -> int:
    """Return the number of containers around the deepest value; an empty container is a value."""
    depth = deepest = 0
    opened = False
    for token in TOKEN.finditer(characters):
        sign = token.group()
        if sign in "]}":
            deepest = max(deepest, depth - 1 if opened else depth)
            depth, opened = depth - 1, False
        elif sign not in ",:":
            deepest = max(deepest, depth)
            opened = sign in "[{"
            depth += opened
        if sign == '"':
            break
    return deepest


class _Repeated(dict[str, Any]):
    """An object with a repeated key, with all its pairs."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


class _HugeInteger(int):
    """An integer with more digits than the limit; its value is truncated."""


class _NotFinite(float):
    """NaN or an infinity, with its text."""

    def __init__(self, text: str) -> None:
        self.text = text


class _StrictHooks:
    """Hooks for the standard parser that detect what it would silently accept."""

    def __init__(self) -> None:
        self.found_any = False

    def members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        self.found_any = True
        return _Repeated(pairs)

    def constant(self, name: str) -> float:
        self.found_any = True
        return _NotFinite(name)

    def real(self, digits: str) -> float:
        number = float(digits)
        if not math.isinf(number):
            return number
        self.found_any = True
        return _NotFinite(digits)

    def integer(self, digits: str) -> int:
        if len(digits.lstrip("-")) <= MAX_INTEGER_DIGITS:
            return int(digits)
        self.found_any = True
        return _HugeInteger(digits[:300])


def _decode(characters: str) -> Parsed:
    hooks = _StrictHooks()
    try:
        value = json.loads(
            characters,
            object_pairs_hook=hooks.members,
            parse_constant=hooks.constant,
            parse_float=hooks.real,
            parse_int=hooks.integer,
        )
    except json.JSONDecodeError as error:
        controls = _RAW_CONTROL.search(characters)
        if controls:
            return _unreadable(_control_bytes(characters, controls))
        return _unreadable(_syntax(characters, error))
    except RecursionError:
        return _unreadable(SyntaxIssue("too-deep-or-too-big", "nested too deeply to parse"))
    if not hooks.found_any and "\\u" not in characters:
        return Parsed(value, True, [])
    issues: list[SyntaxIssue] = []
    try:
        return Parsed(_substitute_values(value, (), issues), True, issues)
    except RecursionError:
        return _unreadable(SyntaxIssue("too-deep-or-too-big", "nested too deeply to check"))


def _substitute_values(value: Any, path: tuple[Any, ...], issues: list[SyntaxIssue]) -> Any:
    """Copy `value` with substitutes that other rules can check, and record where they are."""
    if isinstance(value, dict):
        return _cleaned_members(value, path, issues)
    if isinstance(value, list):
        return [
            _substitute_values(item, (*path, index), issues) for index, item in enumerate(value)
        ]
    if isinstance(value, str):
        return _cleaned_text(value, path, issues)
    if isinstance(value, _NotFinite):
        message, place = "a number that is not finite", pointer(path)
        issues.append(
            SyntaxIssue(
                "non-finite-number", message, pointer=place, found=value.text, replaced=True
            )
        )
        return 0.0 if math.isnan(value) else math.copysign(_LARGEST_FLOAT, value)
    if isinstance(value, _HugeInteger):
        message = f"an integer of more than {MAX_INTEGER_DIGITS:,} digits"
        place = pointer(path)
        issues.append(SyntaxIssue("too-deep-or-too-big", message, pointer=place, replaced=True))
        return int(value)
    return value


def _cleaned_members(
    members: dict[str, Any], path: tuple[Any, ...], issues: list[SyntaxIssue]
) -> dict[str, Any]:
    pairs: Iterable[tuple[str, Any]] = members.items()
    times: Mapping[str, int] = {}
    if isinstance(members, _Repeated):
        pairs, times = members.pairs, Counter(key for key, _ in members.pairs)
    cleaned: dict[str, Any] = {}
    reported: set[str] = set()
    for key, value in pairs:
        name = _cleaned_text(key, (*path, key), issues)
        if times.get(key, 1) > 1 and key not in reported:
            reported.add(key)
            message = f"the key {shorten(name)!r} occurs {times[key]} times in one object"
            place = pointer((*path, name))
            issues.append(SyntaxIssue("duplicate-key", message, pointer=place))
        cleaned[name] = _substitute_values(value, (*path, name), issues)
    return cleaned


def _cleaned_text(text: str, path: tuple[Any, ...], issues: list[SyntaxIssue]) -> str:
    if not SURROGATE.search(text):
        return text
    cleaned = SURROGATE.sub("\ufffd", text)
    place = pointer(SURROGATE.sub("\ufffd", str(key)) for key in path)
    message = "unpaired surrogate: UTF-8 cannot encode it, so its hash is undefined"
    issues.append(SyntaxIssue("unpaired-surrogate", message, pointer=place))
    return cleaned


def describe_json_error(error: json.JSONDecodeError) -> str:
    """Return what is wrong with JSON, without the place, which may follow."""
    described = error.msg[0].lower() + error.msg[1:]
    return described.removesuffix(" at").removesuffix(" starting")


def _syntax(characters: str, error: json.JSONDecodeError) -> SyntaxIssue:
    shown, caret = excerpt(characters, error.pos)
    offset = len(characters[: error.pos].encode())
    at_end = not characters[error.pos :].strip() or error.msg.startswith("Unterminated string")
    described = describe_json_error(error)
    line, column, byte = _locate(characters, error.pos)
    name, message = "invalid-json", f"{described} at column {column} (byte {byte})"
    restart = None if at_end else _next_object(characters, error)
    if restart is not None:
        name = "spliced-record"
        its_line, _, byte = _locate(characters, restart)
        where = f"at byte {byte} of the line" if its_line == line else f"on line {its_line:,}"
        message = f"{message}; a whole object begins again {where}"
        offset = len(characters[:restart].encode())
    return SyntaxIssue(
        name, message, offset, line, excerpt=shown, caret=caret, at_end=at_end, column=column
    )


def _next_object(characters: str, error: json.JSONDecodeError) -> int | None:
    """Return the start of a whole object after a torn or complete one, if there is one."""
    if error.msg.startswith("Extra data") and characters[error.pos] == "{":
        return error.pos
    first = _FIRST_KEY.match(characters)
    if not first:
        return None
    start = characters.find(first.group(1), first.end())
    for _ in range(SPLICE_CANDIDATES):
        if start < 0:
            return None
        try:
            fast(characters[start:].encode())
        except ValueError:
            start = characters.find(first.group(1), start + 1)
        else:
            return start
    return None
