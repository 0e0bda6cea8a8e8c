"""Composes the aggregate that seals a generated rows file and claims what its rows amount to."""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchmarks.generate.composer import Identity
from benchmarks.generate.dialect import Dialect, Document

RETRIEVED = 1_750_000_000
COLLECTION = "synthetic-reasoning"
DEVELOPER = "acme"
MODEL = "river-7b-instruct"


@dataclass(frozen=True)
class Written:
    """What a rows file amounts to; the checksum is its sha256 in hexadecimal."""

    rows: int
    bytes: int
    score_sum: float
    square_sum: float
    checksum: str


def identity_of(number: int, collection: str = COLLECTION, model: str = MODEL) -> Identity:
    """Return the identity of the run with this number, which counts from 0."""
    return Identity(
        evaluation_id=f"{collection}/{DEVELOPER}/{model}/{RETRIEVED + number}",
        evaluation_name=collection,
        model_id=f"{DEVELOPER}/{model}",
        result_id=f"{collection}/accuracy",
    )


def aggregate_of(
    dialect: Dialect, identity: Identity, file_path: str, written: Written
) -> Document:
    """Describe the run and seal its rows file."""
    details = {"deployment_type": "self_deployed", "model_availability": "open_weights"}
    aggregate: Document = {
        "schema_version": dialect.version,
        "evaluation_id": identity.evaluation_id,
        "evaluation_timestamp": "2025-06-15T12:00:00Z",
        "retrieved_timestamp": identity.evaluation_id.rpartition("/")[2],
        "source_metadata": {
            "source_name": "benchmark generator",
            "source_type": "evaluation_run",
            "source_organization_name": "Example Organisation",
            "evaluator_relationship": "third_party",
        },
        "model_info": {
            "name": MODEL,
            "id": identity.model_id,
            "developer": DEVELOPER,
            "additional_details": details,
        },
        "evaluation_results": [_result(dialect, identity, written)],
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": file_path,
            "hash_algorithm": "sha256",
            "checksum": written.checksum,
            "total_rows": written.rows,
        },
    }
    if dialect.is_current:
        aggregate["eval_library"] = {"name": "inspect_ai", "version": "0.3.100"}
    return aggregate


def _result(dialect: Dialect, identity: Identity, written: Written) -> Document:
    """State the mean score of the rows and its uncertainty."""
    mean = written.score_sum / written.rows
    squares = max(written.square_sum - written.rows * mean**2, 0.0)
    deviation = math.sqrt(squares / max(written.rows - 1, 1))
    error = {"value": deviation / math.sqrt(written.rows), "method": "analytic"}
    metric: Document = {"lower_is_better": False, "score_type": "continuous"}
    metric |= {"min_score": 0, "max_score": 1}
    result: Document = {
        "evaluation_name": identity.evaluation_name,
        "source_data": {
            "dataset_name": COLLECTION,
            "source_type": "hf_dataset",
            "hf_repo": f"{DEVELOPER}/{COLLECTION}",
            "hf_split": "test",
            "samples_number": written.rows,
        },
        "metric_config": metric,
        "score_details": {
            "score": round(mean, 6),
            "uncertainty": {
                "standard_error": error,
                "standard_deviation": deviation,
                "num_samples": written.rows,
            },
        },
        "generation_config": {"generation_args": {"temperature": 0.0, "max_tokens": 4096}},
    }
    if dialect.has_result_ids:
        metric |= {"metric_id": "accuracy", "metric_name": "Accuracy", "metric_kind": "accuracy"}
    if dialect.has_result_ids and identity.result_id is not None:
        result["evaluation_result_id"] = identity.result_id
    return result
