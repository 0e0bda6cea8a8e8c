"""Runs under the Python of the format's own validator: paths in, a verdict per line out."""

import json
import sys
from pathlib import Path

from every_eval_ever.validator.validate import _local_path_context
from every_eval_ever.validator.validation_core import validate_file


def verdict(path: Path) -> list[object]:
    """Validate a file as the command does."""
    repo_path, files = _local_path_context(path)
    try:
        report = validate_file(
            path,
            repo_path=repo_path,
            available_files=files,
            read_repo_file=files.read_text,
            run_semantic_checks=True,
        )
    except Exception as error:  # noqa: BLE001 - the command itself ends with a traceback here
        return [False, [["crash", type(error).__name__]]]
    return [report.valid, [[one["type"], one["msg"]] for one in report.errors]]


for line in sys.stdin:
    print(json.dumps(verdict(Path(json.loads(line)))))
