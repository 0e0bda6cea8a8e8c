"""Measures checks of the logs of harnesses: lm-evaluation-harness, Inspect, HELM, SWE-bench."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from json import JSONDecodeError
from pathlib import Path
from statistics import median

from benchmarks.contenders.evalstream import CHECK, REPORT
from benchmarks.generate.helm_runs import write_helm_run
from benchmarks.generate.inspect_logs import write_inspect_log, zstandard
from benchmarks.generate.lm_eval_logs import write_lm_eval_log
from benchmarks.generate.swe_bench_runs import MODEL, RUN, write_swe_bench_run
from benchmarks.harness.budgets import PEAK_MEGABYTES, Budget
from benchmarks.harness.measure import Measurement, warm
from benchmarks.harness.results import exit_code, parser_of, run_sections
from benchmarks.harness.rounds import MEGABYTE, ROWS_LEFT_OUT, Task, WrongAnswer, measured
from benchmarks.harness.tables import Section, speed_columns

SEED = 1
LARGE = "inspect, large"
UNZIP_DRIVER = Path(__file__).parents[1] / "contenders" / "unzip_driver.py"

LM_EVAL_SLOWEST, LM_EVAL_AIM = 3.5, 2.5
"""How many times as long as hashing the samples a check with two workers may take."""

INSPECT_SLOWEST, INSPECT_AIM = 15.0, 8.0
"""How many times as long as unpacking the log a check with two workers may take."""

HELM_SLOWEST, HELM_AIM = 6.0, 3.0
"""How many times as long as hashing its large files a check of a run of HELM may take."""

SWE_BENCH_SLOWEST, SWE_BENCH_AIM = 9.0, 3.0
"""How many times as long as hashing all files a check of a run of SWE-bench may take."""

SWE_BENCH_INSTANCES = 2294
"""How many instances the full test split has."""

INSPECT_MEGABYTES = 200
"""How much memory a check of a log of Inspect and its workers may use."""

GROWTH_MEGABYTES = 80
"""How much more memory a log may need than one of an eighth of its samples.

