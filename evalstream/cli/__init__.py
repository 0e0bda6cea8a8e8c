"""The command line: read options, call the Python API, print, exit."""

from evalstream.model.uninterrupted import uninterrupted

with uninterrupted():
    from evalstream.cli.program import main

__all__ = ["main"]
