"""The edit scripts of the rules about HarpIA Lab: changes to the example's three documents."""

import json
import re
from pathlib import Path
from typing import Any

from paths import EXAMPLES

from edits.case import Case, change, fit

EXAMPLE = EXAMPLES / "harpia"
INPUT, OUTPUT, LOG = "input.json", "output.json", "log.jsonl"
DOCUMENT = re.compile(r"(input|output) (?:(/\S*) (?:= (.+)|(removed))|unchanged)")
RECORD = re.compile(r"record (\d+) (?:(/\S*) (?:= (.+)|(removed))|(repeated|dropped|unchanged))")
SHOWN = re.compile(r"(input|output) has (.+)")
SHOWN_RECORD = re.compile(r"log, record (\d+) has (.+)")
SHOWN_LOG = re.compile(r"log has (.+)")

ARRAY = "log as an array"


def documents() -> dict[str, Any]:
    """Return the sound example: the input, the output, and the records of the log."""
    texts = {name: (EXAMPLE / name).read_text(encoding="utf-8") for name in (INPUT, OUTPUT, LOG)}
    return {
        INPUT: json.loads(texts[INPUT]),
        OUTPUT: json.loads(texts[OUTPUT]),
        LOG: [json.loads(line) for line in texts[LOG].splitlines()],
    }


def apply(script: str, folder: Path) -> Case:
    """Edit the example in `folder`; all three documents are checked together."""
    known, is_array = documents(), False
    for line in filter(None, map(str.strip, script.splitlines())):
        if found := DOCUMENT.fullmatch(line):
            name, place, value, _ = found.groups()
            if place is not None:
                change(known[f"{name}.json"], place, value)
        elif found := SHOWN.fullmatch(line):
            known[f"{found[1]}.json"] = fit(known[f"{found[1]}.json"], json.loads(found[2]))
        elif found := SHOWN_RECORD.fullmatch(line):
            index = int(found[1]) - 1
            known[LOG][index] = fit(known[LOG][index], json.loads(found[2]))
        elif found := SHOWN_LOG.fullmatch(line):
            known[LOG] = fit(known[LOG], json.loads(found[1]))
        elif line == ARRAY:
            is_array = True
        elif found := RECORD.fullmatch(line):
            number, place, value, _, whole = found.groups()
            _edit_record(known[LOG], int(number) - 1, place, value, whole)
        else:
            raise ValueError(f"no such directive: {line}")
    case = written(known, folder)
    if is_array:
        case.rows.write_text(json.dumps(known[LOG]) + "\n", encoding="utf-8")
    return case


def written(known: dict[str, Any], folder: Path) -> Case:
    """Write three documents into `folder` and return the case of all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (INPUT, OUTPUT):
        (folder / name).write_text(json.dumps(known[name], indent=2) + "\n", encoding="utf-8")
    lines = "".join(json.dumps(record) + "\n" for record in known[LOG])
    (folder / LOG).write_text(lines, encoding="utf-8")
    documents = {name.partition(".")[0]: folder / name for name in (INPUT, OUTPUT, LOG)}
    return Case(folder / LOG, folder / OUTPUT, {"inputs_file": folder / INPUT}, documents=documents)


def _edit_record(
    records: list[Any], index: int, place: str | None, value: str | None, whole: str | None
) -> None:
    if whole == "repeated":
        records.insert(index, records[index])
    elif whole == "dropped":
        del records[index]
    elif place is not None:
        change(records[index], place, value)
