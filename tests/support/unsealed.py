"""Runs without a seal, whose aggregates make chosen claims."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rows import DETAILS, Row, bytes_of, write_run


def result_of(result: Row, **changed: Any) -> Row:
    """Return a result with what it claims of its rows, and nothing else that they could refute."""
    made: Row = json.loads(json.dumps(result))
    made["score_details"] = {"score": made["score_details"]["score"]}
    if "num_samples" in changed:
        made["score_details"]["uncertainty"] = {"num_samples": changed["num_samples"]}
    for name in ("samples_number", "sample_ids", "dataset_name"):
        if name in changed:
            made["source_data"][name] = changed[name]
    if "id" in changed:
        made["evaluation_result_id"] = changed["id"]
    return made


def unsealed(
    folder: Path, rows: Iterable[Row], *claims: Row, version: str = "0.2.0", **details: Any
) -> tuple[Path, Path]:
    """Write rows, and an aggregate that makes these claims and has no seal, or such a one."""
    path, aggregate = write_run(folder, bytes_of(list(rows)), version)
    document = json.loads(aggregate.read_text())
    (result,) = document["evaluation_results"]
    document["evaluation_results"] = [result_of(result, **claim) for claim in claims or ({},)]
    document.pop(DETAILS)
    if details:
        document[DETAILS] = details
    aggregate.write_text(json.dumps(document, indent=2))
    return path, aggregate
