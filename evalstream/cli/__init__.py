"""The command line: read options, call the check, print, exit."""

from evalstream.model.uninterrupted import uninterrupted

with uninterrupted():
    from evalstream.cli.app import app, main

__all__ = ["app", "main"]
