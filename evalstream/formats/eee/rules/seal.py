"""ES5: rules about the seal: what the aggregate claims about the rows file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.formats.eee.aggregate import DETAILS, USUAL_ALGORITHMS, Aggregate
from evalstream.formats.eee.datastore import parse_path, path_to_declare
from evalstream.formats.eee.facts import LOOKED_AT, RunFacts
from evalstream.io.names import is_packed_name
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import ALGORITHM_OF_LENGTH, count_noun
from evalstream.parsing.json import fast, member, resolve
from evalstream.parsing.json_values import is_number
from evalstream.rules.base import Repair, RepairAction, declare_rule
from evalstream.rules.catalogue import DATASTORE, FLAT

Digests = Mapping[str, Mapping[str, str]]
"""Digests of rows in hex, by what they cover and by algorithm."""

CHECKSUM: Final = f"{DETAILS}/checksum"
MIGRATED_FROM: Final = ("source_metadata", "additional_details", "migrated_from")


def checksum_algorithms(aggregate: Aggregate | None) -> tuple[str, ...]:
    """Return the digest algorithms that the rows file needs, the declared one first."""
    return USUAL_ALGORITHMS if aggregate is None else aggregate.checksum_algorithms


def choose_digests(aggregate: Aggregate | None, digests: Digests) -> str:
    """Return which digests the checksum is compared with: those that equal it, if any do.

    Otherwise those of the rows without console output, and for a compressed file, whatever its
    declared name, those of the stored or of the unpacked bytes.
    """
    if aggregate is not None and aggregate.checksum is not None:
        algorithm = ALGORITHM_OF_LENGTH[len(aggregate.checksum)]
        for name, digest in digests.items():
            if digest.get(algorithm) == aggregate.checksum:
                return name
    if "rows" in digests:
        return "rows"
    declared = aggregate.file_path if aggregate is not None else None
    unpacked = declared is not None and not is_packed_name(declared)
    return "unpacked" if unpacked and "unpacked" in digests else "stored"


def describe_cover(aggregate: Aggregate | None, digests: Digests) -> str | None:
    """Return what the checksum covers, where reports must say it."""
    covered = choose_digests(aggregate, digests)
    is_usual = len(digests) < 2 or (covered == "stored" and "unended" in digests)
    return None if is_usual else covered


def is_checksum_right(facts: RunFacts) -> bool:
    """Return whether the declared checksum is that of the rows file, by the declared algorithm."""
    aggregate = facts.aggregate
    if aggregate is None or aggregate.checksum is None:
        return False
    algorithm = aggregate.hash_algorithm or ALGORITHM_OF_LENGTH[len(aggregate.checksum)]
    return facts.checksums.get(algorithm) == aggregate.checksum


def _checksum_mismatch(facts: RunFacts) -> Iterator[Violation]:
    aggregate = facts.aggregate
    if aggregate is None or aggregate.checksum is None or not facts.checksums:
        return
    if is_checksum_right(facts):
        return
    declared = aggregate.checksum
    by_length = ALGORITHM_OF_LENGTH[len(declared)]
    algorithm = aggregate.hash_algorithm or by_length
    actual = facts.checksums.get(algorithm)
    if declared == facts.checksums.get(by_length):
        message = f"the checksum is the file's {by_length}, but hash_algorithm is {algorithm}"
    elif by_length != algorithm:
        message = f"the checksum is neither the file's {algorithm} nor its {by_length}"
    else:
        if facts.packed:
            reason: str | None = "neither the stored nor the unpacked bytes match"
        else:
            total = aggregate.claim("total_rows")
            grew = not isinstance(total, int) or total < facts.tally.rows
            reason = facts.diagnose(declared, grew=grew)
        message = "the file's bytes are not those that were sealed" + (
            f": {reason}" if reason else ""
        )
    yield ES501.violation(message, CHECKSUM, expected=actual, found=aggregate.claim("checksum"))


def _malformed_checksum(facts: RunFacts) -> Iterator[Violation]:
    aggregate = facts.aggregate
    declared = aggregate.claim("checksum") if aggregate else None
    if aggregate is None or declared is None:
        return
    if aggregate.checksum is None:
        message = "the checksum is not a digest of 64 (sha256) or 32 (md5) hex digits"
        yield ES502.violation(message, CHECKSUM, found=declared)
        return
    by_length = ALGORITHM_OF_LENGTH[len(aggregate.checksum)]
    algorithm = aggregate.hash_algorithm
    if declared != aggregate.checksum:
        yield ES502.violation(
            "the checksum is written in capitals, with a prefix or with blanks",
            CHECKSUM,
            found=declared,
            severity=Severity.WARNING,
            is_fixable=is_checksum_right(facts),
        )
    if algorithm is None:
        is_missing = aggregate.claim("hash_algorithm") is None
        state = "missing" if is_missing else "unknown"
        yield ES502.violation(
            f"hash_algorithm is {state}; by its length the checksum is {by_length}",
            DETAILS,
            severity=Severity.WARNING,
            is_fixable=is_missing and is_checksum_right(facts),
        )
    elif by_length != algorithm and facts.checksums.get(by_length) != aggregate.checksum:
        message = f"the checksum has the length of {by_length}, but hash_algorithm is {algorithm}"
        yield ES502.violation(message, CHECKSUM, found=declared)


def _row_count_mismatch(facts: RunFacts) -> Iterator[Violation]:
    declared: Any = facts.aggregate.claim("total_rows") if facts.aggregate else None
    if declared is None or facts.layout not in LOOKED_AT:
        return
    rows = facts.tally.rows
    place: dict[str, Any] = {"pointer": f"{DETAILS}/total_rows", "found": declared}
    if not is_number(declared) or declared != declared // 1:
        yield ES503.violation("total_rows is not a whole number", expected=rows, **place)
    elif declared < 0:
        yield ES503.violation("total_rows is negative", expected=rows, **place)
    elif declared != rows:
        missing = int(declared) - rows
        what = f"{missing:,} missing" if missing > 0 else f"{-missing:,} too many"
        message = f"the file has {count_noun(rows, 'row')}, {what}"
        yield ES503.violation(message, expected=rows, **place)


def _no_rows(facts: RunFacts) -> Iterator[Violation]:
    if not facts.tally.rows and facts.layout in LOOKED_AT:
        yield ES504.violation("the file holds no row")


def _format_mismatch(facts: RunFacts) -> Iterator[Violation]:
    declared = facts.aggregate.claim("format") if facts.aggregate else None
    pointer = f"{DETAILS}/format"
    if facts.layout == "json" and declared != "json":
        message = "the file is one JSON array, not one row per line"
        yield ES505.violation(message, pointer if declared else None, found=declared)
    elif facts.layout == "jsonl" and declared == "json" and facts.tally.rows:
        message = "format is json, but the file has one row per line"
        yield ES505.violation(message, pointer, expected="jsonl", found=declared)


def _check_sealed(facts: RunFacts) -> Iterator[Violation]:
    aggregate = facts.aggregate
    if facts.layout not in LOOKED_AT or not facts.tally.rows:
        return
    if aggregate is None:
        yield ES506.violation(
            f"{_reason_without_aggregate(facts)}; checksum, number and aggregate of the rows were not "
            "checked"
        )
        return
    missing = [name for name in ("checksum", "total_rows") if aggregate.claim(name) is None]
    if aggregate.details is None:
        yield ES506.violation(
            "detailed_evaluation_results is missing from the aggregate; the rows are not sealed"
        )
    elif missing:
        are = "is" if len(missing) == 1 else "are"
        yield ES506.violation(f"{' and '.join(missing)} {are} missing from the aggregate", DETAILS)


def _reason_without_aggregate(facts: RunFacts) -> str:
    if facts.rivals:
        return f"{' and '.join(facts.rivals)} both name the file in file_path: --aggregate chooses"
    if facts.path is None:
        return "no aggregate was given"
    return "no aggregate was given, and none next to the file has its name or names it in file_path"


def _file_path_mismatch(facts: RunFacts) -> Iterator[Violation]:
    declared = facts.aggregate.file_path if facts.aggregate else None
    if declared is None or facts.path is None or facts.stored_rows is None:
        return
    expected = os.path.basename(facts.stored_rows)
    stem, ending = os.path.splitext(expected)
    if facts.packed and declared.endswith(stem) and ending:
        expected = stem  # the name of the rows before they were compressed
    reason = _path_violation(declared, expected)
    if reason is None and facts.context.options.profile in (DATASTORE, FLAT):
        place = parse_path(facts.stored_rows)
        if place.inside and _path_parts(declared) != _path_parts(place.path):
            reason = "file_path is not the path of the rows relative to the datastore's root"
            expected = place.path
    if reason:
        yield ES507.violation(
            reason,
            f"{DETAILS}/file_path",
            expected=expected,
            found=declared,
            is_fixable=facts.legacy_path is None
            and is_checksum_right(facts)
            and _may_be_declared(facts, facts.path),
        )


def _may_be_declared(facts: RunFacts, path: str) -> bool:
    """Tell whether the version allows the path that the aggregate should declare."""
    aggregate = facts.aggregate
    if aggregate is None or facts.aggregate_path is None:
        return False
    return path_to_declare(path, facts.aggregate_path, aggregate.version) is not None


def _path_parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _path_violation(declared: str, name: str) -> str | None:
    parts = _path_parts(declared)
    if "\\" in declared:
        return "file_path is written with backslashes"
    if declared.startswith("/"):
        return "file_path is absolute, so it is valid on one machine only"
    if ".." in parts:
        return "file_path leads out of its folder"
    if parts[-1:] != [name]:
        return "file_path names a different file from the one that was checked"
    return None


def _weak_algorithm(facts: RunFacts) -> Iterator[Violation]:
    if facts.aggregate and checksum_algorithms(facts.aggregate) == ("md5",):
        message = (
            "md5 detects accidents, not tampering: two files with the same md5 are easy to make"
        )
        yield ES508.violation(message, f"{DETAILS}/hash_algorithm", found="md5")


def _sealed_by_migrate(aggregate: Aggregate) -> Iterator[Violation]:
    """Repeat what a migration says of the seal of its source, or of the source of that one."""
    text = resolve(aggregate.document, MIGRATED_FROM)
    while isinstance(text, str):
        try:
            origin = fast(text.encode())
        except ValueError:
            return
        if member(origin, "sealed") is False:
            message = "sealed by migrate from an unsealed source"
            yield ES509.violation(message, MIGRATED_FROM, severity=Severity.INFO)
            return
        text = member(origin, MIGRATED_FROM[-1])


ES501: Final = declare_rule("ES501", run=_checksum_mismatch, about_aggregate=True)

ES502: Final = declare_rule(
    "ES502",
    run=_malformed_checksum,
    about_aggregate=True,
    repair=Repair(
        RepairAction.WRITE_PLAIN_CHECKSUM,
        "writes the digest in lower case without a prefix, and hash_algorithm",
        limit="where the checksum is that of the rows",
    ),
)

ES503: Final = declare_rule("ES503", run=_row_count_mismatch, about_aggregate=True)
ES504: Final = declare_rule("ES504", run=_no_rows)
ES505: Final = declare_rule("ES505", run=_format_mismatch, about_aggregate=True)
ES506: Final = declare_rule("ES506", run=_check_sealed, about_aggregate=True)

ES507: Final = declare_rule(
    "ES507",
    run=_file_path_mismatch,
    about_aggregate=True,
    repair=Repair(
        RepairAction.WRITE_ROWS_PATH,
        "writes the path of the rows that were checked",
        limit="where the checksum is that of the rows and the version allows the path",
    ),
)

ES508: Final = declare_rule("ES508", run=_weak_algorithm, about_aggregate=True)
ES509: Final = declare_rule("ES509", aggregate=_sealed_by_migrate)

RULES: Final = (ES501, ES502, ES503, ES504, ES505, ES506, ES507, ES508, ES509)