What grows are the ids and the reduced scores that its header lists: 0.3 kB for each sample.
"""


@dataclass(frozen=True)
class Scale:
    """How many unpacked bytes logs have, and how often each command is timed."""

    size: int
    large: int
    rounds: int
    judges: bool


FULL = Scale(300 * 10**6, 2_400 * 10**6, 5, judges=True)
QUICK = Scale(30 * 10**6, 60 * 10**6, 1, judges=False)


def lm_eval(folder: Path, scale: Scale) -> Section:
    """Check samples and results of lm-eval, with one worker and with two."""
    section = Section("Logs of lm-eval", speed_columns("log", floor="openssl"))
    log = write_lm_eval_log(folder / "log", scale.size, SEED)
    floor = _hash(log.samples)
    proves = partial(_passed, len(log.samples) + 1, log.rows)
    for jobs, name in (("1", "lm-eval, 1 worker"), ("2", "lm-eval, 2 workers")):
        command = [*CHECK, str(folder / "log"), *REPORT, "--jobs", jobs]
        task = Task(name, command, log.bytes, floor, proves)
        ratio, peak = _measure(section, task, scale)
        section.hold(Budget(f"peak memory, {task.name}", PEAK_MEGABYTES, "MB"), peak)
    budget = Budget("lm-eval, 2 workers, to openssl", LM_EVAL_SLOWEST, "times", aim=LM_EVAL_AIM)
    section.hold(budget, ratio, judges=scale.judges)
    return section


def inspect(folder: Path, scale: Scale) -> Section:
    """Check a log of Inspect, and a large one for its memory."""
    section = Section("Logs of Inspect", speed_columns("log", floor="unpacking"))
    why = missing_library()
    if why is not None:
        section.skip("inspect", f"skipped: {why}")
        return section
    ratio, peak = _measure_log(section, "inspect", folder / "log.eval", scale.size, scale)
    budget = Budget("inspect, to unpacking", INSPECT_SLOWEST, "times", aim=INSPECT_AIM)
    section.hold(budget, ratio, judges=scale.judges)
    once = Scale(scale.large, scale.large, 0, scale.judges)
    _, large = _measure_log(section, LARGE, folder / "large.eval", scale.large, once)
    growth = large - peak if large and peak else None
    name = "memory for the large log of inspect above that for the other"
    section.hold(Budget(name, GROWTH_MEGABYTES, "MB"), growth, judges=scale.judges)
    return section


def helm(folder: Path, scale: Scale) -> Section:
    """Check a run of HELM, half of it statistics of instances, half of it requests."""
    run = write_helm_run(folder / "run", scale.size, SEED)
    command = [*CHECK, str(folder / "run"), *REPORT]
    task = Task("helm", command, run.bytes, _hash(run.files), partial(_passed, 1, run.instances))
    budget = Budget("helm, to openssl", HELM_SLOWEST, "times", aim=HELM_AIM)
    return _measure_run("Runs of HELM", task, budget, scale)


def swe_bench(folder: Path, scale: Scale) -> Section:
    """Check a run of SWE-bench: its report and predictions, and three files of each instance."""
    number = max(4, min(SWE_BENCH_INSTANCES, scale.size // 10**5))
    run = write_swe_bench_run(folder / "run", number, SEED)
    named = (str(folder / "run" / name) for name in (f"{MODEL}.{RUN}.json", "preds.jsonl"))
    command = [*CHECK, *named, *REPORT]
    proves = partial(_passed, 1, number)
    task = Task("swe_bench", command, run.bytes, _hash(run.files), proves)
    budget = Budget("swe_bench, to openssl", SWE_BENCH_SLOWEST, "times", aim=SWE_BENCH_AIM)
    return _measure_run("Runs of SWE-bench", task, budget, scale)


SECTIONS = {section.__name__: section for section in (lm_eval, inspect, helm, swe_bench)}


def main(arguments: Sequence[str]) -> int:
    """Measure, print the tables, and return 1 if a budget is missed or an answer is wrong."""
    options = parser_of("harnesses", __doc__, SECTIONS).parse_args(arguments)
    scale = QUICK if options.quick else FULL
    sections = {name: partial(section, scale=scale) for name, section in SECTIONS.items()}
    return exit_code(run_sections(sections, options))


def _hash(files: Sequence[Path]) -> Task:
    """Return what hashes files, once they are read."""
    for path in files:
        warm(path)
    size = sum(path.stat().st_size for path in files)
    return Task("openssl", ["openssl", "dgst", "-sha256", *map(str, files)], size)


def _measure_run(title: str, task: Task, budget: Budget, scale: Scale) -> Section:
    """Measure the check of a run, and hold its time and its memory."""
    section = Section(title, speed_columns("run", floor="openssl"))
    ratio, peak = _measure(section, task, scale)
    section.hold(Budget(f"peak memory, {task.name}", PEAK_MEGABYTES, "MB"), peak)
    section.hold(budget, ratio, judges=scale.judges)
    return section


def missing_library() -> str | None:
    """Say what is missing to check logs of Inspect, or None."""
    try:
        zstandard()
    except ImportError as error:
        return str(error)
    return None


def _measure_log(
    section: Section, name: str, path: Path, size: int, scale: Scale
) -> tuple[float | None, float | None]:
    """Write a log of Inspect, measure its check and delete it; return ratio and peak in MB."""
    log = write_inspect_log(path, size, SEED)
    warm(path)
    floor = Task("unpacking", [sys.executable, str(UNZIP_DRIVER), str(path)], log.unpacked)
    sizes = f"{log.unpacked / MEGABYTE:,.0f} MB packed in {log.bytes / MEGABYTE:,.0f} MB"
    proves = partial(_passed, 1, log.samples)
    command = [*CHECK, str(path), *REPORT]
    task = Task(f"{name}, {sizes}", command, log.unpacked, floor, proves)
    ratio, peak = _measure(section, task, scale)
    section.hold(Budget(f"peak memory, {name}", INSPECT_MEGABYTES, "MB"), peak)
    path.unlink()
    return ratio, peak


def _measure(section: Section, task: Task, scale: Scale) -> tuple[float | None, float | None]:
    """Measure a task; return its ratio to the floor and its peak, None for what is not known."""
    try:
        numbers = measured(task, scale.rounds)
    except WrongAnswer as error:
        section.fail(task.name, error)
        return None, None
    section.take(task.name, numbers, task.size)
    ratio = median(numbers.ratios) if numbers.ratios else None
    return ratio, numbers.peak_megabytes


def _passed(runs: int, rows: int, taken: Measurement) -> None:
    """Raise WrongAnswer unless a report counts all runs and rows, all passed, without a finding."""
    try:
        summary = json.loads(taken.stdout.rstrip().rpartition("\n")[2])["summary"]
        totals, findings = summary["totals"], summary["total"]
        counted, passed = (totals["runs"], totals["rows"]), totals["passed"]
    except (JSONDecodeError, KeyError, TypeError) as error:
        raise WrongAnswer("the output ends without a summary") from error
    if counted != (runs, rows):
        raise WrongAnswer(ROWS_LEFT_OUT)
    if findings or passed != runs:
        raise WrongAnswer("a sound log did not pass without a finding")
