"""ES3: rules about content that does not belong in a row: answers in questions, and secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from evalstream.formats.eee import row_view
from evalstream.formats.eee.facts import by_version, in_any_context
from evalstream.formats.eee.rules.answers import list_texts
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Violation
from evalstream.parsing.json import pointer
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.rules.base import declare_rule

Row = Mapping[str, Any]

TELLING_CHARACTERS: Final = 20
"""Shorter answers appear in many questions by chance."""

_MARKS: Final = (
    "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "hf_", "xox", "AKIA",
    "ASIA", "AIza", "eyJ", "earer ", "PRIVATE KEY-----",
)  # fmt: skip
"""Marks of the forms below; a string without any of them needs no further search."""

_SECRET = LazyPattern(
    r"""
    -----BEGIN[ ](?:[A-Z]+[ ])*PRIVATE[ ]KEY-----.{0,200}?(?P<key>[A-Za-z0-9+/]{40})
    | (?<![A-Za-z0-9])(?P<token>
        sk-[A-Za-z0-9_-]{20,}
      | gh[pousr]_[A-Za-z0-9]{36,}
      | github_pat_[A-Za-z0-9_]{40,}
      | glpat-[A-Za-z0-9_-]{20,}
      | hf_[A-Za-z0-9]{30,}
      | xox[abeprs]-[A-Za-z0-9-]{10,}
      | (?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])
      | AIza[A-Za-z0-9_-]{35}
      | eyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{20,}
      | [Bb]earer[ ]+[A-Za-z0-9._~+/-]{24,}
    )
    """,
    re.VERBOSE | re.DOTALL,
)
"""Key formats that issuers publish for secret scanners.

The scanner doubts a row by these forms and by the names below (`parsing/native/secret.c`).
"""

_SHORTEST: Final = 15
"""The length of the shortest of these forms."""

_RUN = LazyPattern(r"[A-Za-z0-9]{12,}")
"""A run of characters that every key has; digits distinguish it from a word."""

_SECRET_KEY = LazyPattern(
    r"(?:^|[_.-]|(?<=[a-z])(?=[A-Z]))(?i:api[_-]?key|(?:client[_-]?)?secret(?:[_-]?(?:access[_-]?)?key)?|"
    r"password|passwd|passphrase|(?:access|auth|refresh|bearer|session|secret)[_-]?token|"
    r"private[_-]?key)$"
)
_TOKEN_KEY = LazyPattern(r"(?i)(?:^|[_-])token$")
_PLACEHOLDER = LazyPattern(
    r"(?is).*(?:your|example|sample|dummy|fake|placeholder|redacted|changeme|x{4}|\*\*|\.\.\.|none|"
    r"null|test|12345678|eyJzdWIiOiIxMjM0NTY3ODkw).*"
    r"|[<$%{\[/].*|(?:env:|https?:).*"
)
_VARIABLE = LazyPattern(
    r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|(?:os|process|config|settings)\.\S*|[A-Za-z_.]+[(\[].*"
)
"""The name of an environment variable, or an expression that reads one."""

_PLAUSIBLE = LazyPattern(r"[!-~]{12,}")
_CHARACTERS_OF_A_PASSWORD: Final = 6
_CHARACTERS_OF_A_KEY: Final = 12
"""The least number of different characters in a key; `sk-aaaaaaaaaaaaaaaaaaaaaaaa` has too few."""


def _answer_leak(row: Row, version: str) -> Iterable[Violation]:
    sample: Any = row.get("input")
    raw = sample.get("raw") if sample.__class__ is dict else None
    if raw.__class__ is not str:
        return ()
    if _has_answer(raw, row, version):
        return (ES312.violation("input.raw contains the assistant's answer", "/input/raw"),)
    # Many questions end with their last choice, which may be the right one.
    references = [] if sample.get("choices") else list_texts(sample.get("reference"))
    if any(_ends_with(raw.rstrip(), text) for text in references):
        return (ES312.violation("input.raw ends with the reference", "/input/raw"),)
    return ()


def _has_answer(raw: str, row: Row, version: str) -> bool:
    """Return whether a question ends with the output or contains an assistant's turn.

    The answer must begin a line or follow a speaker's name, and end a line. Elsewhere an answer may
    quote the question, or repeat one of its choices or examples.
    """
    output, transcript = row.get("output"), row_view.transcript(row, version)
    ending = raw.rstrip()
    for answer in _long_strings(output.get("raw") if output.__class__ is dict else None):
        if ending.endswith(answer) and _begins_line(raw, len(ending) - len(answer)):
            return True
    return any(
        _is_on_its_own_line(answer, raw)
        for turn in (transcript[1] if transcript else ())
        if turn.__class__ is dict and turn.get("role") == "assistant"
        for answer in _long_strings(turn.get("content"))
    )


def _is_on_its_own_line(answer: str, raw: str) -> bool:
    start = raw.find(answer)
    while start >= 0:
        end = start + len(answer)
        if _begins_line(raw, start) and raw[end : end + 9].lstrip(" \t\r")[:1] in ("", "\n"):
            return True
        start = raw.find(answer, end)
    return False


def _begins_line(text: str, place: int) -> bool:
    """Return whether only blanks or a speaker's name come before a position in its line."""
    return text[max(place - 9, 0) : place].rstrip(" \t")[-1:] in ("", "\n", ":")


