"""The command `completion`."""

import sys
from typing import Annotated, Final

from evalstream.cli.command import COMPLETION, PROGRAM, command
from evalstream.cli.options import ArgumentText
from evalstream.cli.terminal import guard_output

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
    """Print the script that completes commands, options, choices and rules in a shell."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    with guard_output():
        script = get_completion_script(prog_name=PROGRAM, complete_var=COMPLETION, shell=shell)
        sys.stdout.write(f"{script}\n")
        sys.stdout.flush()
