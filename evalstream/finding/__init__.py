"""Finding what is to be checked: the runs among files, folders, patterns and stores."""

from evalstream.finding.finder import checked_inputs, find_runs
from evalstream.finding.patterns import expanded

__all__ = ["checked_inputs", "expanded", "find_runs"]
