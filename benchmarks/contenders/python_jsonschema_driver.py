"""Checks the rows of JSONL files with jsonschema: python DRIVER SCHEMA ROWS..."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from jsonschema import Draft7Validator


def main() -> int:
    """Count the rows and those that do not fit, and return 1 if there are any."""
    schema, *paths = sys.argv[1:]
    validator = Draft7Validator(json.loads(Path(schema).read_bytes()))
    rows = refused = 0
    for path in paths:
        with Path(path).open("rb") as file:
            for line in file:
                rows += 1
                refused += not validator.is_valid(json.loads(line))
    print(json.dumps({"rows": rows, "refused": refused}))
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
