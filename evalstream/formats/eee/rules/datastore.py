"""ES9: rules about a datastore: paths, lone files, its version, and relations between its runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

from evalstream.formats.eee import datastore, versions
from evalstream.formats.eee.aggregate import DETAILS, Aggregate
from evalstream.formats.eee.datastore import ROWS_ENDING
from evalstream.formats.eee.facts import RunFacts
from evalstream.io.names import printable
from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.parsing.json import text_or_none
from evalstream.rules.base import declare_rule, position_namer
from evalstream.rules.catalogue import PROFILES

AGGREGATE: Final = ".json"


def _datastore_path(facts: RunFacts) -> Iterator[Violation]:
    """Check the path of the aggregate and of the rows, and a folder that they share only once."""
    aggregate = rows = None
    if facts.aggregate is not None and facts.stored_aggregate is not None:
        aggregate = datastore.parse_path(facts.stored_aggregate)
        yield from _check_path(aggregate, AGGREGATE)
    if facts.stored_rows is not None:
        rows = datastore.parse_path(facts.stored_rows)
        if aggregate is None or rows.folder != aggregate.folder:
            yield from _check_path(rows, ROWS_ENDING, about_rows=True)
        elif rows.inside:
            yield from _check_name(rows, ROWS_ENDING, about_rows=True)
    if aggregate is not None and rows is not None:
        yield from _compare_paths(aggregate, rows)


def _check_path(
    place: datastore.DatastorePath, ending: str, *, about_rows: bool = False
) -> Iterator[Violation]:
    if not place.inside:
        # Folders further up belong to the machine and stay out of reports.
        message = "the file is not at a path of a datastore"
        yield _violation(message, datastore.PATTERN + ending, None, about_rows=about_rows)
        return
    for folder, name in zip(datastore.FOLDERS, place.folders[1:], strict=True):
        reason = datastore.unportable(name)
        if reason:
            message = f"the name of the {folder} folder is not portable: {reason}"
            yield _violation(message, None, name, about_rows=about_rows)
    yield from _check_name(place, ending, about_rows=about_rows)


def _check_name(
    place: datastore.DatastorePath, ending: str, *, about_rows: bool
) -> Iterator[Violation]:
    if place.uuid(ending) is None:
        message = f"the file name is not a version 4 UUID in lower case with the ending {ending}"
        yield _violation(message, f"<uuid4>{ending}", place.name, about_rows=about_rows)


def _compare_paths(
    aggregate: datastore.DatastorePath, rows: datastore.DatastorePath
) -> Iterator[Violation]:
    uuid = aggregate.uuid(AGGREGATE)
    if not aggregate.inside or not rows.inside or uuid is None or rows.uuid(ROWS_ENDING) is None:
        return
    expected = aggregate._replace(name=uuid + ROWS_ENDING)
    if rows.folder != aggregate.folder:
        message = "the rows file is not in the folder of its aggregate"
        yield _violation(message, expected.path, rows.path, about_rows=True)
    elif rows.name != expected.name:
        message = "the rows file does not have the UUID of its aggregate"
        yield _violation(message, expected.name, rows.name, about_rows=True)


def _violation(message: str, expected: str | None, found: str | None, **details: Any) -> Violation:
    shown = None if found is None else printable(found)
    return ES901.violation(message, expected=expected, found=shown, **details)


def _orphan(facts: RunFacts) -> Iterator[Violation]:
    if facts.missing is not None:
        yield ES902.violation(facts.missing, f"{DETAILS}/file_path")
    elif are_undeclared(facts):
        if facts.aggregate is None:
            yield ES902.violation("these rows have no aggregate, neither by name nor by file_path")
        else:
            message = "the aggregate does not declare the rows file that was checked with it"
            yield ES902.violation(message, found=printable(os.path.basename(facts.path or "")))
    if facts.aggregate is None:
        return
    known = {os.path.basename(facts.aggregate.file_path or "")}
    checked = None if facts.path is None else os.path.realpath(facts.path)
    for path in facts.beside:
        name = os.path.basename(path)
        if name not in known and _target(path) != checked:
            message = "a rows file with the name of the aggregate is next to it, but not declared"
            yield ES902.violation(message, found=printable(name))


def are_undeclared(facts: RunFacts) -> bool:
    """Return whether no aggregate has a claim about the rows; ES902 then replaces ES506."""
    if facts.path is None or facts.layout == "aggregate":
        return False
    if facts.aggregate is None:
        return facts.aggregate_path is None
    claims = ("file_path", "checksum", "total_rows")
    return all(facts.aggregate.claim(name) is None for name in claims)


def _foreign_directory(facts: RunFacts) -> Iterator[Violation]:
    if facts.aggregate is None or facts.stored_aggregate is None:
        return
    place = _find_place(facts.stored_aggregate, facts)
    address = None if place is None else _address(facts.aggregate)
    if place is None or address is None:
        return
    if isinstance(address, datastore.Unaddressable):
        yield from _unaddressable(address, facts.aggregate)
        return
    *above, developer, model = place.folders
    if (developer, model) != address:
        message = (
            "model_info.id stands for a different directory from the one that holds the file;"
            " use one spelling for both"
        )
        found, expected = ("/".join((*above, *folders)) for folders in (place.folders[2:], address))
        yield ES910.violation(message, expected=expected, found=found)


def _address(aggregate: Aggregate) -> datastore.Address | datastore.Unaddressable | None:
    """Return the directory for the model's identity, or None if the schema reports it first."""
    identity, developer = aggregate.model_id, aggregate.developer
    if identity is None or not ("/" in identity or developer is None or isinstance(developer, str)):
        return None
    return datastore.derive_address(identity, text_or_none(developer))


