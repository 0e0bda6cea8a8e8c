"""Where a datastore keeps its files, and which names every file system can hold."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable
from typing import Final, NamedTuple

ROOT: Final = "data"
FOLDERS: Final = ("collection", "developer", "model")
PATTERN: Final = "/".join((ROOT, *(f"<{folder}>" for folder in FOLDERS), "<uuid4>"))
LONGEST_NAME: Final = 255
"""In bytes; the most that ext4, APFS, NTFS and ZFS all hold."""

_UUID4: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_RESERVED: Final = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{device}{number}" for device in ("com", "lpt") for number in "123456789¹²³"}
)
"""Devices of Windows, with any ending: learn.microsoft.com/windows/win32/fileio/naming-a-file."""

_UNPORTABLE: Final[tuple[tuple[Callable[[str], object], str], ...]] = (
    (lambda name: not name.isprintable(), "it holds an invisible character, or is no UTF-8"),
    (re.compile(r'[<>:"\\|?*]').search, r'it holds one of < > : " \ | ? *'),
    (lambda name: name.endswith((" ", ".")), "it ends in a space or full stop"),
    (lambda name: name.startswith((" ", ".", "-")), "it begins with a space, full stop or hyphen"),
    (lambda name: _device(name) in _RESERVED, "it is the name of a device on Windows"),
    (lambda name: len(os.fsencode(name)) > LONGEST_NAME, f"it is over {LONGEST_NAME} bytes long"),
    (lambda name: not unicodedata.is_normalized("NFC", name), "it is not in the Unicode form NFC"),
    (lambda name: name == ROOT, "it is the name of the datastore's root"),
)


class Place(NamedTuple):
    """Where a file lies: the whole path of its folder, its last four folders, and its name."""

    folder: str
    folders: tuple[str, ...]
    name: str

    @property
    def inside(self) -> bool:
        """Whether it lies as deep below a folder `data` as a datastore's files do."""
        return len(self.folders) == len(FOLDERS) + 1 and self.folders[0] == ROOT

    @property
    def path(self) -> str:
        """The path from the root of the datastore on, or what would be that."""
        return "/".join((*self.folders, self.name))

    def uuid(self, ending: str) -> str | None:
        """Return the version 4 UUID that with `ending` makes the name, None for another name."""
        stem = self.name.removesuffix(ending)
        return stem if self.name == stem + ending and _UUID4.fullmatch(stem) else None


def place_of(path: str) -> Place:
    """Return where the file of a path lies; links are not followed."""
    folder, name = os.path.split(os.path.abspath(path))
    return Place(folder, tuple(filter(None, folder.split(os.sep)))[-len(FOLDERS) - 1 :], name)


def unportable(name: str) -> str | None:
    """Say why a name is none that every file system holds unchanged, None where it is one."""
    return next((reason for applies, reason in _UNPORTABLE if applies(name)), None)


def _device(name: str) -> str:
    return name.partition(".")[0].rstrip(" ").lower()
