"""The commands `schema list` and `schema show`."""

import sys
from typing import Annotated

from evalstream.cli.command import ArgumentText, command
from evalstream.cli.program import guarded
from evalstream.model.errors import UsageError
from evalstream.model.suggestions import unknown
from evalstream.parsing.schema_files import report_schemas, schema_documents, schema_text


def schema_names() -> tuple[str, ...]:
    """Return the names of all schemas: those of files that are checked, then those of output."""
    return (*schema_documents(), *report_schemas())


@command(examples=("evalstream schema list",))
def schema_list() -> None:
    """List the JSON Schemas that files are checked against, and those of reports."""
    _write("".join(f"{name}\n" for name in schema_names()))


@command(examples=("evalstream schema show eee/0.2.0/instance", "evalstream schema show report"))
def schema_show(
    *,
    schema_name: Annotated[
        str, ArgumentText("SCHEMA", "The name of a schema, such as eee/0.2.0/instance or report.")
    ],
) -> None:
    """Print a schema."""
    if schema_name not in schema_names():
        raise UsageError(unknown("schema", schema_name, schema_names()))
    _write(schema_text(schema_name))


def _write(text: str) -> None:
    with guarded():
        sys.stdout.write(text)
        sys.stdout.flush()
