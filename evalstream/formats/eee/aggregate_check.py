"""Read an aggregate and check it without its rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from evalstream.formats.eee import AGGREGATE_SIGNS, versions
from evalstream.formats.eee.aggregate import DETAILS, Aggregate
from evalstream.formats.eee.catalogue import CATALOGUE
from evalstream.formats.eee.rules.aggregate import ES702
from evalstream.formats.eee.rules.datastore import ES902
from evalstream.formats.eee.rules.seal import ES502, ES503, ES505
from evalstream.formats.eee.rules.version import (
    ES215,
    MISSING,
    fits_another,
    null_bounds,
    versions_that_fit,
)
from evalstream.io.inputs import document_bytes
from evalstream.io.names import printable
from evalstream.io.readers import Watch
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import CannotCheck, describe_error
from evalstream.model.finding import PlacedViolation, Violation, expect_one
from evalstream.model.options import Options
from evalstream.model.run import Run
from evalstream.parsing.json import UTF8_MARK, text_or_none
from evalstream.parsing.json_values import fast_or_none
from evalstream.parsing.limits import limit_findings
from evalstream.parsing.schema_files import builtin_validator
from evalstream.rules.catalogue import PROFILES
from evalstream.rules.inputs import ES001, ES005, ES009
from evalstream.rules.schema import explain_schema
from evalstream.rules.syntax import ES108, ES113, read_document

if TYPE_CHECKING:
    from evalstream.parsing.schema_errors import Validator

ABSORBING: Final = frozenset({ES502.code, ES503.code, ES505.code, ES702.code})
"""Rules that replace the schema's less specific finding at the same pointer."""

TOO_DEEP: Final = "nested too deep to be checked against the schema"
FILE_PATH: Final = f"{DETAILS}/file_path"
ROWS: Final = "these are rows; name their aggregate after --aggregate"
OUTSIDE: Final = "the path leads out of the inputs; it was not opened"
BOUNDS: Final = ("/min_score", "/max_score")


class ReadAggregate(NamedTuple):
    """The aggregate, if it is an object, its violations, and its text.

    `missing` says that declared rows were not found, `incomplete_reason` why the run cannot be
    checked in full, and `has_changed` that the file changed while the run was checked.
    """

    aggregate: Aggregate | None
    violations: Sequence[PlacedViolation] = ()
    text: bytes | None = None
    missing: str | None = None
    incomplete_reason: str | None = None
    has_changed: bool = False

    def add_reason(self, reason: str | None) -> ReadAggregate:
        """Return it with a reason why the run is incomplete; the first one counts."""
        return self if self.incomplete_reason else self._replace(incomplete_reason=reason)


def open_aggregate(run: Run, options: Options, watch: Watch) -> ReadAggregate:
    """Read the aggregate of a run, if it has one, and report declared rows that are missing."""
    path, missing = run.aggregate, run.missing
    if path is None or (path == options.routing.seal_to and not os.path.exists(path)):
        return ReadAggregate(None, missing=missing)
    text = reason = None
    try:
        text = document_bytes(path, watch)
        aggregate, violations = read_aggregate(text, options)[:2]
    except (OSError, CannotCheck) as error:
        # Without rows only its name may say what it is, such as a document of another format.
        noun = "it" if run.rows is None else "the aggregate"
        reason = f"{noun} cannot be read: {describe_error(error)}"
        violation = ES001.violation(f"cannot be read: {describe_error(error)}")
        aggregate, violations = None, [PlacedViolation(violation)]
    else:
        if aggregate is None:
            reason = (
                "it could not be read as an aggregate"
                if run.rows is None
                else "the aggregate could not be read as one"
            )
        elif run.rows is None and missing is None:
            missing = _unnamed_rows(aggregate)
    if missing:
        found = _missing_violations(run, missing, options)
        violations = [*violations, *map(PlacedViolation, found)]
    return ReadAggregate(aggregate, violations, text, missing, reason or missing or None)


def read_aggregate(text: bytes, options: Options) -> ReadAggregate:
    """Read an aggregate. Raises as `read_document` does."""
    reading = read_document(text, options, "an aggregate", partial(_accepts, options))
    violations = list(reading.violations)
    if reading.value is None:
        if _are_rows(text):
            violations = [PlacedViolation(ES005.violation(ROWS))]
        return ReadAggregate(None, violations)
    aggregate = Aggregate(reading.value, text.removeprefix(UTF8_MARK))
    found = _schema_violations(aggregate, options, is_valid=reading.accepted)
    try:
        violations.extend(map(PlacedViolation, limit_findings(reading.filter_violations(found))))
    except RecursionError:
        return ReadAggregate(None, [*violations, PlacedViolation(ES113.violation(TOO_DEEP))])
    return ReadAggregate(aggregate, violations)


