"""Fuzz the row layer for some minutes, or check one case again."""

import argparse
import os
import sys
import time
from pathlib import Path

from fuzz.blocks import MOST_ROWS
from fuzz.campaign import described, kind_of, run
from fuzz.cases import case_of, from_json
from fuzz.oracle import differences
from fuzz.templates import use_rows


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=None, help="the first seed (default: the time)")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--most", type=int, default=MOST_ROWS, help="rows of a block, at most")
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"))
    parser.add_argument("--rows", nargs="*", type=Path, default=[], help="files of rows to change")
    parser.add_argument("--replay", default=None, help="check this file or seed again")
    given = parser.parse_args()
    if given.replay is not None:
        return replay(given.replay, given.most)
    seed = int(time.time()) * 1000 if given.seed is None else given.seed
    print(f"fuzz: first seed {seed}, {use_rows(given.rows)} rows of files", flush=True)
    outcome = run(given.minutes, seed, given.failures, given.workers, given.most)
    print(f"fuzz: {outcome.cases:,} cases of {outcome.rows:,} lines in all were compared")
    for kind, times in outcome.failures.most_common():
        print(f"fuzz: {times} times: {kind[:300]}")
    return 1 if outcome.failures else 0


def replay(which: str, most: int) -> int:
    """Check one case again, by its seed or its file."""
    is_seed = which.isdecimal()
    case = case_of(int(which), most) if is_seed else from_json(Path(which).read_text("utf-8"))
    found = differences(case)
    print("\n".join(described(case, kind_of(found))) if found else "fuzz: no difference")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
