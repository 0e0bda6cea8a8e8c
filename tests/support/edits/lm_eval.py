"""The edit scripts of the rules about lm-eval: changes to the tutorial's samples and results."""

import copy
import hashlib
import json
import math
import re
from dataclasses import replace
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
SHOWN = re.compile(r"(?:first run, )?results has (.+)")
SHOWN_SECOND = re.compile(r"second run, results has (.+)")
SHOWN_ROW = re.compile(r"row (\d+) has (.+)")
IN_ROW = re.compile(r"row (\d+) (?:(/\S*) (?:= (.+)|(removed))|(repeated|dropped))")
ALSO = re.compile(r"also for (\S+)/(\S+)")
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
    others: list[tuple[str, str]] = []
    seconds: list[Any] = []
    for line in filter(None, map(str.strip, script.splitlines())):
        if found := IN_RESULTS.fullmatch(line):
            place, value, _, hashed = found.groups()
            change_results(results, place, value, rows if hashed else None)
        elif found := SHOWN.fullmatch(line):
            results = fit(results, json.loads(found[1]))
        elif found := SHOWN_SECOND.fullmatch(line):
            seconds.append(json.loads(found[1]))
        elif line == "thrice as many rows":
            lengthen(rows, results)
        elif found := ALSO.fullmatch(line):
            others.append((found[1], found[2]))
        else:
            change_rows(rows, line)
    case = written(rows, results, folder)
    for place, (developer, model) in enumerate(others):
        text = json.dumps(results).replace("acme/acorn-1b", f"{developer}/{model}")
        renamed = json.loads(text.replace("acme__acorn-1b", f"{developer}__{model}"))
        for shown in seconds:
            renamed = fit(renamed, shown)
        other = folder / f"{place}" / f"{developer}__{model}"
        written(rows, renamed, other)
        both = {"first run, results": folder / RESULTS, "second run, results": other / RESULTS}
        case = replace(case, rows=folder, documents=both)
    return case


def change_results(
    results: Any, place: str | None, value: str | None, hashed: list[Any] | None
) -> None:
    """Set or remove a member of the results, or compute the hash of rows again."""
    if hashed is not None:
        results["task_hashes"][TASK] = task_hash(hashed)
    elif place is not None:
        change(results, place, value)


def change_rows(rows: list[Any], line: str) -> None:
    """Follow a directive about rows."""
    if found := SHOWN_ROW.fullmatch(line):
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


def lengthen(rows: list[Any], results: Any) -> None:
    """Make each row three of other documents, and compute the results again."""
    first = copy.deepcopy(rows)
    for time in (1, 2):
        rows += [{**row, "doc_id": row["doc_id"] + time * len(first)} for row in first]
    entry, count = results["results"][TASK], len(rows)
    mean = entry["exact_match,none"]
    entry["exact_match_stderr,none"] = math.sqrt(mean * (1 - mean) / (count - 1))
    entry["sample_len"] = count
    results["n-samples"][TASK] = {"original": count, "effective": count}
    results["task_hashes"][TASK] = task_hash(rows)


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