def _are_rows(text: bytes) -> bool:
    """Tell by the first of several lines whether a file holds rows."""
    line, _, others = text.partition(b"\n")
    row = fast_or_none(line) if others.strip() else None
    return isinstance(row, dict) and "sample_id" in row and not AGGREGATE_SIGNS & row.keys()


def in_order(violations: list[PlacedViolation]) -> list[PlacedViolation]:
    """Return the violations of an aggregate, each once, by line, code and pointer."""
    return sorted(_most_specific(violations), key=PlacedViolation.order)


def _accepts(options: Options, document: Any) -> bool:
    """Tell whether a document is an aggregate that is certainly valid."""
    return isinstance(document, dict) and _validator(
        _version(text_or_none(document.get("schema_version")), options), options
    ).accepts(document)


def _version(declared: str | None, options: Options) -> str:
    if options.schema_version != "auto":
        return options.schema_version
    return versions.nearest_version(declared or versions.DEFAULT_VERSION, instance=False)


def _validator(version: str, options: Options) -> Validator:
    return builtin_validator(versions.aggregate_schema_name(version), options.engine)


def _schema_violations(
    aggregate: Aggregate, options: Options, *, is_valid: bool
) -> Iterator[Violation]:
    version = _version(aggregate.version, options)
    if options.schema_version == "auto":
        declared = aggregate.version
        if declared is not None and not versions.is_known(declared, instance=False):
            yield ES215.violation(
                f"unknown version; the aggregate is checked against {version}",
                "/schema_version",
                expected=expect_one(versions.DECLARED),
                found=declared,
            )
    reported: set[str | None] = set()
    if not is_valid:
        for violation in _schema_errors(aggregate.document, version, options):
            if (violation.pointer or "").endswith(BOUNDS):
                reported.add(violation.pointer)
            yield violation
    if PROFILES[options.profile].demands_bounds:
        yield from (
            violation for violation in null_bounds(aggregate) if violation.pointer not in reported
        )


def _schema_errors(document: dict[str, Any], version: str, options: Options) -> Iterator[Violation]:
    """Report what the schema refuses, and the versions that a refused document fits."""
    from evalstream.parsing.schema_errors import error_parts

    fails = False
    for part in error_parts(_validator(version, options), document):
        violations = explain_schema(part, own=True, version=version, missing=MISSING)
        fails = fails or bool(violations)
        yield from violations
    if fails:
        version = version.partition("+")[0]
        fitting = versions_that_fit(document, version, options.engine, instance=False)
        yield from fits_another(version, fitting, can_migrate=True)


def _most_specific(violations: list[PlacedViolation]) -> list[PlacedViolation]:
    """Leave out schema findings at a pointer where a more specific rule reports.

    At a number that ES108 reports, no other rule applies.
    """
    none = {
        placed.violation.pointer for placed in violations if placed.violation.code == ES108.code
    }
    violations = [
        placed
        for placed in violations
        if placed.violation.code == ES108.code or placed.violation.pointer not in none - {None}
    ]
    speaking = {
        placed.violation.pointer for placed in violations if placed.violation.code in ABSORBING
    }
    keywords: dict[str | None, str] = {}
    for placed in violations:
        if placed.violation.keyword and placed.violation.pointer in speaking:
            keywords.setdefault(placed.violation.pointer, placed.violation.keyword)
    kept = []
    for placed in violations:
        violation = placed.violation
        if violation.keyword and violation.pointer in speaking:
            continue
        if violation.code in ABSORBING:
            violation = violation._replace(keyword=keywords.get(violation.pointer))
        kept.append(placed._replace(violation=violation))
    return kept


def _unnamed_rows(aggregate: Aggregate) -> str | None:
    """Return a message on missing rows that an aggregate seals without a name, or None."""
    claims = [name for name in ("checksum", "total_rows") if aggregate.claim(name)]
    if aggregate.claim("file_path") is not None or not claims:
        return None
    return f"the rows of its {' and '.join(claims)} were not found, and no file_path names them"


def _missing_violations(run: Run, missing: str, options: Options) -> Iterator[Violation]:
    """Report declared rows that are missing or not at a permitted place."""
    if run.leads_out is not None:
        yield ES009.violation(OUTSIDE, FILE_PATH, found=printable(run.leads_out))
    elif ES902.code not in CATALOGUE.selection(options):
        yield ES001.violation(missing, FILE_PATH if run.missing else DETAILS)
