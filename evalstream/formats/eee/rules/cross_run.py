"""ES903 to ES908: rules about relations between the runs of one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from evalstream.model.finding import Severity, Violation
from evalstream.model.text import count_noun
from evalstream.rules.base import declare_rule, position_namer


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
    return ES904.violation(message, pointer="/evaluation_id")


def unlinked_rows(groups: int) -> Violation:
    """Return the violation for rows that were not compared with other runs."""
    message = (
        f"the rows belong to more than {groups:,} results; only those of the first {groups:,} were "
        "compared with other runs"
    )
    return ES904.violation(message, severity=Severity.INFO)


def repeated_answers(earlier: str) -> Violation:
    """Return the violation for a log with the answers of an earlier one of another model."""
    return ES907.violation(f"all answers are those of {earlier}, which names another model")


def shared_answers(answers: int, earlier: str) -> Violation:
    """Return the violation for a log with many answers of an earlier one of another model."""
    return ES907.violation(f"{answers:,} answers are those of {earlier}, which names another model")


def drifted_sample(
    number: int, *, is_array: bool, earlier: str, earlier_number: int, was_array: bool
) -> Violation:
    """Return the violation for a sample whose input differs in an earlier run."""
    there = position_namer("json" if was_array else "jsonl")(earlier_number)
    message = f"the input differs from that of the same sample {there} of {earlier}"
    return ES905.violation(message, pointer=f"/{number - 1}" if is_array else None)


def drifted_log(samples: int, earlier: str) -> Violation:
    """Return the violation for a log of which samples have other inputs in an earlier one."""
    which = "input of 1 sample differs" if samples == 1 else f"inputs of {samples:,} samples differ"
    message = f"the {which} from those of the same ids in {earlier}"
    return ES905.violation(message, count=samples)


def drifted_like(samples: int, earlier: str) -> Violation:
    """Return the violation for a run with the same inputs as an earlier run that drifted."""
    which = "input of 1 sample differs" if samples == 1 else f"inputs of {samples:,} samples differ"
    message = f"the {which} from an earlier run in the same way as in {earlier}"
    return ES905.violation(message, count=samples)


ES903: Final = declare_rule("ES903")
ES904: Final = declare_rule("ES904")
ES905: Final = declare_rule("ES905")
ES906: Final = declare_rule("ES906")
ES907: Final = declare_rule("ES907")
ES908: Final = declare_rule("ES908")

RULES: Final = (ES903, ES904, ES905, ES906, ES907, ES908)


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
