"""The edit scripts of the rules about HELM: changes to the example run."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

from paths import EXAMPLES

from edits.case import Case, change, contains, fit

RUN = "pens-model=acme_acorn-7b"
EXAMPLE = EXAMPLES / "helm" / RUN
LISTS = {"row": "per_instance_stats.json", "statistic": "stats.json"}
CHANGE = re.compile(r"(\S+) (/\S*) (?:= (.+)|removed)")
ITEM = re.compile(r"(row|statistic) (\d+) (removed|repeated|has (.+))")
SHOWN = re.compile(r"(\S+) has (.+)")
MISSING = re.compile(r"(\S+) missing")


def apply(script: str, folder: Path) -> Case:
    """Copy the example into `folder` and edit it.

    `row N` is an entry of per_instance_stats.json, `statistic N` one of stats.json, and documents
    are named by their paths: `NAME /pointer = JSON`, `NAME /pointer removed`, `NAME missing`.
    """
    root = folder / "helm"
    shutil.copytree(EXAMPLE, root)
    for line in filter(None, map(str.strip, script.splitlines())):
        _follow(line, root)
    documents = {path.name: path for path in root.iterdir()}
    rows, statistics = root / LISTS["row"], root / LISTS["statistic"]
    documents |= {"row": rows, "statistic": statistics}
    return Case(rows if rows.exists() else statistics, None, documents=documents)


def _follow(line: str, root: Path) -> None:
    if found := ITEM.fullmatch(line):
        path, place = root / LISTS[found[1]], int(found[2]) - 1
        items = _read(path)
        if found[3] == "removed":
            del items[place]
        elif found[3] == "repeated":
            items.insert(place, items[place])
        elif not contains(items[place], part := json.loads(found[4])):
            items[place] = fit(items[place], part)
        _write(path, items)
    elif found := CHANGE.fullmatch(line):
        document = _read(root / found[1])
        change(document, found[2], found[3])
        _write(root / found[1], document)
    elif found := SHOWN.fullmatch(line):
        document, part = _read(root / found[1]), json.loads(found[2])
        if not contains(document, part):
            _write(root / found[1], fit(document, part))
    elif found := MISSING.fullmatch(line):
        (root / found[1]).unlink()
    else:
        raise ValueError(f"no such directive: {line}")


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _write(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")
