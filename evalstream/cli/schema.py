"""The command `schema`, with `list` and `show`."""

import sys
from typing import Annotated

import typer

from evalstream.cli.app import command_group
from evalstream.cli.program import guarded
from evalstream.model.errors import UsageError
from evalstream.parsing.schema_files import report_schemas, schema_documents, schema_text

commands = command_group()
schemas = typer.Typer(
    help="Show the JSON Schemas that files are checked against.", no_args_is_help=True
)
commands.add_typer(schemas, name="schema")


@schemas.command("list")
def list_schemas() -> None:
    """List the names of the schemas."""
    with guarded():
        for name in (*schema_documents(), *report_schemas()):
            typer.echo(name)


@schemas.command("show")
def show_schema(
    name: Annotated[
        str, typer.Argument(help="The name of a schema, such as eee/0.2.0/instance or report.")
    ],
) -> None:
    """Print a schema."""
    known = (*schema_documents(), *report_schemas())
    if name not in known:
        raise UsageError(f"no schema {name!r}; known are: {', '.join(known)}")
    with guarded():
        sys.stdout.write(schema_text(name))
