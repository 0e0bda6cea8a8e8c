"""A campaign: cases of many seeds on all cores, until the time is over."""

import multiprocessing
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from fuzz.blocks import MOST_ROWS
from fuzz.cases import Case, as_json, case_of
from fuzz.oracle import Difference, differences
from fuzz.shrink import shrunk

SEED_STEP = 1_000_000_007
"""Between the first seeds of two workers."""

SHOWN = 4
"""How many values of a difference are shown."""


class Outcome(NamedTuple):
    """What came of a worker's cases; `failures` counts them by what they have in common."""

    cases: int
    rows: int
    failures: Counter[str]


def run(minutes: float, seed: int, folder: Path, workers: int, most: int = MOST_ROWS) -> Outcome:
    """Compare cases for some minutes; write the first of each kind of failures into a folder."""
    end = time.monotonic() + 60 * minutes
    tasks = [(seed + place * SEED_STEP, end, folder, most) for place in range(workers)]
    if workers == 1:
        return _compare_until(*tasks[0])
    with multiprocessing.Pool(workers) as pool:
        outcomes = pool.starmap(_compare_until, tasks, chunksize=1)
    return Outcome(
        sum(outcome.cases for outcome in outcomes),
        sum(outcome.rows for outcome in outcomes),
        sum((outcome.failures for outcome in outcomes), Counter()),
    )


def _compare_until(seed: int, end: float, folder: Path, most: int) -> Outcome:
    """Compare the cases of a seed and of those that follow, up to a time of the clock."""
    return compare(takewhile(lambda _: time.monotonic() < end, count(seed)), folder, most)


def compare(seeds: Iterable[int], folder: Path, most: int = MOST_ROWS) -> Outcome:
    """Compare the cases of some seeds; write the first of each kind of failures into a folder."""
    failures: Counter[str] = Counter()
    cases = rows = 0
    for seed in seeds:
        case = case_of(seed, most)
        found = differences(case)
        cases, rows = cases + 1, rows + len(case.lines)
        if found:
            kind = kind_of(found)
            failures[kind] += 1
            if failures[kind] == 1:
                report(case, kind, folder)
    return Outcome(cases, rows, failures)


def kind_of(found: list[Difference]) -> str:
    """Return what failures of one cause have in common: what differs, and the codes."""
    parts = []
    for difference in found:
        sides = (_codes(difference.fast), _codes(difference.exact))
        parts.append(f"{difference.what}: {sides[0]} / {sides[1]}")
    return "; ".join(dict.fromkeys(parts))


def _codes(side: Any) -> str:
    if isinstance(side, str) and side.startswith("Traceback"):
        return side.strip().rpartition("\n")[2][:80]
    codes = re.findall(r"\bES[0-9]{3}\b", repr(side)[:100_000])
    return " ".join(sorted({*codes}))


def report(case: Case, kind: str, folder: Path) -> Path:
    """Shrink a case, write it with both sides of its differences, and say where it is."""
    what = {difference.what for difference in differences(case)}
    small = shrunk(
        case, lambda other: bool(what & {difference.what for difference in differences(other)})
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{case.seed}.json"
    path.write_text(as_json(small), encoding="utf-8")
    text = "\n".join(described(small, kind))
    path.with_suffix(".md").write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
    print(text.encode(errors="backslashreplace").decode(), flush=True)
    return path


def described(case: Case, kind: str) -> Iterator[str]:
    """Describe a case that fails: its seed, its options, its lines, and what differs."""
    yield f"# Seed {case.seed}: {kind}"
    yield f"settings: {case.settings}"
    yield f"aggregate: {case.aggregate}"
    yield f"cuts {case.cuts}, rooms {case.rooms}"
    yield f"array {case.is_array}, run {case.is_run}"
    yield f"{len(case.lines)} lines, the first of which are:"
    yield from (f"    {line[:3000]!r}" for line in case.lines[:SHOWN])
    if case.head != case.data:
        yield f"head: {case.head[:600]!r}"
    for difference in differences(case):
        yield f"{difference.what}:"
        yield f"    fast:  {_cut(difference.fast)}"
        yield f"    exact: {_cut(difference.exact)}"


def _cut(side: Any) -> str:
    if isinstance(side, str):
        return side
    return repr(side[:SHOWN] if isinstance(side, list) else side)[:3000]
