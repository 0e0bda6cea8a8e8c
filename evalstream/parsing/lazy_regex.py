"""Regular expressions that are compiled on first use: a small run needs few of all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, AnyStr, Generic


class LazyPattern(Generic[AnyStr]):
    """A regular expression with the methods of `re.Pattern`; the first call compiles it."""

    def __init__(self, pattern: AnyStr, flags: int = 0) -> None:
        self._source: tuple[AnyStr, int] = (pattern, flags)

    @cached_property
    def _pattern(self) -> re.Pattern[AnyStr]:
        return re.compile(*self._source)

    @cached_property
    def search(self) -> Callable[..., re.Match[AnyStr] | None]:
        """Find the first match."""
        return self._pattern.search

    @cached_property
    def match(self) -> Callable[..., re.Match[AnyStr] | None]:
        """Match at the beginning."""
        return self._pattern.match

    @cached_property
    def fullmatch(self) -> Callable[..., re.Match[AnyStr] | None]:
        """Match the whole text."""
        return self._pattern.fullmatch

    @cached_property
    def finditer(self) -> Callable[..., Iterator[re.Match[AnyStr]]]:
        """Iterate over the matches."""
        return self._pattern.finditer

    @cached_property
    def findall(self) -> Callable[..., list[Any]]:
        """Return the texts of the matches."""
        return self._pattern.findall

    @cached_property
    def split(self) -> Callable[..., list[Any]]:
        """Split a text at the matches."""
        return self._pattern.split

    @cached_property
    def sub(self) -> Callable[..., AnyStr]:
        """Replace the matches."""
        return self._pattern.sub

    @cached_property
    def subn(self) -> Callable[..., tuple[AnyStr, int]]:
        """Replace the matches, and count them."""
        return self._pattern.subn
