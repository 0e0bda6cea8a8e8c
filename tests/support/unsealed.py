"""Runs without a seal, whose aggregates make chosen claims."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rows import DETAILS, Row, bytes_of, write_run


def result_of(result: Row, **changed: Any) -> Row:
    """Return a result with what it claims of its rows, and nothing else that they could refute."""
    made: Row = json.loads(json.dumps(result))
    made["score_details"] = {"score": changed.get("score", made["score_details"]["score"])}
    if "num_samples" in changed:
        made["score_details"]["uncertainty"] = {"num_samples": changed["num_samples"]}
    for name in ("samples_number", "sample_ids", "dataset_name"):
        if name in changed:
            made["source_data"][name] = changed[name]
    if "id" in changed:
        made["evaluation_result_id"] = changed["id"]
    return made


def mean_of(rows: Iterable[Row], result_id: str | None = None) -> float:
    """Return the mean score of the rows of a result, of all rows if it has no id; 0.5 of none."""
    scores = [
        float(row["evaluation"]["score"])
        for row in rows
        if result_id in (None, row.get("evaluation_result_id"))
    ]
    return sum(scores) / len(scores) if scores else 0.5


def unsealed(
    folder: Path, rows: Iterable[Row], *claims: Row, version: str = "0.2.0", **details: Any
) -> tuple[Path, Path]:
    """Write rows, and an aggregate that makes these claims and has no seal, or such a one.

    Each result claims the mean of its rows as its score, unless a claim says another one.
    """
    listed = list(rows)
    path, aggregate = write_run(folder, bytes_of(listed), version)
    document = json.loads(aggregate.read_text())
    (result,) = document["evaluation_results"]
    document["evaluation_results"] = [
        result_of(result, **{"score": mean_of(listed, claim.get("id")), **claim})
        for claim in claims or ({},)
    ]
    document.pop(DETAILS)
    if details:
        document[DETAILS] = details
    aggregate.write_text(json.dumps(document, indent=2))
    return path, aggregate
