"""Runs under the Python of the format's own validator: questions in, an answer per line out.

A question is a list of a word and what it is about: `file` and a path (errors and warnings of
the validate command), `exit` and paths (its exit code), `report` and paths (its report in JSON as a
text, and its exit code), `record` and a path (the digest by which the duplicate check knows it),
`address` and a model's id and developer (its directory), `rebuild` and a store and a time
(conflicts that the nightly job reports; it reads and writes the folder as it does a host).
"""

import contextlib
import io
import json
import os
import sys
import types
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from every_eval_ever.cron.flat_rebuild import orchestrate
from every_eval_ever.helpers.io import datastore_path_components
from every_eval_ever.validator.check_duplicate_entries import normalized_hash
from every_eval_ever.validator.validate import _local_path_context, main
from every_eval_ever.validator.validation_core import validate_file
from huggingface_hub import CommitOperationDelete
from huggingface_hub.errors import EntryNotFoundError


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


class FolderApi:
    """The calls of a host's API that the nightly job makes, answered from a folder."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    def list_repo_tree(self, **_: Any) -> list[Any]:
        """List all files with their sizes."""
        return [
            types.SimpleNamespace(
                path=path.relative_to(self._root).as_posix(), size=path.stat().st_size
            )
            for path in sorted(self._root.rglob("*"))
            if path.is_file()
        ]

    def hf_hub_download(self, *, filename: str, **_: Any) -> str:
        """Return the path of a file."""
        path = self._root / filename
        if not path.is_file():
            raise EntryNotFoundError(filename)
        return str(path)

    def create_commit(self, *, operations: list[Any], **_: Any) -> None:
        """Write and delete files."""
        for one in operations:
            path = self._root / one.path_in_repo
            if isinstance(one, CommitOperationDelete):
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with one.as_file() as file:
                path.write_bytes(file.read())


def rebuild(root: str, time: str) -> list[str]:
    """Rebuild the flat view of a store; return the conflicts that are reported."""
    report = orchestrate(
        FolderApi(root), "org/name", allow_bootstrap=True, now=datetime.fromisoformat(time)
    )
    return list(report.conflicts)


ANSWERS: dict[str, Callable[..., Any]] = {
    "file": file,
    "exit": exit_code,
    "report": report,
    "record": record,
    "address": address,
    "rebuild": rebuild,
}

for line in sys.stdin:
    word, *about = json.loads(line)
    print(json.dumps(ANSWERS[word](*about)))
