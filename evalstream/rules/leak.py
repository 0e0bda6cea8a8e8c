"""ES3: what should not stand in a row: the answer in the question, and secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from evalstream.formats import eee
from evalstream.model import Fault, Severity
from evalstream.parsing import pointer
from evalstream.rule import Context, RowCheck, Rule

Row = Mapping[str, Any]

TELLING_CHARACTERS: Final = 20
"""An answer shorter than this stands in many questions by chance."""

_SECRET = re.compile(
    r"""
    -----BEGIN[ ](?:[A-Z]+[ ])*PRIVATE[ ]KEY-----
    | \b(?:
        sk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}
      | gh[pousr]_[A-Za-z0-9]{36,}
      | github_pat_[A-Za-z0-9_]{40,}
      | glpat-[A-Za-z0-9_-]{20,}
      | hf_[A-Za-z0-9]{30,}
      | xox[abprs]-[A-Za-z0-9-]{10,}
      | (?:AKIA|ASIA)[A-Z0-9]{16}
      | AIza[A-Za-z0-9_-]{35}
      | eyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{20,}
    )\b
    | \b[Bb]earer[ ]+[A-Za-z0-9._~+/-]{24,}
    """,
    re.VERBOSE,
)
"""Forms that the issuers of keys publish so that scanners can find them."""

_SECRET_KEY = re.compile(
    r"(?i)(?:^|[_-])(?:api[_-]?key|secret(?:[_-]?key)?|password|passwd|access[_-]?token|"
    r"auth[_-]?token|private[_-]?key)$"
)
_PLACEHOLDER = re.compile(
    r"(?i)(?:.*(?:your|example|dummy|placeholder|redacted|changeme|xxxx|\*\*|\.\.\.|none|null|test).*"
    r"|[<$%{\[].*|env:.*)"
)
_PLAUSIBLE = re.compile(r"[!-~]{12,}")
_CHARACTERS_OF_A_KEY: Final = 6
"""How many different characters a key has at least; `aaaaaaaaaaaaaaaa` is none."""


def _answer_leak(context: Context) -> RowCheck:
    del context

    def check(row: Row) -> Iterable[Fault]:
        sample: Any = row.get("input")
        raw = sample.get("raw") if sample.__class__ is dict else None
        if raw.__class__ is not str:
            return ()
        if any(said in raw for said in _said(row)):
            return (ES312.fault("input.raw holds what the assistant said", pointer="/input/raw"),)
        ending = raw.rstrip()
        if any(_ends_in(ending, text) for text in _texts(sample.get("reference"))):
            return (ES312.fault("input.raw ends in the reference", pointer="/input/raw"),)
        return ()

    return check


def _ends_in(text: str, reference: str) -> bool:
    """Tell whether a question ends in its reference, as a word of its own."""
    bare = reference.strip()
    if not bare or len(bare) >= len(text) or not text.endswith(bare):
        return False
    return not text[-len(bare) - 1].isalnum()


def _said(row: Row) -> Iterator[str]:
    """Yield the telling texts that the model said."""
    output: Any = row.get("output")
    transcript = eee.transcript(row)
    texts = list(_texts(output.get("raw"))) if output.__class__ is dict else []
    for turn in transcript[1] if transcript else ():
        if turn.__class__ is dict and turn.get("role") == "assistant":
            texts.extend(_texts(turn.get("content")))
    return (bare for text in texts if len(bare := text.strip()) >= TELLING_CHARACTERS)


def _texts(value: Any) -> Iterator[str]:
    listed = value if value.__class__ is list else [value]
    return (text for text in listed if text.__class__ is str)


def _credential(context: Context) -> RowCheck:
    del context

    def check(row: Row) -> Iterable[Fault]:
        return [
            ES316.fault(
                f"looks like {what}; revoke it, and write the row without it", pointer=place
            )
            for place, what in _secrets(row)
        ]

    return check


def _secrets(row: Row) -> Iterator[tuple[str, str]]:
    """Yield where something looks like a secret, and what it looks like; never the value."""
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), row)]
    while waiting:
        path, value = waiting.pop()
        if value.__class__ is str:
            if _SECRET.search(value):
                yield pointer(path), "a key or token of a known form"
            elif path and _names_secret(path[-1], value):
                yield pointer(path), "a secret, by the name that it stands under"
        elif value.__class__ is list:
            waiting.extend(((*path, place), item) for place, item in enumerate(value))
        elif value.__class__ is dict:
            for key, item in value.items():
                if _SECRET.search(key):
                    yield pointer(path), "a key or token of a known form in a name"
                waiting.append(((*path, key), item))


def _names_secret(key: Any, value: str) -> bool:
    return (
        key.__class__ is str
        and _SECRET_KEY.search(key) is not None
        and _PLAUSIBLE.fullmatch(value) is not None
        and _PLACEHOLDER.fullmatch(value) is None
        and len(set(value)) >= _CHARACTERS_OF_A_KEY
    )


ES312: Final = Rule(
    "ES312",
    "answer-leak",
    Severity.WARNING,
    "input.raw holds the assistant's turn, or ends in the reference",
    """
    What it finds: an input.raw that contains what the assistant answered (twenty characters or
    more), or that ends in the reference. Off unless it is selected.

    Why it matters: the model was shown the answer, or the converter wrote the conversation
    into the question.

    Bad:
        option --select ES312
        row 1 /input/raw = "What is 2 + 3? Answer with a number. 5"
        row 1 hash concat

    Good:
        option --select ES312
        row 1 /input/raw = "What is 2 + 3? Not 45"
        row 1 hash concat
    """,
    row=_answer_leak,
    optional=True,
)

ES316: Final = Rule(
    "ES316",
    "credential",
    Severity.ERROR,
    "a key or value that looks like a secret; the value is never printed",
    """
    What it finds: texts of the forms that issuers of keys publish, private keys, bearer tokens,
    and values under names such as `api_key` or `password` that are no placeholders. Off unless
    it is selected.

    Why it matters: agentic transcripts hold what tools printed; a published key is a key lost.

    Bad:
        option --select ES316
        row 1 /metadata/api_key = "q8Zr-41xT_mmP0vW"

    Good:
        option --select ES316
        row 1 /metadata/api_key = "YOUR_API_KEY_HERE"
    """,
    row=_credential,
    optional=True,
)

RULES: Final = (ES312, ES316)
