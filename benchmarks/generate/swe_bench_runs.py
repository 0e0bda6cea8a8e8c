"""Write a run of SWE-bench with its logs: a run report, predictions, and files of each instance."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODEL, RUN = "acme__acorn-7b", "bench"
REPOSITORIES = ("acme__widgets", "acme__gears", "oak__shelf")
FRAME = ("--- a/box.py", "+++ b/box.py", "@@ -1 +1 @@")
OUTPUT = "PASSED tests/test_box.py::test_a_pen_is_in_the_box\n"
START, END = (f"+ : '>>>>> {mark} Test Output'\n" for mark in ("Start", "End"))


@dataclass(frozen=True)
class SweBenchRun:
    """A run in a folder: all its files and their bytes."""

    files: tuple[Path, ...]
    bytes: int


def write_swe_bench_run(folder: Path, instances: int, seed: int) -> SweBenchRun:
    """Write a sound run in which every prediction was evaluated."""
    dice, logs = random.Random(seed), folder / "logs" / "run_evaluation" / RUN / MODEL
    lists: dict[str, list[str]] = {name: [] for name in ("resolved", "unresolved")}
    predictions = []
    for number in range(instances):
        name = f"{REPOSITORIES[number % len(REPOSITORIES)]}-{number}"
        is_resolved = dice.random() < 0.4
        lists["resolved" if is_resolved else "unresolved"].append(name)
        patch = "\n".join((*FRAME, *(f"+pen = {dice.random()}" for _ in range(60)), ""))
        row = {"instance_id": name, "model_name_or_path": "acme/acorn-7b", "model_patch": patch}
        predictions.append(json.dumps(row) + "\n")
        place = logs / name
        place.mkdir(parents=True)
        (place / "patch.diff").write_text(patch, encoding="utf-8")
        output = "".join((START, OUTPUT * dice.randrange(50, 150), END))
        (place / "test_output.txt").write_text(output, encoding="utf-8")
        report = {name: _outcome(is_resolved, dice.randrange(20, 120))}
        (place / "report.json").write_text(json.dumps(report, indent=4), encoding="utf-8")
    (folder / "preds.jsonl").write_text("".join(predictions), encoding="utf-8")
    text = json.dumps(_report(lists), indent=4)
    (folder / f"{MODEL}.{RUN}.json").write_text(f"{text}\n", encoding="utf-8")
    files = tuple(path for path in sorted(folder.rglob("*")) if path.is_file())
    return SweBenchRun(files, sum(path.stat().st_size for path in files))


def _outcome(is_resolved: bool, tests: int) -> dict[str, Any]:
    names = [f"tests/test_box.py::test_pen_{number}" for number in range(tests)]
    new = {"success": names[:3] if is_resolved else [], "failure": [] if is_resolved else names[:3]}
    others: dict[str, list[str]] = {"success": [], "failure": []}
    status = {"FAIL_TO_PASS": new, "PASS_TO_PASS": {"success": names[3:], "failure": []}}
    status |= {"FAIL_TO_FAIL": others, "PASS_TO_FAIL": others}
    applied = {"patch_is_None": False, "patch_exists": True, "patch_successfully_applied": True}
    return {**applied, "resolved": is_resolved, "tests_status": status}


def _report(lists: dict[str, list[str]]) -> dict[str, Any]:
    every = sorted(one for ids in lists.values() for one in ids)
    found = {"completed": every, "submitted": every, "error": [], "empty_patch": [], **lists}
    counts = {f"{name}_instances": len(ids) for name, ids in found.items()}
    ids = {f"{name}_ids": sorted(ids) for name, ids in found.items()}
    return {
        "total_instances": len(every),
        **counts,
        **ids,
        "incomplete_ids": [],
        "schema_version": 2,
    }
