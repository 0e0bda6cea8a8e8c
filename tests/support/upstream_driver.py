"""Runs under the Python of the format's own validator: questions in, an answer per line out.

A question is a list of a word and what it is about: `file` and a path (errors and warnings of
the validate command), `exit` and paths (its exit code), `report` and paths (its report in JSON as a
text, and its exit code), `record` and a path (the digest by which the duplicate check knows it),
`address` and a model's id and developer (its directory).
"""

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from every_eval_ever.helpers.io import datastore_path_components
from every_eval_ever.validator.check_duplicate_entries import normalized_hash
from every_eval_ever.validator.validate import _local_path_context, main
from every_eval_ever.validator.validation_core import validate_file


def file(name: str) -> list[list[list[str]]]:
    """Validate a file as the command does; return its errors and its warnings."""
    path = Path(name)
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
        return [[["crash", type(error).__name__]], []]
    assert report.valid == (not report.errors)
    return [
        [[one["type"], one["msg"]] for one in some] for some in (report.errors, report.warnings)
    ]


def exit_code(*names: str) -> int:
    """Return the exit code of the command."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        return int(main(list(names)))


def report(*names: str) -> tuple[str, int] | None:
    """Return what the command writes with `--format json`, and its exit code.

    None where it ends with a traceback.
    """
    with contextlib.redirect_stdout(io.StringIO()) as written:
        try:
            code = main([*names, "--format", "json", "--max-errors", "100000"])
        except Exception:  # noqa: BLE001 - the command itself ends with a traceback here
            return None
    return written.getvalue(), int(code)


def record(name: str) -> str:
    """Return the digest of an aggregate."""
    return str(normalized_hash(json.loads(Path(name).read_bytes())))


def address(identity: str, developer: str | None) -> list[str] | None:
    """Return the folders of a model below a collection, None where it has none."""
    try:
        return list(datastore_path_components("collection", identity, developer)[1:])
    except ValueError:
        return None


ANSWERS: dict[str, Callable[..., Any]] = {
    "file": file,
    "exit": exit_code,
    "report": report,
    "record": record,
    "address": address,
}

for line in sys.stdin:
    word, *about = json.loads(line)
    print(json.dumps(ANSWERS[word](*about)))
