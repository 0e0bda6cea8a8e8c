"""The paths of a datastore: of its files, of the directory of a model, and of migrated runs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from evalstream.formats.eee import versions
from evalstream.model.data_class import NamedTuple
from evalstream.model.hashing import hash_function
from evalstream.parsing.lazy_regex import LazyPattern
from evalstream.parsing.schema_files import builtin_schema

ROOT: Final = "data"
FOLDERS: Final = ("collection", "developer", "model")
PATTERN: Final = "/".join((ROOT, *(f"<{folder}>" for folder in FOLDERS), "<uuid4>"))
ROWS_ENDING: Final = "_samples.jsonl"
LONGEST_NAME: Final = 255
"""The longest name in bytes that ext4, APFS, NTFS and ZFS all allow."""

_UUID_LENGTH: Final = 36
_UUID: Final = LazyPattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_UUID4: Final = LazyPattern(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_RESERVED: Final = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{device}{number}" for device in ("com", "lpt") for number in "123456789¹²³"}
)
"""Device names of Windows: learn.microsoft.com/windows/win32/fileio/naming-a-file."""

_DEVICES: Final = frozenset(
    {"CON", "PRN", "AUX", "NUL"}
    | {f"{device}{n}" for device in ("COM", "LPT") for n in range(1, 10)}
)
"""The device names that the format's publisher checks."""

_RESERVED_MARK: Final = LazyPattern(r'[<>:"\\|?*]')

_UNPORTABLE: Final[tuple[tuple[Callable[[str], object], str], ...]] = (
    (lambda name: not name.isprintable(), "it has an invisible character, or is not valid UTF-8"),
    (lambda name: _RESERVED_MARK.search(name) is not None, r'it has one of < > : " \ | ? *'),
    (lambda name: name.endswith((" ", ".")), "it ends in a space or full stop"),
    (lambda name: name.startswith((" ", ".", "-")), "it begins with a space, full stop or hyphen"),
    (
        lambda name: name.partition(".")[0].rstrip(" ").lower() in _RESERVED,
        "it is the name of a device on Windows",
    ),
    (lambda name: len(os.fsencode(name)) > LONGEST_NAME, f"it is over {LONGEST_NAME} bytes long"),
    (lambda name: not (name.isascii() or _is_composed(name)), "it is not in the Unicode form NFC"),
    (lambda name: name == ROOT, "it is the name of the datastore's root"),
)

_WEB: Final = LazyPattern(r"(https?://[^/?#]*)([^?#]*)", re.IGNORECASE)
_PARTED: Final = LazyPattern(r'[<>:"\\|?*/\x00-\x1f]')
_UNADDRESSABLE: Final[tuple[tuple[Callable[[str], object], str], ...]] = (
    (lambda part: not part, "is empty"),
    (lambda part: part.lower() == "unknown", 'is "unknown"'),
    (
        lambda part: _PARTED.search(part.replace(":", "_")),
        "has a character that is not allowed in a path",
    ),
    (lambda part: part.endswith("."), "ends in a full stop"),
    (lambda part: part.split(".", 1)[0].upper() in _DEVICES, "is the name of a device on Windows"),
    (lambda part: part == ROOT, "is the name of the datastore's root"),
)
"""Reasons why a part of a model's identity cannot be a directory, from the format's publisher.

These are fewer than in `unportable`: every directory that the publisher writes is allowed.
"""


class DatastorePath(NamedTuple):
    """The path of a file: its folder, the last four folders, and its name."""

    folder: str
    folders: tuple[str, ...]
    name: str

    @property
    def inside(self) -> bool:
        """Whether it is as deep below a folder `data` as a datastore's files are."""
        return len(self.folders) == len(FOLDERS) + 1 and self.folders[0] == ROOT

    @property
    def path(self) -> str:
        """The path relative to the root of the datastore, or what would be the root."""
        return "/".join((*self.folders, self.name))

    def uuid(self, ending: str) -> str | None:
        """Return the version 4 UUID before `ending` in the name, or None for another name."""
        stem = self.name.removesuffix(ending)
        is_named = self.name == stem + ending and len(stem) == _UUID_LENGTH
        return stem if is_named and _UUID4.fullmatch(stem) else None


class Address(NamedTuple):
    """The directory below a collection that a model's identity stands for."""

    developer: str
    model: str


class Unaddressable(NamedTuple):
    """An identity without a directory: the invalid member of model_info, and the reason."""

    member: str
    reason: str


