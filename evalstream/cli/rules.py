"""The commands that list what is known: `rules`, `formats`, `schema` and `ledger`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Annotated, Any

import typer

from evalstream.batch.ledger.entries import DAMAGED, entries
from evalstream.batch.ledger.export import FORMS, export, wrote
from evalstream.cli.app import command_group, guarded
from evalstream.cli.options import codes_of
from evalstream.cli.replaceable import refuse_foreign
from evalstream.formats.registry import CATALOGUE, NAMES
from evalstream.io.output import Output
from evalstream.io.overwriting import STDOUT, journaled, refuse_overwriting
from evalstream.model.errors import UsageError
from evalstream.model.report import VERDICTS
from evalstream.parsing.schema_files import report_schemas, schema_documents, schema_text

commands = command_group()


@commands.command()
def rules(
    code: Annotated[str | None, typer.Argument(help="A code, or the beginning of some.")] = None,
) -> None:
    """List the rules, or explain one."""
    matching = CATALOGUE.find(code) if code else list(CATALOGUE.values())
    if not matching:
        raise UsageError(f"no rule has the code or the name {code!r}; see: evalstream rules")
    with guarded():
        for rule in matching:
            line = f"{rule.code}  {rule.severity.label:8}{rule.name:30}{rule.summary}"
            typer.echo(rule.explained() if code and len(matching) == 1 else line)


@commands.command()
def formats() -> None:
    """List the systems whose files are known, with their versions and documents."""
    with guarded():
        for name in NAMES:
            module: Any = import_module(
                f"evalstream.formats.{name}.{'row_view' if name == 'eee' else 'documents'}"
            )
            typer.echo(f"{name:12}{module.TITLE}")
            for version, documents in _versions(name):
                typer.echo(f"  {version:12}{', '.join(documents)}")


schemas = typer.Typer(help="Show the schemas that files are held against.", no_args_is_help=True)
commands.add_typer(schemas, name="schema")


@schemas.command("list")
def list_schemas() -> None:
    """List the schemas by name, as show takes them."""
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


@commands.command()
def ledger(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The ledger of earlier checks.")],
    verdict: Annotated[
        str | None,
        typer.Option(help=f"Only runs with this verdict: {', '.join((*VERDICTS, DAMAGED))}."),
    ] = None,
    code: Annotated[
        list[str] | None,
        typer.Option(metavar="CODES", help="Only runs with such findings, by code or prefix."),
    ] = None,
    under: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Only runs in or below this folder.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help=f"How they are written: {', '.join(FORMS)}.")
    ] = "text",
    output: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write them here, whole or not at all.")
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Write over a file that evalstream did not write."),
    ] = False,
) -> None:
    """List the runs that a ledger remembers, filtered or all, or export them as a table."""
    refuse_overwriting([STDOUT if output is None else output], journaled(file))
    if output is not None and not force:
        refuse_foreign(output, wrote, "an export of a ledger")
    with guarded(), Output(output) as target:
        export(entries(file, verdict, codes_of(code), under), form, target)


def _versions(system: str) -> Iterator[tuple[str, list[str]]]:
    """Iterate over the versions of a system with their documents."""
    versions: dict[str, list[str]] = {}
    for name in schema_documents():
        of, version, document = name.split("/")
        if of == system:
            versions.setdefault(version, []).append(document)
    return iter(versions.items())
