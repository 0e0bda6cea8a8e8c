"""Find the runs to check among files, folders, patterns and stores."""

from evalstream.discovery.finder import checked_inputs, find_runs
from evalstream.discovery.patterns import is_many

__all__ = ["checked_inputs", "find_runs", "is_many"]
