"""Checks a store again with a ledger, and continues a check that was killed."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.contenders.contract import Material
from benchmarks.contenders.evalstream import CHECK
from benchmarks.harness.budgets import Budget
from benchmarks.harness.measure import process_memory, process_tree
from benchmarks.harness.rounds import MILLISECONDS, Task, WrongAnswer, answer, require_exit
from benchmarks.harness.tables import Section
from benchmarks.suites.batches.reports import check_into, comparable, require_same, require_sound
from benchmarks.suites.batches.stores import Scale, settle, shared_runs

COLUMNS = ("check", "seconds", "runs/s", "runs checked", "runs from the ledger", "report")
AGAIN = Budget("an unchanged run with a ledger", 0.15, "ms", aim=0.1)
TWICE = Budget("checked twice after kill -9", 320, "runs")
MOST_SECONDS_A_RUN = 0.1
"""A check that takes longer than that hangs."""

PATIENCE_SECONDS = 60.0
"""How much longer than its runs take a check may take to start or to end."""


@dataclass
class LedgerChecks:
    """Checks a store in several ways; each report must say what the first one says."""

    section: Section
    folder: Path
    store: Material
    expected: bytes | None = None

    @property
    def report(self) -> Path:
        """Return where reports go."""
        return self.folder / "report.json"

    @property
    def notes(self) -> Path:
        """Return the file that grows by a byte for each run that was checked."""
        return self.folder / "notes"

    def command(self, *more: str) -> list[str]:
        """Spell a check of the store."""
        return check_into(self.report, self.store.folder, "--jobs", "2", *more)

    def witnessed(self, ledger: Path) -> list[str]:
        """Spell a check with a ledger that notes each run."""
        arguments = self.command("--ledger", str(ledger))[len(CHECK) :]
        # It loads evalstream, which help does without.
        from benchmarks.suites.batches import witness

        watched = [sys.executable, "-P", witness.__file__, "check"]
        return ["env", f"{witness.VARIABLE}={self.notes}", *watched, *arguments]

    def take(self, name: str, command: Sequence[str], answered: int, rounds: int = 1) -> float:
        """Run a check, add its line and return its runs a second.

        Raises WrongAnswer where its report differs from the first one, or the ledger did not
        answer for so many runs.
        """
        seconds = median(seconds_of(command) for _ in range(rounds))
        require_sound(self.store, self.report, answered)
        found, runs = comparable(self.report), len(self.store.runs)
        self.report.unlink()
        size = f"{len(found):,} bytes"
        if self.expected is None:
            self.expected = found
        else:
            require_same(self.expected, found)
            size = f"the same {size}"
        counts = (f"{runs / seconds:,.0f}", f"{runs - answered:,}", f"{answered:,}")
        self.section.lines.append((name, f"{seconds:.2f}", *counts, size))
        self.section.facts[name] = {"seconds": seconds, "runs": runs, "answered": answered}
        return runs / seconds


def ledgers(folder: Path, scale: Scale) -> Section:
    """Check small runs with a ledger, again, and again after a check that was killed half-way."""
    section = Section("A ledger: checked again, and continued after kill -9", COLUMNS)
    small = shared_runs(folder.parent / "batch" / "small", scale.runs, scale.seed)
    checks = LedgerChecks(section, folder, small)
    settle()
    try:
        checks.take("without a ledger", checks.command(), answered=0)
        remembering = checks.command("--ledger", str(folder / "whole.ledger"))
        checks.take("with a new ledger", remembering, answered=0)
        runs = len(small.runs)
        speed = checks.take("again, nothing changed", remembering, runs, scale.rounds)
        section.hold(AGAIN, MILLISECONDS / speed, judges=scale.judges)
        small.runs[0].rows_path.touch()
        settle()
        checks.take("again, one run changed", remembering, runs - 1)
        continue_killed(checks)
    except WrongAnswer as error:
        section.fail("with a ledger", error)
    return section


def continue_killed(checks: LedgerChecks) -> None:
    """Kill a check half-way, continue it, and hold how many runs were checked twice."""
    section, runs, ledger = checks.section, len(checks.store.runs), checks.folder / "torn.ledger"
    command = checks.witnessed(ledger)
    seconds = kill_half_way(command, checks.notes, runs)
    before, remembered = noted(checks.notes), len(listed(ledger))
    cells = (f"{seconds:.2f}", "", f"{before:,}", "", f"{remembered:,} runs in the ledger")
    section.lines.append(("killed half-way", *cells))
    checks.take("continued", command, answered=remembered)
    twice = noted(checks.notes) - runs
    section.facts["killed"] = {"before": before, "remembered": remembered, "twice": twice}
    section.hold(TWICE, twice)


def seconds_of(command: Sequence[str]) -> float:
    """Return the seconds of a check of sound runs. Raises WrongAnswer for another exit code."""
    return answer(Task("", command, 0)).seconds


def kill_half_way(command: Sequence[str], notes: Path, runs: int) -> float:
    """Kill a check when half of its runs were noted; return how many seconds it had run.

    Its workers have ended, too, when this returns. Raises WrongAnswer where the check ends
    before or takes too long.
    """
    begin = time.perf_counter()
    most = PATIENCE_SECONDS + runs * MOST_SECONDS_A_RUN
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while noted(notes) < runs // 2:
            if process.poll() is not None:
                raise WrongAnswer(f"it ended with {process.returncode} before it was killed")
            if time.perf_counter() - begin > most:
                raise WrongAnswer(f"it took more than {most:.0f} s for half of its runs")
            time.sleep(0.001)
        processes = list(process_tree(process.pid))
    finally:
        process.kill()
        process.wait()
    seconds = time.perf_counter() - begin
    while any(process_memory(one) for one in processes):
        if time.perf_counter() - begin - seconds > PATIENCE_SECONDS:
            raise WrongAnswer("its workers outlive it")
        time.sleep(0.01)
    return seconds


def noted(notes: Path) -> int:
    """Return how many runs were noted so far."""
    return notes.stat().st_size if notes.exists() else 0


def listed(ledger: Path) -> list[str]:
    """Return the lines that the command line lists of a ledger, one for each run."""
    command = [*CHECK[:-1], "ledger", str(ledger), "--format", "jsonl"]
    taken = subprocess.run(command, check=False, capture_output=True, text=True)
    require_exit(0, taken.returncode, taken.stderr)
    return taken.stdout.splitlines()
