"""Proves before anything is timed that each contender refuses a row that it should refuse."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from benchmarks.contenders import Contender
from benchmarks.contenders.contract import Material
from benchmarks.generate.faults import drop_model_id
from benchmarks.generate.runs import generate_small
from benchmarks.harness.measure import Measurement
from benchmarks.harness.rounds import ROWS_LEFT_OUT, Task, WrongAnswer, answer

ROWS = 20

Trial = Callable[[Path, str, bool], Material]
"""Makes a small sound input of a version in a folder, or one that must be refused."""


def rows_trial(folder: Path, version: str, is_faulty: bool) -> Material:
    """Make a run; in the faulty one the last row lacks a required property."""
    run = generate_small(folder, number=0, rows=ROWS, version=version, seed=1)
    if is_faulty:
        drop_model_id(run.rows_path, run.aggregate_path)
        run = replace(run, findings=None)
    return Material(folder, (run,), version, is_faulty)


def task_of(contender: Contender, material: Material, floor: Task | None = None) -> Task:
    """Return the task of a contender: it must go through all rows."""
    command = contender.command(material)

    def proves(taken: Measurement) -> None:
        if not contender.has_seen_all(material, taken):
            raise WrongAnswer(ROWS_LEFT_OUT)

    return Task(
        contender.name,
        command.words,
        material.bytes,
        floor,
        proves,
        stdin=command.stdin,
        exit_code=contender.expected_code(material),
    )


@lru_cache
def require_proof(contender: Contender, version: str, trial: Trial = rows_trial) -> None:
    """Let a contender check a sound input and one that it must refuse.

    Raises WrongAnswer where it takes one for the other. A contender that passes is not tried
    again.
    """
    if contender.fault_code is None:
        return
    for is_faulty in (False, True):
        with tempfile.TemporaryDirectory(prefix="evalstream-proof-") as folder:
            try:
                answer(task_of(contender, trial(Path(folder), version, is_faulty)))
            except WrongAnswer as error:
                kind = "a faulty" if is_faulty else "a sound"
                raise WrongAnswer(f"tried on {kind} input: {error}") from error
