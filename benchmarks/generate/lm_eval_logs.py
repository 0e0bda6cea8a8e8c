"""Writes logs of the lm-evaluation-harness: samples of several tasks, and their results.

Rows and results have the members that `--log_samples` of release 0.4.13 writes, in their order. The
contents are invented.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from math import sqrt
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from typing import Any

from benchmarks.generate.text import TextPool, text_pool

TIME = "2026-01-05T10-00-00.000000"
CHOICES = 4
QUESTION_BYTES = 370
"""The size of a question of `bench_choice`, which its row shows five times."""

ANSWER_BYTES = 1_050
"""The size of an answer of `bench_generation`, which its row shows twice."""

FOREIGN_SHARE = 0.1

Row = dict[str, Any]


@dataclass(frozen=True)
class Log:
    """Results, the samples beside them, and how many rows and bytes the samples have."""

    results: Path
    samples: tuple[Path, ...]
    rows: int
    bytes: int


@dataclass(frozen=True)
class Task:
    """A task: its filters and metrics, and what composes the row of a doc for a filter."""

    name: str
    output_type: str
    filters: tuple[str, ...]
    metrics: tuple[str, ...]
    row: Callable[[Random, TextPool], Row]


@dataclass
class Totals:
    """What the rows of a task amount to, as its results state it."""

    docs: int = 0
    rows: int = 0
    digests: Any = field(default_factory=sha256)
    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Add a row."""
        self.rows += 1
        self.digests.update(f"{row['doc_hash']}{row['prompt_hash']}{row['target_hash']}".encode())
        for metric in row["metrics"]:
            self.values.setdefault(f"{metric},{row['filter']}", []).append(row[metric])


