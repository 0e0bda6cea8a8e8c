"""Runs evalstream, and adds a byte to a file for each run whose check has ended, in any process."""

from __future__ import annotations

import os
from typing import Any

from evalstream.batch import packing, scheduler
from evalstream.cli import main

VARIABLE = "EVALSTREAM_BENCHMARK_WITNESS"
"""Names the file; worker processes inherit it, and so find the same file."""

check_planned = packing.check_planned


def witnessed(*arguments: Any) -> Any:
    """Check a run and note that; the note stays when the process is killed afterwards."""
    checked = check_planned(*arguments)
    notes = os.open(os.environ[VARIABLE], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(notes, b".")
    os.close(notes)
    return checked


if __name__ in ("__main__", "__mp_main__"):
    # The second is the name of this module in workers that are not forks.
    for module in (packing, scheduler):
        module.check_planned = witnessed  # type: ignore[attr-defined]
if __name__ == "__main__":
    main()
