"""The command `formats`."""

import sys

from evalstream.cli.command import command
from evalstream.cli.terminal import guard_output
from evalstream.formats.registry import FORMATS


@command(examples=("evalstream formats",))
def formats() -> None:
    """List the known formats with their versions and documents."""
    with guard_output():
        for name, one in FORMATS.items():
            sys.stdout.write(f"{name:12}{one.title}\n")
            for version, documents in one.versions.items():
                sys.stdout.write(f"  {version:12}{', '.join(documents)}\n")
        sys.stdout.flush()
