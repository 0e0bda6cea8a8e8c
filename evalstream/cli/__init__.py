"""The command line: read options, call the Python API, print, exit."""

from evalstream.model.signals import pause_interruptions

with pause_interruptions():
    from evalstream.cli.program import main

__all__ = ["main"]
