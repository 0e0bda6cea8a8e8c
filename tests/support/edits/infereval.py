"""The edit scripts of the rules about infereval: changes to the example pair."""

import json
import re
from pathlib import Path
from typing import Any

from paths import EXAMPLES

from edits.case import Case, change, contains, fit

EXAMPLE = EXAMPLES / "infereval"
BENCHMARK, EVALUATION = "benchmark", "evaluation"
SHOWN = re.compile(r"(benchmark|evaluation) has (.+)")
DIRECTIVE = re.compile(r"(benchmark|evaluation) (/\S*) (?:= (.+)|(removed))")


def documents() -> dict[str, Any]:
    """Return the sound example: its benchmark and its evaluation."""
    return {
        name: json.loads((EXAMPLE / f"{name}.json").read_text(encoding="utf-8"))
        for name in (BENCHMARK, EVALUATION)
    }


def apply(script: str, folder: Path) -> Case:
    """Edit the example in `folder`; where a script changes the benchmark, it stands alone.

    A script with the line `both` has the evaluation checked against the benchmark all the same,
    and one with `evaluation alone` without it.
    """
    known, changed, alone, both = documents(), set(), False, False
    for line in filter(None, map(str.strip, script.splitlines())):
        if line in {"both", "evaluation alone"}:
            both, alone = both or line == "both", alone or line != "both"
            continue
        if found := SHOWN.fullmatch(line):
            name, part = found[1], json.loads(found[2])
            if not contains(known[name], part):
                known[name] = fit(known[name], part)
                changed.add(name)
            continue
        found = DIRECTIVE.fullmatch(line)
        if found is None:
            raise ValueError(f"no such directive: {line}")
        name, pointer, value, _ = found.groups()
        change(known[name], pointer, value)
        changed.add(name)
    folder.mkdir(parents=True, exist_ok=True)
    written = {name: written_to(folder / f"{name}.json", known[name]) for name in known}
    if BENCHMARK in changed and not both:
        return Case(written[BENCHMARK], None, documents=written)
    return Case(written[EVALUATION], None if alone else written[BENCHMARK], documents=written)


def written_to(path: Path, document: Any) -> Path:
    """Write a document as JSON, and return where."""
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
