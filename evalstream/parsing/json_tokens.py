"""The tokens of JSON as regular expressions: the one lossless tokenizer of this package.

They match valid JSON, and of other texts what looks like it. Bytes and strings have the same
tokens, because all that structures JSON is ASCII.
"""

from __future__ import annotations

import re
from typing import Final

from evalstream.parsing.lazy_regex import LazyPattern

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