def parse_path(path: str) -> DatastorePath:
    """Return the datastore path of a path or URL; links are not followed."""
    web = _WEB.match(path) if "://" in path else None
    if web is not None:
        from urllib.parse import unquote

        path = web[1] + unquote(web[2])
    folder, name = os.path.split(os.path.abspath(path))
    return DatastorePath(
        folder, tuple(filter(None, folder.split(os.sep)))[-len(FOLDERS) - 1 :], name
    )


def read_uuid(path: str) -> str | None:
    """Return the UUID of any version in a file name `UUID.json`, in lower case."""
    name = os.path.basename(path)
    stem = name.removesuffix(".json")
    return stem.lower() if stem != name and _UUID.fullmatch(stem) else None


@lru_cache(maxsize=1024)
def derive_address(identity: str, developer: str | None) -> Address | Unaddressable:
    """Return the directory of a model, from its id, and its developer if the id names none.

    It follows the format's publisher: the part before the first slash is the developer, the others
    are joined by underscores, and a colon becomes an underscore.
    """
    first, *rest = parts = identity.strip().split("/")
    problem = _problem(parts, "a part of it" if rest else "it")
    if problem:
        return Unaddressable("id", problem)
    if rest:
        return Address(_directory(first), "_".join(map(_directory, rest)))
    if developer is None:
        return Unaddressable(
            "developer", "it is missing, and model_info.id has no developer before a slash"
        )
    problem = _problem((developer,), "it")
    if problem:
        return Unaddressable("developer", problem)
    return Address(_directory(developer), _directory(first))


def _problem(parts: Sequence[str], noun: str) -> str | None:
    for part in map(str.strip, parts):
        for applies, reason in _UNADDRESSABLE:
            if applies(part):
                return f"{noun} {reason}"
    return None


def _directory(part: str) -> str:
    return part.strip().replace(":", "_")


@lru_cache(maxsize=1024)
def unportable(name: str) -> str | None:
    """Return why some file systems cannot hold a name unchanged, or None if all can."""
    return next((reason for applies, reason in _UNPORTABLE if applies(name)), None)


def _is_composed(name: str) -> bool:
    from unicodedata import is_normalized

    return is_normalized("NFC", name)


class TargetPlace(NamedTuple):
    """Where a run belongs in a datastore."""

    collection: str
    developer: str
    model: str

    def aggregate(self, name: str) -> str:
        """Return the path of an aggregate, relative to the folder around `data`."""
        return "/".join((ROOT, *self, f"{name}.json"))

    def rows(self, name: str) -> str:
        """Return the path of rows, relative to the folder around `data`."""
        return "/".join((ROOT, *self, name + ROWS_ENDING))


def new_name(aggregate: str, rows: str | None, target: str) -> str:
    """Return a name in the form of a UUID4 from hex digests of the old bytes and the new version.

    Equal sources give equal names. The bits of version and variant are those of RFC 9562.
    """
    import uuid

    text = "\n".join(("evalstream migrate", aggregate, rows or "", target))
    digest = hash_function("sha256")(text.encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def read_collection(path: str) -> str | None:
    """Return the collection of a file in a datastore, None for a file elsewhere."""
    place = parse_path(path)
    return place.folders[1] if place.inside else None


def place_for(collection: str, model: str, developer: str | None) -> TargetPlace | str:
    """Return the place of a model's run in a collection, or why there is none."""
    is_name = collection == os.path.basename(collection) and collection
    reason = unportable(collection) if is_name else "it is not one name"
    if reason is not None:
        return f"the collection {collection!r} cannot be a folder: {reason}"
    address = derive_address(model, developer)
    if isinstance(address, Unaddressable):
        return f"model_info.{address.member} gives no folder: {address.reason}"
    return TargetPlace(collection, *address)


def relative_path(rows: str, aggregate: str) -> str:
    """Return the path by which an aggregate should name its rows.

    In a datastore it is the path from the root on, elsewhere that from the folder of the aggregate,
    or the name of rows that are not below it.
    """
    place = parse_path(rows)
    if place.inside:
        return place.path
    folder = os.path.dirname(os.path.abspath(aggregate))
    path = os.path.relpath(os.path.abspath(rows), folder).replace(os.sep, "/")
    return os.path.basename(rows) if path.startswith("../") else path


def path_to_declare(rows: str, aggregate: str, version: str | None) -> str | None:
    """Return the relative path that an aggregate of a version should declare, if it allows it."""
    path = relative_path(rows, aggregate)
    nearest = versions.nearest_version(version or "", instance=False)
    schema = builtin_schema(versions.aggregate_schema_name(nearest))
    sealed = schema["properties"].get("detailed_evaluation_results", {})
    pattern: str | None = sealed.get("properties", {}).get("file_path", {}).get("pattern")
    return path if pattern is None or re.search(pattern, path) else None
