"""Read an aggregate and say everything that is wrong with it by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from evalstream.formats.eee import row_view
from evalstream.formats.eee.aggregate import Aggregate
from evalstream.formats.eee.claims import claims_of
from evalstream.formats.eee.rules.aggregate import ES702
from evalstream.formats.eee.rules.schema import ES215, fits_another, null_bounds
from evalstream.formats.eee.rules.schema import explain as explain_schema
from evalstream.formats.eee.rules.seal import ES502, ES503, ES505
from evalstream.formats.eee.version_fit import versions_that_fit
from evalstream.model.finding import PlacedViolation, Violation, one_of
from evalstream.model.options import Options
from evalstream.parsing.json import UTF8_MARK
from evalstream.parsing.json_schema import builtin_validator
from evalstream.parsing.limits import (
    held_of,
)
from evalstream.parsing.schema_errors_in_parts import error_parts
from evalstream.rules.profiles import PROFILES
from evalstream.rules.syntax import (
    ES108,
    ES113,
    read_document,
)

ABSORBING: Final = frozenset({ES502.code, ES503.code, ES505.code, ES702.code})
"""Rules that say more than the schema's own finding at the same place."""

TOO_DEEP: Final = "nested too deep to be judged by the schema"
BOUNDS: Final = ("/min_score", "/max_score")


class Reading(NamedTuple):
    """What was read: the aggregate if it is an object, and its faults."""

    aggregate: Aggregate | None
    faults: list[PlacedViolation]


def read_aggregate(text: bytes, name: str, options: Options) -> Reading:
    """Read an aggregate; `name` is what reports call it. Raises as `read_document` does."""
    reading = read_document(text, options, "an aggregate")
    faults = [PlacedViolation(fault, line) for fault, line in reading.faults]
    if reading.value is None:
        return Reading(None, faults)
    aggregate = Aggregate(name, reading.value, claims_of(text.removeprefix(UTF8_MARK)))
    said = held_of(reading.concerned(_schema_faults(aggregate, options)))
    try:
        faults.extend(map(PlacedViolation, said))
    except RecursionError:
        return Reading(None, [*faults, PlacedViolation(ES113.fault(TOO_DEEP))])
    return Reading(aggregate, faults)


def in_order(faults: list[PlacedViolation]) -> list[PlacedViolation]:
    """Return what is to be said of an aggregate, each fault once, by line, code and pointer."""
    return sorted(_absorbed(faults), key=_order)


def _schema_faults(aggregate: Aggregate, options: Options) -> Iterator[Violation]:
    declared = aggregate.version
    version = options.schema_version
    if version == "auto":
        version = row_view.nearest_version(declared or row_view.DEFAULT_VERSION, instance=False)
        if declared is not None and not row_view.is_known(declared, instance=False):
            yield ES215.fault(
                f"no version that is known; the aggregate is judged by {version}",
                pointer="/schema_version",
                expected=one_of(row_view.DECLARED),
                found=declared,
            )
    validator = builtin_validator(row_view.aggregate_schema_name(version), options.engine)
    document = aggregate.document
    said: set[str | None] = set()
    fails = False
    for part in error_parts(validator, document):
        faults = explain_schema(part, own=True, version=version)
        fails = fails or bool(faults)
        said.update(fault.pointer for fault in faults if (fault.pointer or "").endswith(BOUNDS))
        yield from faults
    if PROFILES[options.profile].demands_bounds:
        yield from (fault for fault in null_bounds(aggregate) if fault.pointer not in said)
    if fails:
        version = version.partition("+")[0]
        fitting = versions_that_fit(document, version, options.engine, instance=False)
        yield from fits_another(version, fitting)


def _absorbed(faults: list[PlacedViolation]) -> list[PlacedViolation]:
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
    keywords: dict[str | None, str] = {}
    for placed in faults:
        if placed.fault.keyword and placed.fault.pointer in speaking:
            keywords.setdefault(placed.fault.pointer, placed.fault.keyword)
    kept = []
    for placed in faults:
        fault = placed.fault
        if fault.keyword and fault.pointer in speaking:
            continue
        if fault.code in ABSORBING:
            fault = fault._replace(keyword=keywords.get(fault.pointer))
        kept.append(placed._replace(fault=fault))
    return kept


def _order(placed: PlacedViolation) -> tuple[float, str, str]:
    line = float("inf") if placed.line is None else placed.line
    return line, placed.fault.code, placed.fault.pointer or ""
