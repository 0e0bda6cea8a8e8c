"""The command `rules`."""

from typing import Annotated

import typer

from evalstream.cli.app import command_group
from evalstream.cli.program import guarded
from evalstream.formats.registry import CATALOGUE
from evalstream.model.errors import UsageError
from evalstream.model.rule_text import Status

commands = command_group()


@commands.command()
def rules(
    code: Annotated[
        str | None, typer.Argument(help="A code, the beginning of codes, or a name.")
    ] = None,
) -> None:
    """List the rules, or explain one."""
    matching = CATALOGUE.find(code) if code else list(CATALOGUE.values())
    if not matching:
        raise UsageError(f"no rule has the code or the name {code!r}; see: evalstream rules")
    with guarded():
        for rule in matching:
            line = f"{rule.code}  {rule.severity.label:8}{rule.name:30}{rule.summary}"
            if rule.status is not Status.STABLE:
                line = f"{line} ({rule.status.value})"
            typer.echo(rule.explained() if code and len(matching) == 1 else line)
