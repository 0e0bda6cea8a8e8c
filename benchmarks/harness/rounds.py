"""Measures the contenders of a workload, each in turn with the floor."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.contenders import FLOOR, Contender
from benchmarks.contenders.contract import Material
from benchmarks.harness.judging import WrongAnswer, judged
from benchmarks.harness.measure import Measurement, warm
from benchmarks.harness.outcomes import Failed, Numbers, Outcome, Skipped
from benchmarks.harness.proof import require_a_judge


def measure_all(
    workload: str, material: Material, contenders: Sequence[Contender], pairs: int
) -> list[Outcome]:
    """Measure the contenders one after the other, so many pairs each, and what the floor took.

    Raises WrongAnswer only for the floor.
    """
    for run in material.runs:
        warm(run.rows_path)
    sampled = judged(FLOOR, material, samples_memory=True)
    results = [result_of(one, material, pairs) for one in contenders]
    floors: list[Measurement] = []
    for result in results:
        if isinstance(result, Numbers):
            floors += result.floors
    floor = Numbers(tuple(floors), (), sampled)
    everything = zip((FLOOR, *contenders), (floor, *results), strict=True)
    runs, rows, size = len(material.runs), material.rows, material.bytes
    return [
        Outcome(workload, contender.name, runs, rows, size, result)
        for contender, result in everything
    ]


def result_of(contender: Contender, material: Material, pairs: int) -> Numbers | Skipped | Failed:
    """Put a contender to the proof and measure it, unless it is not there or answers wrongly."""
    why = contender.missing()
    if why:
        return Skipped(why)
    try:
        require_a_judge(contender, material.version)
        return numbers_of(contender, material, pairs)
    except WrongAnswer as error:
        return Failed(str(error))


def numbers_of(contender: Contender, material: Material, pairs: int) -> Numbers:
    """Run a contender once for its memory, then in turn with the floor. Raises WrongAnswer.

    The pairs of one contender follow each other without those of another in between: on
    a virtual machine, memory that lay idle for seconds goes back to the host, and a program
    that loads a whole file would pay for getting it again.
    """
    sampled = judged(contender, material, samples_memory=True)
    rounds, floors = [], []
    for _ in range(pairs):
        floors.append(judged(FLOOR, material, samples_memory=False))
        rounds.append(judged(contender, material, samples_memory=False))
    return Numbers(tuple(rounds), tuple(floors), sampled)
