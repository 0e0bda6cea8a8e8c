"""Where the files of the public store lie, and the entries of its snapshots."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.formats.registry import CATALOGUE
from evalstream.model.data_class import NamedTuple
from evalstream.model.finding import Violation

LATEST: Final = "flat/latest_manifest.json"
MANIFESTS: Final = "flat/manifests/"
MANIFEST: Final = "manifest.json"
ENTRIES: Final = "entries.jsonl"
COLLECTIONS: Final = "flat/indexes/by_collection/"
BY_PATH: Final = "flat/indexes/by_legacy_path.jsonl"
OBJECTS: Final = "flat/objects/"
DATA: Final = "data/"
RECORD: Final = ".json"
SAMPLES: Final = "_samples.jsonl"

MOST_LINE_BYTES: Final = 1 << 20
"""Longest line of entries that is read."""


class Content(NamedTuple):
    """The SHA-256 in hex digits and the size in bytes that an entry gives for a file."""

    sha256: str
    size: int


class Entry(NamedTuple):
    """A line of a snapshot: a record, where it lies in data/, and its rows if it has some."""

    uuid: str
    legacy_path: str
    collection: str
    version: str
    aggregate: Content
    companion: Content | None

    @property
    def files(self) -> Iterator[tuple[str, Content]]:
        """Iterate over the endings of its files, each with its content."""
        yield RECORD, self.aggregate
        if self.companion is not None:
            yield SAMPLES, self.companion

    def data_path(self, ending: str) -> str:
        """Return the path of one of its files in data/."""
        return self.legacy_path.removesuffix(RECORD) + ending


def object_path(uuid: str, ending: str) -> str:
    """Return the path of an object."""
    return f"{OBJECTS}{uuid[:2]}/{uuid[2:4]}/{uuid}{ending}"


def split_object(path: str) -> tuple[str, str] | None:
    """Return the UUID and the ending of an object by its path, None for any other path."""
    found = _OBJECT.fullmatch(path)
    return (found[1], found[2]) if found and path == object_path(found[1], found[2]) else None


def split_data(path: str) -> tuple[str, str] | None:
    """Return the UUID and the ending of a file of data/ by its path, None for any other name."""
    found = _NAME.fullmatch(path.rpartition("/")[2])
    return (found[1], found[2]) if found else None


def is_inside(path: str) -> bool:
    """Tell whether a written path stays below its root, on every system."""
    parts = path.split("/")
    is_plain = "\\" not in path and "\0" not in path and ":" not in parts[0]
    return is_plain and not {"", ".", ".."} & set(parts)


def parse_entry(line: bytes) -> Entry | None:
    """Return the entry on a canonical line without a defect; None asks for `explain_entry`."""
    found = _LINE.fullmatch(line.decode("latin-1"))
    if found is None:
        return None
    collection, version, rows, rows_size, rows_sha, legacy, uuid, _, _, path, sha256, size = (
        found.groups()
    )
    if rows not in (None, path):
        return None
    companion = None if rows is None else Content(rows_sha, int(rows_size))
    return Entry(uuid, legacy, collection, version, Content(sha256, int(size)), companion)


def explain_entry(line: bytes) -> tuple[Entry | None, list[Violation]]:
    """Return the entry of a line that can be followed, else None, and what is wrong with it."""
    try:
        members = json.loads(line)
    except (ValueError, RecursionError):
        return None, [_entries("the line is not JSON")]
    if not isinstance(members, dict):
        return None, [_entries("the line is not an object")]
    wrong = list(_shape(members))
    if json.dumps(members, sort_keys=True).encode() != line:
        wrong.append(_entries("the line is not written as the store writes it (canonical JSON)"))
    if not all(_is_kind(members.get(name), kind) for name, kind in _wanted(members).items()):
        return None, wrong
    wrong += _identity(members)
    if not is_inside(members["legacy_path"]) or not _UUID4.fullmatch(members["object_uuid"]):
        return None, wrong
    companion = None
    if members["instance_level_available"]:
        companion = Content(members["instance_sha"], members["instance_level_size_bytes"])
    names = ("object_uuid", "legacy_path", "benchmark", "eval_schema_version")
    aggregate = Content(members["sha256"], members["size_bytes"])
    uuid, legacy, collection, version = (members[name] for name in names)
    return Entry(uuid, legacy, collection, version, aggregate, companion), wrong


def _shape(members: Mapping[str, Any]) -> Iterator[Violation]:
    """Find members that are missing, unknown, or of another type."""
    wanted = _wanted(members)
    for name in sorted(wanted.keys() | members.keys()):
        found = members.get(name)
        at = {"pointer": f"/{name}", "found": found}
        if name not in members:
            yield _entries(f"{name} is missing", pointer=f"/{name}")
        elif name not in wanted:
            yield _entries(f"{name} is not a member of an entry", **at)
        elif not _is_kind(found, wanted[name]):
            yield _entries(f"{name} is not {_KINDS[wanted[name]]}", **at)


def _wanted(members: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the members that an entry must have, with the kinds of their values."""
    has_rows = members.get("instance_level_available") is True
    return {**_MEMBERS, **(_ROWS_MEMBERS if has_rows else {})}


