"""What the formats make of files, for the tests of each."""

from evalstream.discovery.inputs import find_runs
from evalstream.io.beginning import read_beginning
from evalstream.model.run import Run

__all__ = ["read_beginning", "shown"]


def shown(path: str) -> list[str]:
    """Return the formats of the runs that an input stands for, each once."""
    formats = (run.format for run in find_runs([path]) if isinstance(run, Run))
    return list(dict.fromkeys(formats))
