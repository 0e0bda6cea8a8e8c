"""The edit scripts of the rules about SWE-bench: changes to the example run or submission."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import yaml
from paths import EXAMPLES

from edits.case import Case, change, contains, fit

EXAMPLE = EXAMPLES / "swe_bench"
REPORT, PREDICTIONS = "acme__acorn-7b.tiny.json", "preds.jsonl"
SUBMISSION = "submission"
RESULTS = f"{SUBMISSION}/results/results.json"
CHANGE = re.compile(r"(\S+) (/\S*) (?:= (.+)|removed)")
SHOWN = re.compile(r"(\S+) has (.+)")
SHOWN_ROW = re.compile(r"row (\d+) has (.+)")
WRITTEN = re.compile(r"(\S+) written: (.+)")
MISSING = re.compile(r"(\S+) missing")
ROW = re.compile(r"row (\d+) (/\S*) (?:= (.+)|removed)")


def apply(script: str, folder: Path) -> Case:
    """Copy the example into `folder` and edit it; the line `submission` has that checked.

    `report` is the run report, `row N` a prediction, and other documents are named by their paths:
    `NAME /pointer = JSON`, `NAME /pointer removed`, `PATH missing`, `PATH written: JSON`.
    """
    root = folder / "swe_bench"
    shutil.copytree(EXAMPLE, root)
    lines = [line.strip() for line in script.splitlines() if line.strip()]
    for line in lines:
        _follow(line, root)
    documents = {
        path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()
    }
    documents |= {"report": root / REPORT, "row": root / PREDICTIONS}
    if SUBMISSION in lines:
        return Case(root / RESULTS, None, documents=documents)
    return Case(root / PREDICTIONS, root / REPORT, documents=documents)


def _follow(line: str, root: Path) -> None:
    if line in (SUBMISSION, "report unchanged"):
        return
    if found := ROW.fullmatch(line):
        rows, number = _rows(root), int(found[1]) - 1
        change(rows[number], found[2], found[3])
        _write_rows(root, rows)
    elif found := SHOWN_ROW.fullmatch(line):
        rows, number, part = _rows(root), int(found[1]) - 1, json.loads(found[2])
        if not contains(rows[number], part):
            rows[number] = fit(rows[number], part)
            _write_rows(root, rows)
    elif found := CHANGE.fullmatch(line):
        path = _path(root, found[1])
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        change(document, found[2], found[3])
        _write(path, document)
    elif found := SHOWN.fullmatch(line):
        path, part = _path(root, found[1]), json.loads(found[2])
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not contains(document, part):
            _write(path, fit(document, part))
    elif found := MISSING.fullmatch(line):
        (root / found[1]).unlink()
    elif found := WRITTEN.fullmatch(line):
        path = root / found[1]
        path.parent.mkdir(exist_ok=True)
        path.write_text(found[2], encoding="utf-8")
    else:
        raise ValueError(f"no such directive: {line}")


def _path(root: Path, name: str) -> Path:
    return root / (REPORT if name == "report" else name)


def _write(path: Path, document: Any) -> None:
    is_yaml = path.suffix == ".yaml"
    text = yaml.safe_dump(document) if is_yaml else json.dumps(document, indent=2)
    path.write_text(text, encoding="utf-8")


def _rows(root: Path) -> list[Any]:
    return [json.loads(row) for row in (root / PREDICTIONS).read_text("utf-8").splitlines()]


def _write_rows(root: Path, rows: list[Any]) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (root / PREDICTIONS).write_text(text, encoding="utf-8")
