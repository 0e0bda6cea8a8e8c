"""The command line of the benchmarks: python -m benchmarks SUITE [OPTION ...]."""

from __future__ import annotations

import sys
from importlib import import_module

SUITES = {
    "validators": "benchmarks.suites.validators",
    "streams": "benchmarks.suites.streams.suite",
    "batches": "benchmarks.suites.batches.suite",
    "changes": "benchmarks.suites.changes",
    "comparisons": "benchmarks.suites.comparisons",
    "harnesses": "benchmarks.suites.harnesses",
    "cluster": "benchmarks.suites.cluster",
    "generate": "benchmarks.generate.runs",
}


def main() -> int:
    """Run the suite that is named, or generate a run."""
    name, *arguments = sys.argv[1:] or [""]
    if name not in SUITES:
        print(f"usage: python -m benchmarks {{{','.join(SUITES)}}} [OPTION ...]", file=sys.stderr)
        return 2
    return int(import_module(SUITES[name]).main(arguments))


if __name__ == "__main__":
    sys.exit(main())
