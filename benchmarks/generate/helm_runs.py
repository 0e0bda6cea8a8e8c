"""Write a run of HELM of about a given size: statistics of instances, and requests, in halves."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODEL = "acme/acorn-7b"
ADAPTER = {"method": "generation", "model": MODEL, "num_train_trials": 1, "num_outputs": 1}
METRICS = ("exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match")
COUNTED = tuple(f"num_{name}" for name in ("references", "train_trials", "bytes", "prompt_tokens"))
MEASURED = tuple(f"measure_{number}" for number in range(17))
WORDS = ("the", "box", "on", "a", "shelf", "holds", "red", "and", "blue", "pens", "beside", "it")


@dataclass(frozen=True)
class HelmRun:
    """A run in a folder: its large files, the bytes of all, and the number of instances."""

    files: tuple[Path, ...]
    bytes: int
    instances: int


def write_helm_run(folder: Path, size: int, seed: int) -> HelmRun:
    """Write a sound run in which no score is another by its answer."""
    folder.mkdir()
    dice = random.Random(seed)
    entry = len(_text(_entry(0, 1, dice)))
    number = max(2, size // (2 * entry))
    tokens = max(1, size // (2 * number) // 80 - 8)
    right = [dice.random() < 0.5 for _ in range(number)]
    sums: dict[str, float] = {}
    entries, state = folder / "per_instance_stats.json", folder / "scenario_state.json"

    def make_entry(place: int) -> dict[str, Any]:
        found = _entry(place, int(right[place]), dice)
        for one in found["stats"]:
            name = one["name"]["name"]
            sums[name] = sums.get(name, 0.0) + one["sum"]
        return found

    _write_list(entries, "", number, make_entry, "")
    head = f'{{"adapter_spec": {json.dumps(ADAPTER)}, "request_states": '
    _write_list(state, head, number, lambda place: _request(place, right[place], tokens), "}")
    means = {name: total / number for name, total in sums.items()} | {"num_instances": number}
    _write(folder / "stats.json", [_statistic(name, mean) for name, mean in means.items()])
    basic = "helm.benchmark.metrics.basic_metrics.BasicGenerationMetric"
    specs = [{"class_name": basic, "args": {"names": METRICS}}]
    spec = {"name": "pens", "adapter_spec": ADAPTER, "metric_specs": specs}
    _write(folder / "run_spec.json", {**spec, "scenario_spec": {"class_name": "acme.Pens"}})
    return HelmRun((entries, state), sum(one.stat().st_size for one in folder.iterdir()), number)


def _statistic(name: str, value: float) -> dict[str, Any]:
    figures = dict.fromkeys(("min", "max", "mean"), value)
    sums = {"count": 1, "sum": value, "sum_squared": value * value}
    return {"name": {"name": name, "split": "test"}, **sums, **figures, "variance": 0, "stddev": 0}


def _entry(place: int, score: int, dice: random.Random) -> dict[str, Any]:
    values = dict.fromkeys(COUNTED, 3.0) | {"num_references": 1.0}
    values |= {name: dice.random() for name in MEASURED}
    stats = [
        _statistic(name, value) for name, value in (values | dict.fromkeys(METRICS, score)).items()
    ]
    return {"instance_id": f"id{place}", "train_trial_index": 0, "stats": stats}


def _request(place: int, is_right: bool, tokens: int) -> dict[str, Any]:
    answer = f"{place}" if is_right else "none of them"
    text = " ".join(WORDS)
    shown = [{"text": WORDS[at % len(WORDS)], "logprob": -0.125} for at in range(tokens)]
    completion = {"text": answer, "logprob": -1.0, "tokens": shown}
    reference = {"output": {"text": str(place)}, "tags": ["correct"]}
    instance = {"input": {"text": text}, "references": [reference], "split": "test"}
    return {
        "instance": {**instance, "id": f"id{place}"},
        "train_trial_index": 0,
        "request": {"model": MODEL, "prompt": text, "temperature": 0.0},
        "result": {"success": True, "completions": [completion], "cached": False},
    }


def _write_list(path: Path, head: str, number: int, make: Callable[[int], Any], tail: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{head}[\n")
        for place in range(number):
            file.write(_text(make(place)) + (",\n" if place < number - 1 else "\n"))
        file.write(f"]{tail}")


def _write(path: Path, value: Any) -> None:
    path.write_text(_text(value), encoding="utf-8")


def _text(value: Any) -> str:
    return json.dumps(value, indent=2)
