"""The commands `schema list`, `schema show` and `schema types`."""

from typing import Annotated

from evalstream.cli.command import command
from evalstream.cli.options import ArgumentText
from evalstream.cli.terminal import write_text
from evalstream.model.errors import UsageError
from evalstream.model.option_fields import Group, OptionText
from evalstream.model.text import describe_unknown
from evalstream.parsing.schema_files import report_schemas, schema_documents, schema_text
from evalstream.parsing.type_definitions import LANGUAGES, PYTHON, type_definitions, type_names


def schema_names() -> tuple[str, ...]:
    """Return the names of all schemas: those of files that are checked, then those of output."""
    return (*schema_documents(), *report_schemas())


@command(examples=("evalstream schema list",))
def schema_list() -> None:
    """List the JSON Schemas that files are checked against, and those of reports."""
    write_text("".join(f"{name}\n" for name in schema_names()))


@command(examples=("evalstream schema show eee/0.2.0/instance", "evalstream schema show report"))
def schema_show(
    *,
    schema_name: Annotated[
        str, ArgumentText("SCHEMA", "The name of a schema, such as eee/0.2.0/instance or report.")
    ],
) -> None:
    """Print a schema."""
    if schema_name not in schema_names():
        raise UsageError(describe_unknown("schema", schema_name, schema_names()))
    write_text(schema_text(schema_name))


@command(
    examples=(
        "evalstream schema types evalguard/v1 --language typescript",
        "evalstream schema types eee/0.3.0/instance",
    )
)
def schema_types(
    *,
    schema_name: Annotated[
        str,
        ArgumentText(
            "SCHEMA", "A version of a format, such as evalguard/v1, or the name of a schema."
        ),
    ],
    language: Annotated[
        str, OptionText("The language of the types.", Group.REPORT, choices=LANGUAGES)
    ] = PYTHON,
) -> None:
    """Print data classes of Python, or interfaces of TypeScript, from schemas.

    Python needs the extra `types`, which installs datamodel-code-generator; TypeScript needs the
    program json2ts of json-schema-to-typescript.
    """
    if schema_name not in type_names():
        raise UsageError(describe_unknown("schema", schema_name, type_names()))
    write_text(type_definitions(schema_name, language))
