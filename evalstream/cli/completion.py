"""The command `completion`."""

import sys
from importlib import import_module
from typing import Annotated, Final

from evalstream.cli.command import ArgumentText, command
from evalstream.cli.program import COMMANDS, declared, guarded

SHELLS: Final = ("bash", "zsh", "fish")


@command(
    examples=(
        'eval "$(evalstream completion bash)"',
        "evalstream completion fish > ~/.config/fish/completions/evalstream.fish",
    )
)
def completion(
    *, shell: Annotated[str, ArgumentText("SHELL", "The shell: {choices}.", SHELLS)]
) -> None:
    """Print a script that completes commands, options, choices and rules in a shell.

    The script belongs to this version of evalstream: print it anew after an update.
    """
    script = import_module(f"evalstream.cli.shells.{shell}").script([*map(declared, COMMANDS)])
    with guarded():
        sys.stdout.write(script)
        sys.stdout.flush()
