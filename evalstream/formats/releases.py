"""The release of a harness that wrote a document: the stated one, and the one that members show."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evalstream.parsing.lazy_regex import LazyPattern

Release = tuple[int, ...]
"""The numbers of a release; empty where it is not known."""

_NUMBERS: Final = LazyPattern(r"[0-9]{1,9}(?:\.[0-9]{1,9})*")


class Dated(ABC):
    """The release of a harness that wrote a log: the later one of those that it states and shows.

    So a document that states an earlier release than its members show is not held to the habits of
    that one.
    """

    @property
    @abstractmethod
    def stated_release(self) -> Release:
        """The release that it states, empty where it states none."""

    @property
    @abstractmethod
    def shown_release(self) -> Release:
        """The earliest release that can have written its members, empty where none tells."""

    @property
    def release(self) -> Release:
        """The release that wrote it, or an earlier one."""
        return max(self.stated_release, self.shown_release)

    def is_before(self, release: Release) -> bool:
        """Tell whether an earlier release than this one wrote it; not where it states none."""
        return bool(self.stated_release) and self.release < release


def read_release(told: Any) -> Release:
    """Return the release that a text begins with, empty where it begins with none.

    A development version counts as the release that it leads to.
    """
    found = _NUMBERS.match(told) if isinstance(told, str) else None
    return () if found is None else tuple(map(int, found[0].split(".")))


def is_released(told: Any) -> bool:
    """Tell whether a text is the number of a release, and not of a development version.

    Such a version may be younger than it says, as its number comes from the last tag.
    """
    return isinstance(told, str) and _NUMBERS.fullmatch(told) is not None


def find_shown_release(value: Any, members: Mapping[tuple[str, ...], Release]) -> Release:
    """Return the earliest release that can have written a value, empty where no member tells.

    `members` are paths of names, each with the first release that wrote it; `*` stands for each
    member of an object. Members without a value do not count: later releases fill them in.
    """
    found: Release = ()
    for path, release in members.items():
        if release > found and _has(value, path):
            found = release
    return found


def _has(value: Any, path: Sequence[str]) -> bool:
    for index, name in enumerate(path, 1):
        if not isinstance(value, dict):
            return False
        if name == "*":
            return any(_has(one, path[index:]) for one in value.values())
        value = value.get(name)
    return value not in (None, "", [], {})
