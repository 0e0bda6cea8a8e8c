"""Read an aggregate and say everything that is wrong with it by itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from evalstream.aggregate import Aggregate
from evalstream.claims import claims_of
from evalstream.formats import eee
from evalstream.model import Fault, Options, one_of
from evalstream.parsing import UTF8_MARK
from evalstream.profiles import PROFILES
from evalstream.rules.aggregate import ES702
from evalstream.rules.json import BEGINS_WITH_MARK, ES102, ES108, ObjectReading, read_object
from evalstream.rules.schema import ES215, fits_another, null_bounds
from evalstream.rules.schema import explain as explain_schema
from evalstream.rules.seal import ES502, ES503, ES505
from evalstream.runs import STDIN
from evalstream.schema import builtin_validator
from evalstream.sources.remote import is_remote
from evalstream.standard_input import STANDARD_INPUT
from evalstream.standing import Watch
from evalstream.versions import versions_that_fit

ABSORBING: Final = frozenset({ES502.code, ES503.code, ES505.code, ES702.code})
"""Rules that say more than the schema's own finding at the same place."""

LARGEST_DOCUMENT: Final = 1 << 30
"""How many bytes a remote document may have: it is read into memory."""


class PlacedFault(NamedTuple):
    """A fault in the aggregate, with its line where the text itself is at fault."""

    fault: Fault
    line: int | None = None


class Reading(NamedTuple):
    """What was read: the aggregate if it is an object, and its faults."""

    aggregate: Aggregate | None
    faults: list[PlacedFault]


def document_bytes(path: str, watch: Watch | None = None) -> bytes:
    """Return the bytes of a document, of a local or remote file. Raises OSError, CannotCheck.

    How a local one looked goes to `watch`.
    """
    if is_remote(path):
        from evalstream.sources.remote import read_whole

        return read_whole(path, LARGEST_DOCUMENT)
    if path == STDIN:
        return STANDARD_INPUT.whole(LARGEST_DOCUMENT)
    with open(path, "rb", buffering=0) as file:
        if watch is not None:
            watch.add(path, os.fstat(file.fileno()))
        return file.readall()


def read_document(text: bytes, options: Options, noun: str) -> ObjectReading:
    """Read a document, which may begin with a byte order mark; `noun` says what it is."""
    reading = read_object(text.removeprefix(UTF8_MARK), options.max_depth, torn=False, noun=noun)
    if not text.startswith(UTF8_MARK):
        return reading
    mark = ES102.fault(BEGINS_WITH_MARK), 1
    return reading._replace(faults=[mark, *reading.faults])


def read_aggregate(text: bytes, name: str, options: Options) -> Reading:
    """Read an aggregate; `name` is what reports call it."""
    reading = read_document(text, options, "an aggregate")
    faults = [PlacedFault(fault, line) for fault, line in reading.faults]
    if reading.value is None:
        return Reading(None, faults)
    aggregate = Aggregate(name, reading.value, claims_of(text.removeprefix(UTF8_MARK)))
    faults.extend(map(PlacedFault, reading.concerned(_schema_faults(aggregate, options))))
    return Reading(aggregate, faults)


def in_order(faults: list[PlacedFault]) -> list[PlacedFault]:
    """Return what is to be said of an aggregate, each fault once, by line, code and pointer."""
    return sorted(_absorbed(faults), key=_order)


def _schema_faults(aggregate: Aggregate, options: Options) -> Iterator[Fault]:
    declared = aggregate.version
    version = options.schema_version
    if version == "auto":
        version = eee.nearest_version(declared or eee.DEFAULT_VERSION, instance=False)
        if declared is not None and not eee.is_known(declared, instance=False):
            yield ES215.fault(
                f"no version that is known; the aggregate is judged by {version}",
                pointer="/schema_version",
                expected=one_of(eee.DECLARED),
                found=declared,
            )
    validator = builtin_validator(eee.aggregate_schema_name(version), options.engine)
    document = aggregate.document
    faults = explain_schema(validator.faults(document), own=True, version=version)
    yield from faults
    if PROFILES[options.profile].demands_bounds:
        said = {fault.pointer for fault in faults}
        yield from (fault for fault in null_bounds(aggregate) if fault.pointer not in said)
    if faults:
        version = version.partition("+")[0]
        fitting = versions_that_fit(document, version, options.engine, instance=False)
        yield from fits_another(version, fitting)


def _absorbed(faults: list[PlacedFault]) -> list[PlacedFault]:
    """Let rules that say more speak for the schema's findings at the same place.

    Where the number itself is none (ES108), no other rule has anything to say.
    """
    none = {placed.fault.pointer for placed in faults if placed.fault.code == ES108.code}
    faults = [
        placed
        for placed in faults
        if placed.fault.code == ES108.code or placed.fault.pointer not in none - {None}
    ]
    speaking = {placed.fault.pointer for placed in faults if placed.fault.code in ABSORBING}
    kept = []
    for placed in faults:
        fault = placed.fault
        if fault.keyword and fault.pointer in speaking:
            continue
        if fault.code in ABSORBING:
            keyword = next(
                (
                    other.fault.keyword
                    for other in faults
                    if other.fault.keyword and other.fault.pointer == fault.pointer
                ),
                None,
            )
            fault = fault._replace(keyword=keyword)
        kept.append(placed._replace(fault=fault))
    return kept


def _order(placed: PlacedFault) -> tuple[float, str, str]:
    line = float("inf") if placed.line is None else placed.line
    return line, placed.fault.code, placed.fault.pointer or ""
