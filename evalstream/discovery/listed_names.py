"""Names that a list gives, some of which may be gone or may not be evaluation files."""

from __future__ import annotations

from evalstream.discovery.unrecognised import Leftovers, Unrecognised


class NameList:
    """A list of names; counts those that are left out of the check.

    `path` is the file of the list, or `-`. With `missing_ok` names that are gone are left out.
    """

    def __init__(self, path: str, *, missing_ok: bool = False) -> None:
        self.path, self.missing_ok = path, missing_ok
        self.left = Leftovers()

    def rest(self) -> Unrecognised | None:
        """Return the names that were left out, or None."""
        return self.left.of(self.path, is_list=True)


class ListedName(str):
    """A name of a list, of which it knows the list."""

    source: NameList

    @classmethod
    def of(cls, name: str, source: NameList) -> ListedName:
        """Return a name that knows its list."""
        listed = cls(name)
        listed.source = source
        return listed