def _find_place(path: str, facts: RunFacts) -> datastore.DatastorePath | None:
    """Return the datastore path of a file whose folders have the meaning that a datastore gives.

    Without the profile only a UUID as file name shows this, since other folders are called data,
    too.
    """
    context = facts.context
    codes = PROFILES[context.options.profile].codes, context.enabled_codes
    is_judged = any(ES901.code in some for some in codes)
    # Most files have another name, which is found sooner than their folders.
    if not is_judged and "://" not in path and datastore.read_uuid(path) is None:
        return None
    place = datastore.parse_path(path)
    has_meaning = is_judged or place.uuid(AGGREGATE) is not None
    is_portable = not any(map(datastore.unportable, place.folders[1:]))
    return place if place.inside and has_meaning and is_portable else None


def _unaddressable(address: datastore.Unaddressable, aggregate: Aggregate) -> Iterator[Violation]:
    found = aggregate.developer if address.member == "developer" else aggregate.model_id
    pointer = "/model_info" if found is None else f"/model_info/{address.member}"
    message = (
        f"model_info.{address.member} does not stand for a directory of the datastore:"
        f" {address.reason}; write model_info.id as developer/name"
    )
    yield ES910.violation(message, pointer, found=found)


def _version_too_old(facts: RunFacts) -> Iterator[Violation]:
    """Compare the versions of the record and of its rows with that of the store."""
    least = facts.context.options.store_version
    at: dict[str, Any] = {"expected": least, "pointer": "/schema_version"}
    declared = facts.aggregate.version if facts.aggregate is not None else None
    if declared is not None and versions.is_below(declared, least):
        message = f"the record is of version {declared}, and the store takes {least} and later"
        yield ES911.violation(message, found=declared, **at)
    for name, count, line in facts.tally.versions.entries():
        if name != declared and versions.is_below(name, least):
            message = f"rows are of version {name} (first {facts.at(line)})"
            message += f", and the store takes {least} and later"
            yield ES911.violation(message, count=count, expected=least, about_rows=True)


def _target(path: str) -> str:
    """Return the absolute path of a file, or of the target of a link, which is not followed."""
    if os.path.islink(path):
        path = os.path.join(os.path.dirname(path), os.readlink(path))
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


_OF_STORES: Final = range(920, 932)
"""The numbers of the rules about a public store, which it reports by their codes."""


def repeated_record(earlier: str) -> Violation:
    """Return the violation for an aggregate with the same record as an earlier one."""
    return ES903.violation(f"the same record as {earlier}")


