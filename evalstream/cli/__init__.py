"""The command line: read options, call the Python API, print, exit."""

from evalstream.model.uninterrupted import uninterrupted

with uninterrupted():
    from evalstream.cli.app import main

__all__ = ["main"]
