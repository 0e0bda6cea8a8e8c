"""The tokens of JSON text, valid or not, whole or cut off; what is between them is white space.

A token is a string, a bracket, a comma, a colon, or a number or word; a quote alone is one, too,
where a string does not end in the text. Readers that need the errors of JSON, or all of a large
text decoded, take a parser instead.
"""

from __future__ import annotations

import re
from typing import Final

from evalstream.parsing.json import STRING
from evalstream.parsing.lazy_regex import LazyPattern

_TOKEN: Final = rf'{STRING}|[{{}}\[\],:]|[^\s{{}}\[\],:"]++|"'

TOKEN: Final = LazyPattern(_TOKEN, re.DOTALL)
TOKEN_BYTES: Final = LazyPattern(_TOKEN.encode(), re.DOTALL)
_BRACKET: Final = LazyPattern(rf'(?:[^"{{}}\[\]]++|{STRING})*+([{{}}\[\]])'.encode(), re.DOTALL)
_SEPARATOR: Final = LazyPattern(rf'(?:[^"{{}}\[\],]++|{STRING})*+([{{}}\[\],])'.encode(), re.DOTALL)


class NoToken(Exception):
    """The text ends where a token must follow."""


class TokenCursor:
    """Steps over the tokens of a text, from `start` to `stop` of the last one. Raises NoToken.

    What is not of interest it steps over from bracket to bracket, which is many times faster.
    """

    def __init__(self, text: bytes, stop: int = 0) -> None:
        self._text, self.start, self.stop = text, stop, stop

    def next(self) -> bytes:
        """Step over the next token, and return it."""
        found = TOKEN_BYTES.search(self._text, self.stop)
        if found is None:
            raise NoToken
        self.start, self.stop = found.span()
        return found.group()

    def skip_container(self) -> None:
        """Step over the rest of the innermost object or array."""
        depth = 1
        while depth:
            depth += 1 if self._step(_BRACKET) in b"{[" else -1

    def skip_item(self) -> bytes:
        """Step over the rest of an item, and return the comma or bracket behind it."""
        while (sign := self._step(_SEPARATOR)) in b"{[":
            self.skip_container()
        return sign

    def _step(self, pattern: LazyPattern[bytes]) -> bytes:
        """Step over what a pattern matches, and return its group."""
        found = pattern.match(self._text, self.stop)
        if found is None:
            raise NoToken
        self.stop = found.end()
        return found[1]
