"""The edit scripts of the rules about lm-eval: changes to the tutorial's samples and results."""

import copy
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from paths import EXAMPLES

from edits.case import Case, change, fit

EXAMPLE = EXAMPLES / "tutorial" / "log" / "acme__acorn-1b"
TASK = "word_sums"
TIME = "2026-11-02T10-20-30.123456"
SAMPLES, RESULTS = f"samples_{TASK}_{TIME}.jsonl", f"results_{TIME}.json"
DIGESTS = ("doc_hash", "prompt_hash", "target_hash")
IN_RESULTS = re.compile(r"results (?:(/\S*) (?:= (.+)|(removed))|unchanged|(hashed))")
SHOWN = re.compile(r"results has (.+)")
SHOWN_ROW = re.compile(r"row (\d+) has (.+)")
IN_ROW = re.compile(r"row (\d+) (?:(/\S*) (?:= (.+)|(removed))|(repeated|dropped))")
AGAIN = re.compile(r"rows 1 to (\d+) again(?: as (\S+))?")


def documents() -> tuple[list[Any], Any]:
    """Return the sound example: its rows and its results."""
    lines = (EXAMPLE / SAMPLES).read_text(encoding="utf-8").splitlines()
    results = json.loads((EXAMPLE / RESULTS).read_text(encoding="utf-8"))
    return [json.loads(line) for line in lines], results


def task_hash(rows: list[Any]) -> str:
    """Return the hash of a task's rows, as the harness computes it."""
    text = "".join(row[name] for row in rows for name in DIGESTS)
    return hashlib.sha256(text.encode()).hexdigest()


def apply(script: str, folder: Path) -> Case:
    """Edit the example in `folder`; its results are checked, with the samples beside them."""
    rows, results = documents()
    for line in filter(None, map(str.strip, script.splitlines())):
        if found := IN_RESULTS.fullmatch(line):
            place, value, _, hashed = found.groups()
            if hashed:
                results["task_hashes"][TASK] = task_hash(rows)
            elif place is not None:
                change(results, place, value)
        elif found := SHOWN.fullmatch(line):
            results = fit(results, json.loads(found[1]))
        elif found := SHOWN_ROW.fullmatch(line):
            rows[int(found[1]) - 1] = fit(rows[int(found[1]) - 1], json.loads(found[2]))
        elif found := IN_ROW.fullmatch(line):
            number, place, value, _, whole = found.groups()
            _edit(rows, int(number) - 1, place, value, whole)
        elif found := AGAIN.fullmatch(line):
            number, name = found.groups()
            again = copy.deepcopy(rows[: int(number)])
            rows += [row if name is None else {**row, "filter": name} for row in again]
        else:
            raise ValueError(f"no such directive: {line}")
    return written(rows, results, folder)


def written(rows: list[Any], results: Any, folder: Path) -> Case:
    """Write rows and results into `folder` and return the case of both."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / SAMPLES).write_text(text, encoding="utf-8")
    text = json.dumps(results, indent=2, ensure_ascii=False)
    (folder / RESULTS).write_text(text, encoding="utf-8")
    documents = {"row": folder / SAMPLES, "results": folder / RESULTS}
    return Case(folder / RESULTS, None, documents=documents)


def _edit(
    rows: list[Any], index: int, place: str | None, value: str | None, whole: str | None
) -> None:
    if whole == "repeated":
        rows.insert(index, rows[index])
    elif whole == "dropped":
        del rows[index]
    elif place is not None:
        change(rows[index], place, value)
