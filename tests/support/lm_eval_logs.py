"""Small logs of the lm-evaluation-harness, made as the harness makes them."""

import json
import math
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

TIME = "2026-03-04T05-06-07.123456"
TASK = "sums"
RESULTS = f"results_{TIME}.json"
DIGESTS = ("doc_hash", "prompt_hash", "target_hash")


def digest(text: str) -> str:
    """Return the SHA-256 of a text, as the harness spells it."""
    return sha256(text.encode()).hexdigest()


def row(doc_id: int, *, filter_name: str = "none", **metrics: Any) -> dict[str, Any]:
    """Return a sound row."""
    doc = {"question": f"{doc_id} + 1 = \u2028é?", "weight": doc_id / 10, "big": 1e22, "none": []}
    prompt, target = f"Q: {doc_id} + 1", str(doc_id + 1)
    return {
        "doc_id": doc_id,
        "doc": doc,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": ["\n"]}}},
        "resps": [["7"]],
        "filtered_resps": ["7"],
        "filter": filter_name,
        "metrics": list(metrics),
        "doc_hash": digest(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": digest(prompt),
        "target_hash": digest(target),
        **metrics,
    }


def rows(
    values: Sequence[float] = (1.0, 0.0, 0.5, 1.0), filters: Sequence[str] = ("none",)
) -> list[dict[str, Any]]:
    """Return the rows of a task whose metric `acc` has some values under each filter."""
    return [
        row(place, filter_name=name, acc=value)
        for name in filters
        for place, value in enumerate(values)
    ]


def task_hash(samples: Sequence[dict[str, Any]]) -> str:
    """Return the hash of the rows of a task."""
    return digest("".join(one[name] for one in samples for name in DIGESTS))


def results(samples: Sequence[dict[str, Any]], task: str = TASK) -> dict[str, Any]:
    """Return the results of rows with the metric `acc`."""
    figures: dict[str, Any] = {"alias": task}
    names = list(dict.fromkeys(one["filter"] for one in samples))
    for name in names:
        values = [one["acc"] for one in samples if one["filter"] == name and "acc" in one]
        mean = sum(values) / len(values)
        deviation = sum((value - mean) ** 2 for value in values) / max(len(values) - 1, 1)
        figures[f"acc,{name}"] = mean
        error = math.sqrt(deviation / len(values)) if len(values) > 1 else "N/A"
        figures[f"acc_stderr,{name}"] = error
    count = len({one["doc_id"] for one in samples})
    metric = {"metric": "acc", "aggregation": "mean", "higher_is_better": True}
    return {
        "results": {task: {**figures, "sample_len": count}},
        "group_subtasks": {task: []},
        "configs": {
            task: {
                "output_type": "generate_until",
                "metric_list": [metric],
                "filter_list": [
                    {"name": name, "filter": [{"function": "take_first"}]} for name in names
                ],
            }
        },
        "versions": {task: 1.0},
        "n-shot": {task: 0},
        "higher_is_better": {task: {"acc": True}},
        "n-samples": {task: {"original": count, "effective": count}},
        "config": {"model": "dummy", "limit": None, "bootstrap_iters": 100000},
        "lm_eval_version": "0.4.13",
        "task_hashes": {task: task_hash(samples)},
        "model_name": "acme/acorn",
    }


def text(samples: Sequence[dict[str, Any]]) -> bytes:
    """Return the bytes of a samples file."""
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in samples).encode()


def write(
    folder: Path,
    samples: Sequence[dict[str, Any]] | bytes,
    document: dict[str, Any] | None,
    task: str = TASK,
) -> Path:
    """Write a samples file, and the results beside it; return the path of the samples."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"samples_{task}_{TIME}.jsonl"
    path.write_bytes(samples if isinstance(samples, bytes) else text(samples))
    if document is not None:
        shown = json.dumps(document, indent=2, ensure_ascii=False)
        (folder / RESULTS).write_text(shown, encoding="utf-8")
    return path
