"""The command `completion`."""

from typing import Annotated, Final

from evalstream.cli.command import COMPLETION, PROGRAM, command
from evalstream.cli.options import ArgumentText
from evalstream.cli.terminal import write_text

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

    script = get_completion_script(prog_name=PROGRAM, complete_var=COMPLETION, shell=shell)
    write_text(f"{script}\n")
