"""The command `formats`."""

from evalstream.cli.command import command
from evalstream.cli.terminal import write_text
from evalstream.formats.registry import FORMATS


@command(examples=("evalstream formats",))
def formats() -> None:
    """List the known formats with their versions and documents."""
    for name, one in FORMATS.items():
        versions = (f"  {version:12}{', '.join(texts)}" for version, texts in one.versions.items())
        write_text("\n".join([f"{name:12}{one.title}", *versions, ""]))
