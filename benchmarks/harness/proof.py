"""Proves before anything is timed that each contender refuses a row that should be refused."""

from __future__ import annotations

import hashlib
import json
import tempfile
from functools import lru_cache
from pathlib import Path

from benchmarks.contenders import Contender
from benchmarks.contenders.contract import Material
from benchmarks.generate.runs import Run, generate_small
from benchmarks.harness.judging import WrongAnswer, judged

ROWS = 20


@lru_cache
def require_a_judge(contender: Contender, version: str) -> None:
    """Let a contender judge a sound run and one whose last row lacks a required property.

    Raises WrongAnswer where it takes one for the other. What held once is not tried again.
    """
    if contender.fault_code is None:
        return
    for is_faulty in (False, True):
        with tempfile.TemporaryDirectory(prefix="evalstream-proof-") as folder:
            run = generate_small(Path(folder), number=0, rows=ROWS, version=version, seed=1)
            if is_faulty:
                spoil_last_row(run)
            material = Material(Path(folder), (run,), version, is_faulty)
            try:
                judged(contender, material, samples_memory=False)
            except WrongAnswer as error:
                kind = "a faulty" if is_faulty else "a sound"
                raise WrongAnswer(f"tried on {kind} run: {error}") from error


def spoil_last_row(run: Run) -> None:
    """Take the model_id out of the last row, and seal the file as it then is."""
    *lines, last = run.rows_path.read_bytes().splitlines(keepends=True)
    row = json.loads(last)
    del row["model_id"]
    data = b"".join(lines) + json.dumps(row).encode() + b"\n"
    aggregate = json.loads(run.aggregate_path.read_bytes())
    aggregate["detailed_evaluation_results"]["checksum"] = hashlib.sha256(data).hexdigest()
    run.rows_path.write_bytes(data)
    run.aggregate_path.write_text(json.dumps(aggregate))