def _is_kind(value: Any, kind: str) -> bool:
    if kind == "size":
        return type(value) is int and 0 <= value < 1 << 40
    if kind == "flag":
        return isinstance(value, bool)
    is_text = isinstance(value, str)
    return is_text and (kind == "text" or _DIGEST.fullmatch(value) is not None)


def _identity(members: Mapping[str, Any]) -> Iterator[Violation]:
    """Find contradictions between UUID, paths and collection."""
    uuid, legacy = members["object_uuid"], members["legacy_path"]
    wanted = {"object_path": object_path(uuid, RECORD), "record_type": "aggregate"}
    if members["instance_level_available"]:
        wanted["instance_level_path"] = object_path(uuid, SAMPLES)
    folders = legacy.split("/")
    if not _UUID4.fullmatch(uuid):
        yield _uuid("object_uuid is not a version 4 UUID in lower case", "object_uuid", uuid)
    if not is_inside(legacy) or folders[0] != "data" or len(folders) < 3:
        yield _uuid("legacy_path is not a path below data/<collection>/", "legacy_path", legacy)
    elif folders[-1] != uuid + RECORD:
        message = "the file name of legacy_path is not that of object_uuid"
        yield _uuid(message, "legacy_path", legacy)
    elif members["benchmark"] != folders[1]:
        message = "benchmark is not the collection of legacy_path"
        yield _uuid(message, "benchmark", members["benchmark"], folders[1])
    for name, expected in wanted.items():
        if members[name] != expected:
            message = f"{name} is not the one that follows from object_uuid"
            is_plain = name == "record_type"
            message = "record_type is not aggregate" if is_plain else message
            yield _uuid(message, name, members[name], expected)


def _entries(message: str, **details: Any) -> Violation:
    return CATALOGUE["ES921"].violation(message, **details)


def _uuid(message: str, name: str, found: str, expected: str | None = None) -> Violation:
    details = {"pointer": f"/{name}", "found": found, "expected": expected}
    return CATALOGUE["ES922"].violation(message, **details)


_KINDS: Final = {
    "size": "a size in bytes",
    "flag": "true or false",
    "text": "a text",
    "digest": "a SHA-256 in lower case",
}
_MEMBERS: Final = {
    **dict.fromkeys(("object_uuid", "object_path", "legacy_path", "benchmark"), "text"),
    **dict.fromkeys(("eval_schema_version", "record_type"), "text"),
    "sha256": "digest",
    "size_bytes": "size",
    "instance_level_available": "flag",
}
_ROWS_MEMBERS: Final = {
    "instance_level_path": "text",
    "instance_sha": "digest",
    "instance_level_size_bytes": "size",
}

_HEX4: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
_SPLIT_HEX4: Final = _HEX4.replace("[0-9a-f]{8}", "([0-9a-f]{2})([0-9a-f]{2})[0-9a-f]{4}", 1)
_UUID4: Final = re.compile(_HEX4)
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_NAME: Final = re.compile(rf"({_HEX4})({re.escape(RECORD)}|{re.escape(SAMPLES)})")
_OBJECT: Final = re.compile(rf"{OBJECTS}../../{_NAME.pattern}")

_PLAIN: Final = r'[^"\\/\x00-\x1f\x7f-\xff]'
_PART: Final = rf"(?![.]){_PLAIN}+"
_SIZE: Final = "(0|[1-9][0-9]{0,11})"
_LINE: Final = re.compile(
    rf'{{"benchmark": "({_PART})", "eval_schema_version": "({_PLAIN}*)", '
    rf'"instance_level_available": (?:false|true, "instance_level_path": '
    rf'"{OBJECTS}(../../[0-9a-f-]{{36}})_samples\.jsonl", '
    rf'"instance_level_size_bytes": {_SIZE}, "instance_sha": "([0-9a-f]{{64}})"), '
    rf'"legacy_path": "(data/\1/(?:{_PART}/)*({_SPLIT_HEX4})\.json)", '
    rf'"object_path": "{OBJECTS}(\8/\9/\7)\.json", "object_uuid": "\7", '
    rf'"record_type": "aggregate", "sha256": "([0-9a-f]{{64}})", "size_bytes": {_SIZE}}}'
)
"""A line without a defect, if its rows are beside its object: most lines need no parser."""
