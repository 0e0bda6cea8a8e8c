"""Measures rows that come any other way than from a plain file: piped, packed, in arrays, afar."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.harness.section import Section
from benchmarks.harness.telling import tell
from benchmarks.suites.streams.arrays import arrays
from benchmarks.suites.streams.filtering import throughput
from benchmarks.suites.streams.latency import latency
from benchmarks.suites.streams.packed import bombs, compressed
from benchmarks.suites.streams.remote import remote
from benchmarks.suites.streams.runs import mixed
from benchmarks.suites.streams.scale import FULL, QUICK, Scale

SECTIONS = ("latency", "throughput", "compressed", "bombs", "arrays", "remote")


def sections(names: Sequence[str], scale: Scale, folder: Path) -> Iterator[Section]:
    """Measure one section after the other; those of rows in a file share one run."""
    alone = {"latency": latency, "bombs": bombs}
    sharing = {
        "throughput": throughput,
        "compressed": compressed,
        "arrays": arrays,
        "remote": remote,
    }
    run = mixed(folder / "run", scale.size, scale.seed) if sharing.keys() & set(names) else None
    for name in names:
        own = folder / name
        own.mkdir()
        if name in alone:
            yield alone[name](own, scale)
        elif run is not None:
            yield sharing[name](own, scale, run)


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.suites.streams", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="all of it, small")
    parser.add_argument("--only", choices=SECTIONS, nargs="+", default=SECTIONS)
    parser.add_argument("--folder", type=Path, help="where files are made, then deleted")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here")
    return parser.parse_args()


def main() -> int:
    """Measure, print the tables, and return 1 if a budget is missed or an answer is wrong."""
    arguments = parse_arguments()
    scale = QUICK if arguments.quick else FULL
    measured = partial(sections, arguments.only, scale)
    return tell("streams", measured, arguments.folder, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
