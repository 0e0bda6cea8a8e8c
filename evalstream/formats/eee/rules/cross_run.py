"""ES903 to ES906 and ES908: what several runs of one call say of each other."""

from __future__ import annotations

from typing import Final

from evalstream.model.finding import Severity, Violation
from evalstream.model.text import counted
from evalstream.rules.base import Rule, place_in


def repeated_record(earlier: str) -> Violation:
    """Say that an earlier aggregate is the same record."""
    return ES903.violation(f"the same record as {earlier}")


def reused_uuid(earlier: str) -> Violation:
    """Say that an earlier aggregate of other content has the same UUID."""
    return ES906.violation(f"the UUID of this record is also that of another record, {earlier}")


def colliding_path(path: str, earlier: str) -> Violation:
    """Say that an earlier path differs from this one in case alone."""
    message = f"the path differs in case alone from {earlier}; rename one of them"
    return ES908.violation(message, found=path)


def overlapping_rows(samples: int, earlier: str, *, several: bool) -> Violation:
    """Say that earlier files of the same evaluation hold some of the samples as well."""
    held = f"{earlier} and other files" if several else earlier
    stands = "is" if samples == 1 else "are"
    message = f"{counted(samples, 'sample')} of the same evaluation {stands} already in {held}"
    return ES904.violation(message)


def repeated_claim(earlier: str) -> Violation:
    """Say that an earlier aggregate is of the same evaluation, and no rows tell them apart."""
    message = f"the same evaluation as {earlier}, and not both have rows to be told apart by"
    return ES904.violation(message, pointer="/evaluation_id")


def unlinked_rows(groups: int) -> Violation:
    """Say that not all rows were checked against those of other runs."""
    message = (
        f"the rows are of more than {groups:,} results; those of the first {groups:,} alone were "
        "held against other runs"
    )
    return ES904.violation(message, severity=Severity.INFO)


def drifted_sample(
    number: int, *, is_array: bool, earlier: str, earlier_number: int, was_array: bool
) -> Violation:
    """Say that an earlier run shows another input under a sample's id."""
    here = "in this row" if is_array else "on this line"
    there = place_in("json" if was_array else "jsonl")(earlier_number)
    message = f"the sample {here} has another input than {there} of {earlier}"
    return ES905.violation(message, pointer=f"/{number - 1}" if is_array else None)


def drifted_like(samples: int, earlier: str) -> Violation:
    """Say that a run has the very inputs of an earlier one in which samples had drifted."""
    has = "has another input" if samples == 1 else "have other inputs"
    message = f"{counted(samples, 'sample')} {has} than in an earlier run, the same as in {earlier}"
    return ES905.violation(message, count=samples)


ES903: Final = Rule(
    "ES903",
    "repeated-aggregate",
    Severity.WARNING,
    "the same record twice, evaluation_id, retrieved_timestamp, file_path and order aside",
    """
    What it finds: where several runs are checked in one call, an aggregate that says the same as
    an earlier one, whatever the order of its keys and of the items of its lists, once
    evaluation_id and retrieved_timestamp (at any depth) and
    detailed_evaluation_results.file_path are left out. It names the earlier file. With
    `--profile datastore` it is an error.

    Why it matters: a record that was collected twice counts twice in every statistic. A true
    repetition has at least other rows, and so another checksum.

    Bad:
        first run, aggregate:
          {
            "retrieved_timestamp": "1760000000",
            "model_info": {"id": "acme/acorn-7b"},
            "evaluation_results": [{"score_details": {"score": 0.75}}]
          }
        second run, aggregate:
          {
            "retrieved_timestamp": "1760000009",
            "model_info": {"id": "acme/acorn-7b"},
            "evaluation_results": [{"score_details": {"score": 0.75}}]
          }

    Good:
        first run, aggregate:
          {
            "retrieved_timestamp": "1760000000",
            "model_info": {"id": "acme/acorn-7b"},
            "evaluation_results": [{"score_details": {"score": 0.75}}]
          }
        second run, aggregate:
          {
            "retrieved_timestamp": "1760000000",
            "model_info": {"id": "acme/birch-7b"},
            "evaluation_results": [{"score_details": {"score": 0.75}}]
          }
    """,
    about_aggregate=True,
)

ES904: Final = Rule(
    "ES904",
    "overlapping-files",
    Severity.WARNING,
    "the same evaluation in several files whose samples overlap",
    """
    What it finds: where several runs are checked in one call, rows of the same evaluation as
    those of an earlier file, by the evaluation_id of the aggregate, or else of the rows, where
    samples (a sample_id under the same evaluation_name and evaluation_result_id) stand in both.
    Shards of an evaluation that have no sample in common are fine. Two aggregates with the same
    evaluation_id are told as well if not both have rows of it; a file of rows that goes with
    two aggregates does not overlap with itself, and counts for the first. ES903 says more where
    the records are the same. As a remark it says that rows are of so many results (over 10,000)
    that not all were compared.

    Why it matters: whoever puts the files together counts these samples twice, and every mean
    over them is wrong.

    Bad:
        first run, row 1:
          {
            "evaluation_id": "tiny-arithmetic/acme/acorn-7b/1760000000",
            "sample_id": "arith-001"
          }
        second run, row 1:
          {
            "evaluation_id": "tiny-arithmetic/acme/acorn-7b/1760000000",
            "sample_id": "arith-001"
          }

    Good:
        first run, row 1:
          {
            "evaluation_id": "tiny-arithmetic/acme/acorn-7b/1760000000",
            "sample_id": "arith-004"
          }
        second run, row 1:
          {
            "evaluation_id": "tiny-arithmetic/acme/acorn-7b/1760000000",
            "sample_id": "arith-001"
          }
    """,
    about_aggregate=True,
)

