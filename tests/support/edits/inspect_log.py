"""A small log of Inspect, from which the rows of a pair could have been converted."""

from collections.abc import Iterable, Mapping
from typing import Any

LETTERS = {0.0: "I", 1.0: "C"}


def log_of(rows: Iterable[Mapping[str, Any]], aggregate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the log with the samples of rows and the first result of their aggregate."""
    samples = [_sample(row) for row in rows]
    result = aggregate["evaluation_results"][0]
    score = result["score_details"]["score"]
    accuracy = {"name": "accuracy", "value": score}
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "created": "2026-11-02T10:20:30+00:00",
            "task": result["evaluation_name"],
            "model": aggregate["model_info"]["id"],
            "config": {"epochs": 1},
        },
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [{"name": "match", "scorer": "match", "metrics": {"accuracy": accuracy}}],
        },
        "samples": samples,
    }


def _sample(row: Mapping[str, Any]) -> dict[str, Any]:
    messages = row.get("messages") or row.get("interactions") or []
    raw = row["output"]["raw"] if row.get("output") else messages[-1]["content"]
    output = raw if isinstance(raw, str) else raw[0]
    message = {"role": "assistant", "content": output}
    score = row["evaluation"]["score"]
    return {
        "id": row["sample_id"],
        "epoch": 1,
        "input": row["input"]["raw"],
        "target": row["input"]["reference"],
        **({"choices": row["input"]["choices"]} if row["input"].get("choices") else {}),
        "messages": [
            {name: one[name] for name in ("role", "content") if name in one} for one in messages
        ],
        "output": {"choices": [{"message": message}], "completion": output},
        "scores": {"match": {"value": LETTERS.get(score, score)}},
    }
