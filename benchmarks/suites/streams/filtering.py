"""Lets a file through the filter in all ways, as fast as it goes."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.contenders.evalstream import CHECK
from benchmarks.generate.runs import Run
from benchmarks.harness.judging import WrongAnswer
from benchmarks.harness.measure import Measurement
from benchmarks.harness.section import Section
from benchmarks.suites.streams.runs import REPORT, sees_all
from benchmarks.suites.streams.scale import Scale
from benchmarks.suites.streams.tasks import SPEEDS, Task, tell


def throughput(folder: Path, scale: Scale, run: Run) -> Section:
    """Let a file through the filter in all ways."""
    section = Section("Through the filter; the floor is cat FILE | openssl dgst -sha256", SPEEDS)
    floor = piped(run.rows_path, ["openssl", "dgst", "-sha256"])
    check = [*CHECK, "-", "--aggregate", str(run.aggregate_path), *REPORT]
    plain = Task("check -", piped(run.rows_path, check), run.bytes, floor, sees_all(run))
    tasks = [plain]
    for passing in ("all", "valid"):
        words = [*check, "--pass", passing]
        silent = piped(run.rows_path, [*words, ">", os.devnull])
        compared = piped(run.rows_path, words, ["cmp", "-", str(run.rows_path)])
        task = replace(plain, name=f"--pass {passing}", command=silent, proof=compared)
        tasks.append(task)
    copy, refused = str(folder / "copy.jsonl"), str(folder / "refused.jsonl")
    apart = ["--accepted", copy, "--rejected", refused]
    for name, more in (("--tee", ["--tee", copy]), ("--accepted, --rejected", apart)):
        command = piped(run.rows_path, [*check, *more])
        task = replace(plain, name=name, command=command, proves=copies(run, copy))
        tasks.append(task)
    for task in tasks:
        tell(section, task, scale.rounds)
    return section


def piped(source: Path, *programs: Sequence[str]) -> list[str]:
    """Spell a pipe that begins with a file and ends with the exit code that failed in it."""
    quoted = [" ".join(_quoted(word) for word in program) for program in programs]
    return ["bash", "-c", " | ".join([f"set -o pipefail; cat {_quoted(str(source))}", *quoted])]


def _quoted(word: str) -> str:
    """Quote a word for the shell, unless it sends output somewhere."""
    return word if word == ">" else shlex.quote(word)


def copies(run: Run, path: str) -> Callable[[Measurement], None]:
    """Return what raises WrongAnswer unless a file was written anew with all bytes of a run."""
    sees = sees_all(run)

    def proves(taken: Measurement) -> None:
        sees(taken)
        if subprocess.run(["cmp", "--", str(run.rows_path), path], check=False).returncode:
            raise WrongAnswer(f"{path} does not hold the rows that went in")
        os.unlink(path)

    return proves
