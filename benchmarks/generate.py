"""Writes deterministic, realistic runs: a rows file of a wanted size and its aggregate."""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import uuid
from dataclasses import dataclass
from pathlib import Path
from random import Random

import orjson

from benchmarks.dialect import DIALECTS, Dialect, Document
from benchmarks.faults import spoil
from benchmarks.rows import MIXES, Identity, RowComposer

UNITS = {"K": 10**3, "M": 10**6, "G": 10**9}
RETRIEVED = "1750000000"
COLLECTION = "synthetic-reasoning"
DEVELOPER = "acme"
MODEL = "river-7b-instruct"
IDENTITY = Identity(
    evaluation_id=f"{COLLECTION}/{DEVELOPER}/{MODEL}/{RETRIEVED}",
    evaluation_name=COLLECTION,
    model_id=f"{DEVELOPER}/{MODEL}",
    result_id=f"{COLLECTION}/accuracy",
)


@dataclass(frozen=True)
class Run:
    """A generated run: its two files, the number of rows and the bytes of the rows file."""

    rows_path: Path
    aggregate_path: Path
    rows: int
    bytes: int


@dataclass(frozen=True)
class Written:
    """What the rows file amounts to."""

    rows: int
    bytes: int
    score_sum: float
    square_sum: float
    checksum: str


def generate(folder: Path, *, size: int, mix: str, version: str, faulty: bool, seed: int) -> Run:
    """Write a run of at most `size` bytes of rows into the folder.

    The same arguments give the same bytes. With `faulty` every row has at least one fault, and
    the aggregate still seals the file. Raises ValueError when `size` has no room for one row.
    """
    dialect = DIALECTS[version]
    rows_name, aggregate_name = _file_names(dialect, seed)
    rows_path, aggregate_path = folder / rows_name, folder / aggregate_name
    rows_path.parent.mkdir(parents=True, exist_ok=True)
    composer = RowComposer(MIXES[mix], dialect, IDENTITY, seed)
    written = _write_rows(rows_path, composer, dialect, size=size, faulty=faulty)
    aggregate = _aggregate(dialect, rows_name, written)
    aggregate_path.write_bytes(orjson.dumps(aggregate, option=orjson.OPT_INDENT_2) + b"\n")
    return Run(rows_path, aggregate_path, written.rows, written.bytes)


def parse_size(text: str) -> int:
    """Read a number of bytes such as 300M; the units are decimal."""
    unit = UNITS.get(text[-1:].upper())
    return int(text) if unit is None else int(float(text[:-1]) * unit)


def _file_names(dialect: Dialect, seed: int) -> tuple[str, str]:
    """Name the rows file and the aggregate, below the folder, as the version wants them."""
    if not dialect.has_result_ids:
        return "run.jsonl", "aggregate.json"
    name = uuid.UUID(int=Random(f"names {seed}").getrandbits(128), version=4)
    stem = f"data/{COLLECTION}/{DEVELOPER}/{MODEL}/{name}"
    return f"{stem}_samples.jsonl", f"{stem}.json"


def _write_rows(
    path: Path, composer: RowComposer, dialect: Dialect, *, size: int, faulty: bool
) -> Written:
    """Write rows until the next one would not fit, hashing what is written."""
    escaped, raw = json.JSONEncoder(), json.JSONEncoder(ensure_ascii=False)
    digest = hashlib.sha256()
    rows = total = 0
    score_sum = square_sum = 0.0
    with path.open("wb", buffering=1 << 20) as file:
        while True:
            composed = composer.compose(rows)
            if faulty:
                spoil(composed.row, rows, dialect)
            encoder = escaped if composed.is_escaped else raw
            line = encoder.encode(composed.row).encode() + b"\n"
            if total + len(line) > size:
                break
            file.write(line)
            digest.update(line)
            rows, total = rows + 1, total + len(line)
            score_sum += composed.score
            square_sum += composed.score**2
    if rows == 0:
        message = f"{size} bytes have no room for one row of {len(line)} bytes"
        raise ValueError(message)
    return Written(rows, total, score_sum, square_sum, digest.hexdigest())


def _aggregate(dialect: Dialect, file_path: str, written: Written) -> Document:
    """Describe the run and seal its rows file."""
    aggregate: Document = {
        "schema_version": dialect.version,
        "evaluation_id": IDENTITY.evaluation_id,
        "evaluation_timestamp": "2025-06-15T12:00:00Z",
        "retrieved_timestamp": RETRIEVED,
        "source_metadata": {
            "source_name": "benchmark generator",
            "source_type": "evaluation_run",
            "source_organization_name": "Example Organisation",
            "evaluator_relationship": "third_party",
        },
        "model_info": {
            "name": MODEL,
            "id": IDENTITY.model_id,
            "developer": DEVELOPER,
            "additional_details": {
                "deployment_type": "self_deployed",
                "model_availability": "open_weights",
            },
        },
        "evaluation_results": [_result(dialect, written)],
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": file_path,
            "hash_algorithm": "sha256",
            "checksum": written.checksum,
            "total_rows": written.rows,
        },
    }
    if dialect.has_result_ids:
        aggregate["eval_library"] = {"name": "inspect_ai", "version": "0.3.100"}
    return aggregate


def _result(dialect: Dialect, written: Written) -> Document:
    """State the mean score of the rows and its uncertainty."""
    mean = written.score_sum / written.rows
    squares = max(written.square_sum - written.rows * mean**2, 0.0)
    deviation = math.sqrt(squares / max(written.rows - 1, 1))
    metric: Document = {"lower_is_better": False, "score_type": "continuous"}
    metric |= {"min_score": 0, "max_score": 1}
    result: Document = {
        "evaluation_name": IDENTITY.evaluation_name,
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
                "standard_error": {
                    "value": deviation / math.sqrt(written.rows),
                    "method": "analytic",
                },
                "standard_deviation": deviation,
                "num_samples": written.rows,
            },
        },
        "generation_config": {"generation_args": {"temperature": 0.0, "max_tokens": 4096}},
    }
    if dialect.has_result_ids:
        metric |= {"metric_id": "accuracy", "metric_name": "Accuracy", "metric_kind": "accuracy"}
        result["evaluation_result_id"] = IDENTITY.result_id
    return result


def main() -> None:
    """Generate a run as the command line asks and print what was written."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generate", description=__doc__)
    parser.add_argument("--size", type=parse_size, default=parse_size("300M"))
    parser.add_argument("--mix", choices=sorted(MIXES), default="mixed")
    parser.add_argument("--version", choices=sorted(DIALECTS), default="0.2.0")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--faulty", action="store_true", help="put faults into every row")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        run = generate(
            options.out,
            size=options.size,
            mix=options.mix,
            version=options.version,
            faulty=options.faulty,
            seed=options.seed,
        )
    except ValueError as error:
        parser.error(str(error))
    print(f"{run.rows_path}: {run.rows} rows, {run.bytes} bytes; sealed by {run.aggregate_path}")


if __name__ == "__main__":
    main()
