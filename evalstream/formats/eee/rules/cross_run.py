"""ES903 to ES908: rules about relations between the runs of one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from evalstream.model.finding import Severity, Violation
from evalstream.model.text import counted
from evalstream.rules.base import Rule, place_in


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
    message = f"{counted(samples, 'sample')} of the same evaluation {are} already in {files}"
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


def drifted_sample(
    number: int, *, is_array: bool, earlier: str, earlier_number: int, was_array: bool
) -> Violation:
    """Return the violation for a sample whose input differs in an earlier run."""
    there = place_in("json" if was_array else "jsonl")(earlier_number)
    message = f"the input differs from that of the same sample {there} of {earlier}"
    return ES905.violation(message, pointer=f"/{number - 1}" if is_array else None)


def drifted_like(samples: int, earlier: str) -> Violation:
    """Return the violation for a run with the same inputs as an earlier run that drifted."""
    which = "input of 1 sample differs" if samples == 1 else f"inputs of {samples:,} samples differ"
    message = f"the {which} from an earlier run in the same way as in {earlier}"
    return ES905.violation(message, count=samples)


ES903: Final = Rule(
    "ES903",
    "repeated-aggregate",
    Severity.WARNING,
    "the same record twice, apart from evaluation_id, retrieved_timestamp, file_path and order",
    """
    What it finds: where several runs are checked in one call, an aggregate with the same content
    as an earlier one, whatever the order of its keys and of the items of its arrays, once
    evaluation_id and retrieved_timestamp (at any depth) and detailed_evaluation_results.file_path
    are left out. The finding names the earlier file. With `--profile datastore` it is an error.

    Why it matters: a record that was collected twice counts twice in every statistic. A true
    repetition has at least other rows, and so another checksum.

    How to fix: Keep one of the two records, and remove the other with its rows. If the second is a
    true repetition, publish its rows and seal them: `evalstream seal`.

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
    What it finds: where several runs are checked in one call, rows of the same evaluation as those
    of an earlier file, by the evaluation_id of the aggregate, or else of the rows, where some
    samples (a sample_id under the same evaluation_name and evaluation_result_id) are in both.
    Logs of a harness are of the same evaluation if they name the same run.
    Shards of an evaluation without a common sample are allowed. Two aggregates with the same
    evaluation_id are reported as well unless both have rows of it; a rows file that belongs to two
    aggregates does not overlap with itself, and counts for the first. ES903 says more where the
    records are the same. An info reports rows of so many results (over 10,000) that not all were
    compared.

    Why it matters: a reader who puts the files together counts these samples twice, and every mean
    over them is wrong.

    How to fix: Publish each sample in one file: write the shards again without their overlap, and
    seal them. If the files are different runs, give each its own evaluation_id, in the aggregate
    and in its rows.

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
    references, choices) than in the first run that has the sample. Runs are compared, whatever
    their models, where evaluation_name, the first component of the evaluation_id
    (`eval_name/model/timestamp`; the aggregate's, or else the rows'), and dataset_name, hf_repo
    and hf_split of the result that the rows join are the same, or where the rows join no result.
    Of several rows of a run with the same sample and input the first is reported. A run whose
    samples and inputs are exactly those of an earlier run with such findings is reported once as a
    whole, with their number.

    Why it matters: scores of models that received different questions under the same name cannot
    be compared. The data set, or the way its samples are numbered, changed between the runs.

    How to fix: Run the evaluations on the same version of the data set, with sample_ids from the
    data set itself. If the versions differ on purpose, say so in evaluation_name or source_data
    (dataset_name, hf_split).

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
    UUID is also the name of an earlier aggregate in another folder, and whose content differs. The
    content is compared as in ES903; where it is the same, ES903 reports it. The finding names the
    first file with the UUID. The case of the letters does not matter.

    Why it matters: a record is addressed by its UUID and never changes under it. A store that
    keeps records by UUID keeps one of the two and drops the other.

    How to fix: Give the later record a new version 4 UUID, for the aggregate and its rows file
    alike. Then run `evalstream seal`, which writes the new file_path. If it is a new version of
    the old record, keep only one of them.

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

ES907: Final = Rule(
    "ES907",
    "repeated-answers",
    Severity.WARNING,
    "the answers of a harness log are those of a log of another model",
    """
    What it finds: where several logs of a harness are checked in one call, a log of lm-eval or
    Inspect whose samples are all those of an earlier log of the same task, while the two name
    different models. Samples of lm-eval are compared byte for byte, of a task with log-likelihoods
    from two samples on, of others from ten on. Samples of Inspect are compared by id, epoch,
    completion and times.

    Why it matters: no two models give the same log-likelihoods, nor take the same time. One run was
    published under two names, or one of the logs was copied and renamed.

    How to fix: Keep the log of the model that was run. If both names are of the same model, use one
    name.

    Bad:
        first run, results:
          {"model_name": "acme/acorn-1b"}
        second run, results:
          {"model_name": "acme/birch-1b"}

    Good:
        first run, results:
          {"model_name": "acme/acorn-1b"}
        second run, results:
          {"model_name": "acme/acorn-1b"}
    """,
)

ES908: Final = Rule(
    "ES908",
    "case-collision",
    Severity.WARNING,
    "two paths that differ only in upper and lower case",
    """
    What it finds: where several runs are checked in one call, a file of a run, or a folder above
    it, whose path differs from an earlier one only in upper and lower case. Each further spelling
    of a name in a folder is reported once, at the first file that shows it.

    Why it matters: the usual file systems of Windows and macOS treat the two as one. When the
    store is copied there, one of two files overwrites the other, and two folders become one.

    How to fix: Rename one of the two paths; for folders of one model, keep the spelling of
    model_info.id. After that run `evalstream seal`, which writes the new file_path.

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
