"""The edit scripts of formats whose example is one JSON document: changes to it."""

import json
import re
from pathlib import Path

from paths import EXAMPLES

from edits.case import Case, change, fit

CHANGE = re.compile(r"(\w+) (?:(/\S*) (?:= (.+)|removed)|has (.+))")


def apply(script: str, folder: Path, name: str) -> Case:
    """Write the one file of `examples/NAME` into `folder`, changed.

    The document has any word, always the same: `log /pointer = JSON`, `log /pointer removed`.
    """
    (example,) = (EXAMPLES / name).iterdir()
    document, words = json.loads(example.read_text(encoding="utf-8")), set[str]()
    for line in filter(None, map(str.strip, script.splitlines())):
        found = CHANGE.fullmatch(line)
        if found is None:
            raise ValueError(f"no such directive: {line}")
        words.add(found[1])
        if found[4] is None:
            change(document, found[2], found[3])
        else:
            document = fit(document, json.loads(found[4]))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / example.name
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return Case(path, None, documents=dict.fromkeys(words, path))
