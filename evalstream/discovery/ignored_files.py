"""Recognise files beside data without data: a store's index, reports, attestations, event logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from evalstream.discovery.unrecognised import ATTESTATION, BASELINE, EVENTS, INDEX, REPORT
from evalstream.formats.registry import FORMATS, main_format

_DOCUMENTS: Final = (
    (INDEX, frozenset({"object_uuid", "object_path", "sha256"})),
    (INDEX, frozenset({"entries_path", "manifest_core_sha256"})),
    (REPORT, frozenset({"code", "name", "severity", "file", "message"})),
    (REPORT, frozenset({"run", "number"})),
    (REPORT, frozenset({"summary"})),
    (REPORT, frozenset({"vanished"})),
    (REPORT, frozenset({"schema", "tool", "runs", "findings", "shown", "total"})),
    (BASELINE, frozenset({"baseline", "tool", "options"})),
    (BASELINE, frozenset({"code", "file", "count"})),
    (ATTESTATION, frozenset({"payload", "payloadType", "signatures"})),
    (ATTESTATION, frozenset({"_type", "subject", "predicateType", "predicate"})),
    *((EVENTS, one.event_members) for one in FORMATS.values() if one.event_members),
)
"""Members of a store's index files, of what evalstream writes, and of events."""

_OF_DATA: Final = (main_format().aggregate_members | main_format().row_members) - {
    "schema_version",
    "sample_id",
}
"""Members of rows and aggregates; an index may have a version, and a finding a sample id."""

_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def aside_by_members(keys: frozenset[str]) -> str | None:
    """Return the kind of non-data file that an object with these members is, or None for data."""
    if not _OF_DATA.isdisjoint(keys):
        return None
    return next((kind for kind, sign in _DOCUMENTS if sign <= keys), None)


def read_members(text: bytes) -> frozenset[str]:
    """Return all members of a JSON object, or none if the text is not a JSON object."""
    try:
        members: Mapping[str, msgspec.Raw] = _MEMBERS.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return frozenset()
    return frozenset(members)


def are_all_aside(lines: Iterable[bytes], kind: str) -> bool:
    """Tell whether every line is of this non-data kind; any other line may be a row."""
    return all(not line.strip() or aside_by_members(read_members(line)) == kind for line in lines)
