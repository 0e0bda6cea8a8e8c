"""The white space and punctuation of JSON objects, so that added members look like the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol


class PlacedText(Protocol):
    """A member of an object with the positions of its parts in the document."""

    @property
    def start(self) -> int:
        """Where its name starts."""

    @property
    def name_end(self) -> int:
        """Where its name ends."""

    @property
    def value_start(self) -> int:
        """Where its value starts."""

    @property
    def end(self) -> int:
        """Where its value ends."""


class JsonLayout(NamedTuple):
    """The white space and punctuation of an object between braces, names and values."""

    opening: str = ""
    separator: str = ", "
    colon: str = ": "
    closing: str = ""

    def nest(self) -> JsonLayout:
        """Return the layout of an object nested in one of this layout."""
        if not _breaks(self.opening):
            separator = _after_colon(self.colon) if _breaks(self.separator) else self.separator
            return self._replace(separator=separator, closing=self.opening)
        step = _indentation(self.opening).removeprefix(_indentation(self.closing))
        opening, separator, closing = (
            space + step if _breaks(space) else space
            for space in (self.opening, self.separator, self.closing)
        )
        return JsonLayout(opening, separator, self.colon, closing)

    def member(self, name: str, value: str) -> str:
        """Return the text of a member from the JSON texts of its name and value."""
        return f"{name}{self.colon}{value}"

    def whole(self, members: Sequence[str]) -> str:
        """Return the text of an object from the texts of its members."""
        if not members:
            return "{}"
        return f"{{{self.opening}{self.separator.join(members)}{self.closing}}}"


def detect_json_layout(
    characters: str, start: int, end: int, members: Sequence[PlacedText], outer: JsonLayout | None
) -> JsonLayout:
    """Return the layout of an object between two positions of a text.

    It is derived from the layout of the `outer` object if there are too few members to show it.
    """
    if not members:
        return JsonLayout() if outer is None else outer.nest()
    first, last = members[0], members[-1]
    opening = characters[start + 1 : first.start]
    colon = characters[last.name_end : last.value_start]
    seen = Counter(characters[member.end : after.start] for member, after in pairwise(members))
    if seen:
        separator = seen.most_common(1)[0][0]
    elif _breaks(opening):
        separator = f",{opening}"
    elif outer is not None and not _breaks(outer.separator):
        separator = outer.separator
    else:
        separator = _after_colon(colon)
    return JsonLayout(opening, separator, colon, characters[last.end : end - 1])


def _breaks(space: str) -> bool:
    return "\n" in space or "\r" in space


def _indentation(space: str) -> str:
    return space[max(space.rfind("\n"), space.rfind("\r")) + 1 :]


def _after_colon(colon: str) -> str:
    """Return a separator on one line with the space that follows the colon."""
    return f",{colon.partition(':')[2]}"