ES905: Final = Rule(
    "ES905",
    "drifted-sample",
    Severity.WARNING,
    "one sample_id with different inputs across runs of one evaluation",
    """
    What it finds: where several runs are checked in one call, a sample with another input (raw,
    references, choices) than in the first run that has the sample. Runs are held together,
    whatever their models, where evaluation_name, the first component of the evaluation_id
    (`eval_name/model/timestamp`; the aggregate's, or else the rows'), and dataset_name, hf_repo
    and hf_split of the result that the rows join are the same, or where they join none. Of
    several rows of a run with the same sample and input the first is told. A run whose samples
    and inputs are the very ones of an earlier run that was told so is told as a whole, with
    their number.

    Why it matters: scores of models that were asked different things under the same name cannot
    be compared. The data set changed between the runs, or what numbers its samples.

    Bad:
        first run, row 2:
          {
            "evaluation_name": "tiny-arithmetic",
            "sample_id": "arith-002",
            "input": {"raw": "What is 7 * 6? Answer with a number."}
          }
        second run, row 3:
          {
            "evaluation_name": "tiny-arithmetic",
            "sample_id": "arith-002",
            "input": {"raw": "What is 70 * 6? Answer with a number."}
          }

    Good:
        first run, row 2:
          {
            "evaluation_name": "tiny-arithmetic",
            "sample_id": "arith-002",
            "input": {"raw": "What is 7 * 6? Answer with a number."}
          }
        second run, row 3:
          {
            "evaluation_name": "tiny-arithmetic",
            "sample_id": "arith-002",
            "input": {"raw": "What is 7 * 6? Answer with a number."}
          }
    """,
)

ES906: Final = Rule(
    "ES906",
    "reused-uuid",
    Severity.ERROR,
    "the same UUID names records of different content",
    """
    What it finds: where several runs are checked in one call, an aggregate `<uuid>.json` whose
    UUID is also the name of an earlier aggregate in another folder, and which says something
    else. What counts as the same content is what ES903 compares; where the content is the same,
    ES903 speaks. It names the first file with the UUID. The case of its letters does not matter.

    Why it matters: a record is addressed by its UUID and never changes under it. A store that
    files records by UUID keeps one of the two and drops the other.

    Bad:
        data/tiny-arithmetic/acme/acorn-7b/0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57.json:
          {"model_info": {"id": "acme/acorn-7b"}}
        second/data/tiny-arithmetic/acme/birch-7b/0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57.json:
          {"model_info": {"id": "acme/birch-7b"}}

    Good:
        data/tiny-arithmetic/acme/acorn-7b/0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57.json:
          {"model_info": {"id": "acme/acorn-7b"}}
        second/data/tiny-arithmetic/acme/birch-7b/5d2b9c1e-8f4a-4b7d-9c3e-6a1f0e2d7b84.json:
          {"model_info": {"id": "acme/birch-7b"}}
    """,
    about_aggregate=True,
)

ES908: Final = Rule(
    "ES908",
    "case-collision",
    Severity.WARNING,
    "two paths that differ in case alone",
    """
    What it finds: where several runs are checked in one call, a file of a run, or a folder above
    it, whose path differs from an earlier one in the case of its letters alone. Each further
    spelling of a name in a folder is reported once, at the first file that shows it.

    Why it matters: file systems of Windows and macOS do not tell the two apart. Of two files one
    overwrites the other when the store is copied there, and two folders become one.

    Bad:
        data/tiny-arithmetic/acme/acorn-7b/0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57.json:
          {"model_info": {"id": "acme/acorn-7b"}}
        data/tiny-arithmetic/ACME/acorn-7b/5d2b9c1e-8f4a-4b7d-9c3e-6a1f0e2d7b84.json:
          {"model_info": {"id": "ACME/acorn-7b"}}

    Good:
        data/tiny-arithmetic/acme/acorn-7b/0f8a3c5e-7b1d-4e62-9a4f-2c6d8e1b3a57.json:
          {"model_info": {"id": "acme/acorn-7b"}}
        data/tiny-arithmetic/ACME-Labs/acorn-7b/5d2b9c1e-8f4a-4b7d-9c3e-6a1f0e2d7b84.json:
          {"model_info": {"id": "ACME-Labs/acorn-7b"}}
    """,
)

RULES: Final = (ES903, ES904, ES905, ES906, ES908)