def write_lm_eval_log(folder: Path, size: int, seed: int) -> Log:
    """Write a log with samples of about `size` bytes in all, a share for each task."""
    folder.mkdir(parents=True, exist_ok=True)
    totals, paths = {}, []
    for task in TASKS:
        path = folder / f"samples_{task.name}_{TIME}.jsonl"
        totals[task] = _write_samples(path, task, size // len(TASKS), seed)
        paths.append(path)
    results = folder / f"results_{TIME}.json"
    results.write_text(json.dumps(_results(totals), indent=2, ensure_ascii=False))
    rows = sum(one.rows for one in totals.values())
    return Log(results, tuple(paths), rows, sum(path.stat().st_size for path in paths))


def _write_samples(path: Path, task: Task, size: int, seed: int) -> Totals:
    """Write the samples of a task: all docs with one filter, then all with the next."""
    totals, pool = Totals(), text_pool(seed, FOREIGN_SHARE)
    with path.open("wb") as file:
        while not totals.docs or file.tell() * len(task.filters) < size:
            file.write(_line(task, 0, pool, seed, totals.docs, totals))
            totals.docs += 1
        for number in range(1, len(task.filters)):
            for doc_id in range(totals.docs):
                file.write(_line(task, number, pool, seed, doc_id, totals))
    return totals


def _line(task: Task, number: int, pool: TextPool, seed: int, doc_id: int, totals: Totals) -> bytes:
    """Return the line of a doc for a filter, and add it to the totals."""
    shown = task.row(Random(f"{task.name} {seed} {doc_id}"), pool)
    doc = json.dumps(shown["doc"], indent=2, ensure_ascii=False)
    values = {metric: shown.pop(metric) for metric in task.metrics}
    row = {
        "doc_id": doc_id,
        **shown,
        "filter": task.filters[number],
        "metrics": list(task.metrics),
        "doc_hash": _digest(doc),
        "prompt_hash": _digest(shown["arguments"]["gen_args_0"]["arg_0"]),
        "target_hash": _digest(shown["target"]),
        **values,
    }
    totals.add(row)
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _choice_row(random: Random, pool: TextPool) -> Row:
    """Compose a question with several choices, each of which is a request of its own."""
    question, choices = pool.text(random, QUESTION_BYTES), pool.phrases(random, CHOICES)
    label = random.randrange(CHOICES)
    likelihoods = [-random.uniform(0.1, 90) for _ in choices]
    per_character = [one / len(text) for one, text in zip(likelihoods, choices, strict=True)]
    chosen, likeliest = (all_.index(max(all_)) for all_ in (likelihoods, per_character))
    scores = [[str(one), str(place == chosen)] for place, one in enumerate(likelihoods)]
    prompt = f"Question: {question}\nAnswer:"
    requests = [{"arg_0": prompt, "arg_1": f" {choice}"} for choice in choices]
    return {
        "doc": {"question": question, "choices": choices, "label": label, "weight": 0.25},
        "target": str(label),
        "arguments": {f"gen_args_{place}": request for place, request in enumerate(requests)},
        "resps": [[score] for score in scores],
        "filtered_resps": scores,
        "acc": float(label == chosen),
        "acc_norm": float(label == likeliest),
    }


def _generation_row(random: Random, pool: TextPool) -> Row:
    """Compose a question that is answered with a text."""
    question, target = pool.text(random, QUESTION_BYTES), pool.phrases(random, CHOICES)[0]
    answer = target if random.random() < 0.4 else pool.text(random, ANSWER_BYTES)
    settings = {"until": ["Question:", "</s>"], "do_sample": False, "temperature": 0.0}
    prompt = f"Question: {question}\nAnswer:"
    return {
        "doc": {"question": question, "answer": target, "tags": ["bench", None]},
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": settings}},
        "resps": [[answer]],
        "filtered_resps": [answer],
        "exact_match": float(answer == target),
    }


TASKS = (
    Task("bench_choice", "multiple_choice", ("none",), ("acc", "acc_norm"), _choice_row),
    Task(
        "bench_generation",
        "generate_until",
        ("strict-match", "flexible-extract"),
        ("exact_match",),
        _generation_row,
    ),
)


def _results(totals: dict[Task, Totals]) -> dict[str, Any]:
    """Return the results of tasks as the harness states them."""
    named = {task.name: (task, found) for task, found in totals.items()}
    return {
        "results": {name: _figures(task, found) for name, (task, found) in named.items()},
        "group_subtasks": {name: [] for name in named},
        "configs": {name: _config(task) for name, (task, _) in named.items()},
        "versions": dict.fromkeys(named, 1.0),
        "n-shot": dict.fromkeys(named, 0),
        "higher_is_better": {
            name: dict.fromkeys(task.metrics, True) for name, (task, _) in named.items()
        },
        "n-samples": {
            name: {"original": found.docs, "effective": found.docs}
            for name, (_, found) in named.items()
        },
        "config": {"model": "bench", "model_args": {}, "limit": None, "bootstrap_iters": 100000},
        "git_hash": None,
        "date": 1767607200.0,
        "lm_eval_version": "0.4.13",
        "task_hashes": {name: found.digests.hexdigest() for name, (_, found) in named.items()},
        "model_source": "bench",
        "model_name": "bench",
        "model_name_sanitized": "bench",
        "total_evaluation_time_seconds": "1.0",
    }


def _figures(task: Task, totals: Totals) -> dict[str, Any]:
    """Return mean and standard error of each metric."""
    found: dict[str, Any] = {"name": task.name, "alias": task.name, "sample_len": totals.docs}
    for key, values in totals.values.items():
        metric, _, name = key.partition(",")
        count = len(values)
        found[key] = fmean(values)
        found[f"{metric}_stderr,{name}"] = stdev(values) / sqrt(count) if count > 1 else "N/A"
    return found


def _config(task: Task) -> dict[str, Any]:
    """Return what the results say of a task."""
    metrics = [
        {"metric": metric, "aggregation": "mean", "higher_is_better": True}
        for metric in task.metrics
    ]
    return {
        "task": task.name,
        "output_type": task.output_type,
        "metric_list": metrics,
        "filter_list": [
            {"name": name, "filter": [{"function": "take_first"}]} for name in task.filters
        ],
        "repeats": 1,
    }
