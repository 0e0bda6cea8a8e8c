"""Pipes a file through the filter, as fast as it goes."""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

from benchmarks.contenders.evalstream import CHECK, REPORT
from benchmarks.generate.runs import Run
from benchmarks.harness.measure import Measurement
from benchmarks.harness.rounds import Task, WrongAnswer
from benchmarks.harness.tables import Section, speed_columns
from benchmarks.suites.streams.runs import Scale, mixed, sees_all


def throughput(folder: Path, scale: Scale) -> Section:
    """Pipe a file through a check that passes no rows, all rows or sound rows, or copies them."""
    columns = speed_columns("through the filter", floor="cat and openssl")
    section = Section("Throughput of the filter", columns)
    run = mixed(folder.parent / "run", scale.size, scale.seed)
    check = shlex.join([*CHECK, "-", "--aggregate", str(run.aggregate_path), *REPORT])
    floor = Task("openssl", piped(run, "openssl dgst -sha256"), run.bytes)
    plain = Task("check -", piped(run, check), run.bytes, floor, sees_all(run))
    section.measure(plain, scale.rounds)
    for passing in ("--pass all", "--pass valid"):
        silent = piped(run, f"{check} {passing} > {os.devnull}")
        compared = piped(run, f"{check} {passing}", f"cmp - {shlex.quote(str(run.rows_path))}")
        task = replace(plain, name=passing, command=silent, proof=compared)
        section.measure(task, scale.rounds)
    copy = folder / "copy.jsonl"

    def proves(taken: Measurement) -> None:
        sees_all(run)(taken)
        require_copy(run, copy)

    tee = piped(run, f"{check} --tee {shlex.quote(str(copy))}")
    section.measure(replace(plain, name="--tee", command=tee, proves=proves), scale.rounds)
    return section


def piped(run: Run, *programs: str) -> list[str]:
    """Spell a pipe that begins with a run's rows and ends with the exit code of what failed."""
    source = f"set -o pipefail; cat {shlex.quote(str(run.rows_path))}"
    return ["bash", "-c", " | ".join([source, *programs])]


def require_copy(run: Run, path: Path) -> None:
    """Delete a file that holds all bytes of a run. Raises WrongAnswer where it does not."""
    if subprocess.run(["cmp", "--", str(run.rows_path), str(path)], check=False).returncode:
        raise WrongAnswer(f"{path} does not hold the rows that went in")
    path.unlink()