def reused_uuid(earlier: str) -> Violation:
    """Return the violation for an aggregate with the UUID of an earlier, different one."""
    return ES906.violation(f"another record has the same UUID: {earlier}")


def colliding_path(path: str, earlier: str) -> Violation:
    """Return the violation for a path that differs from an earlier one only in case."""
    message = f"the path differs only in upper and lower case from {earlier}; rename one of them"
    return ES908.violation(message, found=path)


def overlapping_rows(samples: int, earlier: str, *, several: bool) -> Violation:
    """Return the violation for samples that earlier files of the same evaluation also have."""
    files = f"{earlier} and other files" if several else earlier
    are = "is" if samples == 1 else "are"
    message = f"{count_noun(samples, 'sample')} of the same evaluation {are} already in {files}"
    return ES904.violation(message)


def repeated_claim(earlier: str) -> Violation:
    """Return the violation for a second aggregate of an evaluation, if not both have rows."""
    message = f"the same evaluation as {earlier}; only rows of both could distinguish them"
    return ES904.violation(message, "/evaluation_id")


def unlinked_rows(groups: int) -> Violation:
    """Return the violation for rows that were not compared with other runs."""
    message = (
        f"the rows belong to more than {groups:,} results; only those of the first {groups:,} were "
        "compared with other runs"
    )
    return ES904.violation(message, severity=Severity.INFO)


def repeated_answers(earlier: str) -> Violation:
    """Return the violation for a log with the answers of an earlier one of another model."""
    return ES907.violation(
        f"all answers compared are those of {earlier}, which names another model"
    )


def shared_answers(answers: int, earlier: str) -> Violation:
    """Return the violation for a log with many answers of an earlier one of another model."""
    return ES907.violation(f"{answers:,} answers are those of {earlier}, which names another model")


def drifted_sample(
    number: int, *, is_array: bool, earlier: str, earlier_number: int, was_array: bool
) -> Violation:
    """Return the violation for a sample whose input differs in an earlier run."""
    there = position_namer("json" if was_array else "jsonl")(earlier_number)
    message = f"the input differs from that of the same sample {there} of {earlier}"
    return ES905.violation(message, f"/{number - 1}" if is_array else None)


def drifted_log(samples: int, earlier: str) -> Violation:
    """Return the violation for a log of which samples have other inputs in an earlier one."""
    text = f"{_describe_drift(samples)} from those of the same ids in {earlier}"
    return ES905.violation(text, count=samples)


def drifted_like(samples: int, earlier: str) -> Violation:
    """Return the violation for a run with the same inputs as an earlier run that drifted."""
    text = f"{_describe_drift(samples)} from an earlier run in the same way as in {earlier}"
    return ES905.violation(text, count=samples)


def _describe_drift(samples: int) -> str:
    several = f"the inputs of {samples:,} samples differ"
    return "the input of 1 sample differs" if samples == 1 else several


def codes() -> Mapping[str, str]:
    """Return the codes by what is compared."""
    return {
        "records": ES903.code,
        "files": ES904.code,
        "samples": ES905.code,
        "uuids": ES906.code,
        "paths": ES908.code,
        "answers": ES907.code,
    }


ES901: Final = declare_rule("ES901", run=_datastore_path, about_aggregate=True, about_paths=True)

ES902: Final = declare_rule("ES902", run=_orphan, about_aggregate=True, about_paths=True)

ES903: Final = declare_rule("ES903")
ES904: Final = declare_rule("ES904")
ES905: Final = declare_rule("ES905")
ES906: Final = declare_rule("ES906")
ES907: Final = declare_rule("ES907")
ES908: Final = declare_rule("ES908")

ES910: Final = declare_rule("ES910", run=_foreign_directory, about_aggregate=True, about_paths=True)

ES911: Final = declare_rule("ES911", run=_version_too_old, about_aggregate=True, about_paths=True)

RULES: Final = (
    *(ES901, ES902, ES903, ES904, ES905, ES906, ES907, ES908, ES910, ES911),
    *(declare_rule(f"ES{number}") for number in _OF_STORES),
)