def _ends_with(text: str, reference: str) -> bool:
    """Return whether a question ends with its reference as a word of more than one letter."""
    bare = reference.strip()
    if len(bare) >= len(text) or not text.endswith(bare):
        return False
    letter = len(bare) == 1 and bare.isalpha()
    return bool(bare) and not letter and not text[-len(bare) - 1].isalnum()


def _long_strings(value: Any) -> Iterator[str]:
    return (bare for text in list_texts(value) if len(bare := text.strip()) >= TELLING_CHARACTERS)


def _credential(row: Row) -> Iterable[Violation]:
    return [
        ES316.violation(f"looks like {what}; revoke it and remove it from the row", place)
        for place, what in _secrets(row)
    ]


def _secrets(row: Row) -> Iterator[tuple[str, str]]:
    """Yield the pointer and a description of each suspected secret, never its value.

    For a name that is itself a secret, the pointer is that of the object with the name.
    """
    waiting: list[tuple[tuple[Any, ...], _Name, Any]] = [((), _NO_NAME, row)]
    while waiting:
        path, name, value = waiting.pop()
        if value.__class__ is str:
            if _has_secret(value):
                yield pointer(path), "a key or token of a known form"
            elif (name.of_secret or name.of_token) and _is_secret(value, name):
                yield pointer(path), "a secret, according to its name"
        elif value.__class__ is list:
            waiting.extend(((*path, place), _NO_NAME, item) for place, item in enumerate(value))
        elif value.__class__ is dict:
            for key, item in value.items():
                classified = _classify(key)
                if classified.is_secret:
                    yield pointer(path), "a name that contains a key or token of a known form"
                waiting.append((path if classified.is_secret else (*path, key), classified, item))


class _Name(NamedTuple):
    """The evidence of a name: it is a secret itself, or its value is a secret or a token."""

    is_secret: bool
    of_secret: bool
    of_token: bool


@lru_cache(maxsize=1024)
def _classify(name: str) -> _Name:
    """Classify a name; most rows share their names, so results are kept."""
    return _Name(
        is_secret=_has_secret(name),
        of_secret=_SECRET_KEY.search(name) is not None,
        of_token=_TOKEN_KEY.search(name) is not None,
    )


def _has_secret(text: str) -> bool:
    """Return whether a string has a key or token of a known form that is not a placeholder."""
    if len(text) < _SHORTEST or not any(mark in text for mark in _MARKS):
        return False
    return any(_is_genuine(found["token"] or found["key"]) for found in _SECRET.finditer(text))


def _is_genuine(key: str) -> bool:
    """Return whether a key looks random, not like words or a placeholder."""
    if len(set(key)) < _CHARACTERS_OF_A_KEY or _PLACEHOLDER.fullmatch(key):
        return False
    if key.startswith("hf_"):
        # These may have no digit.
        return not (key.islower() or key.isupper())
    return key.startswith("AKIA") or any(not run.isalpha() for run in _RUN.findall(key))


def _is_secret(value: str, name: _Name) -> bool:
    """Return whether a value under a telling name is a secret, not a placeholder or a variable.

    `token` often means a token of text; as a secret it has digits and letters, and no words.
    """
    bare = value.strip().strip("\"'")
    if not name.of_secret:
        run = _RUN.search(bare)
        if run is None or run[0].isalpha() or run[0].isdecimal():
            return False
    return (
        _PLAUSIBLE.fullmatch(bare) is not None
        and _PLACEHOLDER.fullmatch(bare) is None
        and _VARIABLE.fullmatch(bare) is None
        and len(set(bare)) >= _CHARACTERS_OF_A_PASSWORD
    )


_NO_NAME: Final = _Name(is_secret=False, of_secret=False, of_token=False)

ES312: Final = declare_rule(
    "ES312", row=by_version(_answer_leak), reads=("/input/raw",), in_scanner=True
)
ES316: Final = declare_rule("ES316", row=in_any_context(_credential), reads=("",), in_scanner=True)

RULES: Final = (ES312, ES316)
