"""The tokens of JSON as regular expressions: the one lossless tokenizer of this package.

They match valid JSON, and of other texts what looks like it. Bytes and strings have the same
tokens, because all that structures JSON is ASCII.
"""

from __future__ import annotations

import re
from typing import Final

from evalstream.parsing.lazy_regex import LazyPattern

CONTINUATION: Final = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that begin no character."""

STRING: Final = r'"(?:[^"\\]++|\\.)*+"'
"""A whole string with its quotes."""

_TOKEN: Final = rf'{STRING}|[{{}}\[\],:]|[^\s{{}}\[\],:"]++'

TOKEN: Final = LazyPattern(_TOKEN)
"""A string, a bracket, a comma, a colon, or a number or word."""

TOKEN_BYTES: Final = LazyPattern(rf'{_TOKEN}|"'.encode(), re.DOTALL)
"""The same of bytes; a quote alone begins a string that does not end in them."""

BRACKET_BYTES: Final = LazyPattern(
    rf'(?:[^"{{}}\[\]]++|{STRING})*+([{{}}\[\]])'.encode(), re.DOTALL
)
"""All up to the next bracket that is not in a string, which is the first group."""

SEPARATOR_BYTES: Final = LazyPattern(
    rf'(?:[^"{{}}\[\],]++|{STRING})*+([{{}}\[\],])'.encode(), re.DOTALL
)
"""All up to the next bracket or comma that is not in a string, which is the first group."""


def count_characters(text: bytes) -> int:
    """Return how many characters of UTF-8 begin in a text."""
    return len(text.translate(None, CONTINUATION))
