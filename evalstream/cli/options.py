"""Command parameters: those made from the options object, and those that commands share.

An option of a check is declared once, as a field of `model/options.py`.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Final

import typer

from evalstream.api_options import CHOICES, options_from
from evalstream.model.finding import Severity
from evalstream.model.options import OPTIONS, Group, Option, OptionText
from evalstream.reporters import REPORTERS

Format = Enum("Format", {name: name for name in REPORTERS}, type=str)  # type: ignore[misc]
"""The report formats as an enum, which typer needs for choices."""

Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="INPUTS",
        help="Rows files (.jsonl, .ndjson, .jsonlines, compressed or not), aggregates (.json), "
        "folders, patterns, URLs, or - for stdin.",
    ),
]
Rows = Annotated[
    str,
    typer.Argument(metavar="ROWS", help="A rows file, compressed or not, a URL, or - for stdin."),
]
ReportFormat = Annotated[
    Format | None,
    typer.Option(
        "--format", "-f", help="Report format (default: text).", rich_help_panel=Group.REPORT.value
    ),
]
ReportFile = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the report to this file, complete or not at all; with --pass line by line.",
        rich_help_panel=Group.REPORT.value,
    ),
]
ForceReport = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace an output file that evalstream did not write.",
        rich_help_panel=Group.REPORT.value,
    ),
]
ShowProgress = Annotated[
    bool | None,
    typer.Option(
        help="Show a progress bar on stderr (default: on a terminal).",
        rich_help_panel=Group.REPORT.value,
    ),
]

FORMER: Final = "former_"
"""The prefix of the parameter for an option's former name."""


def with_options(
    wanted: Callable[[OptionText], bool],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a parameter per wanted option to a command, and pass them as one object.

    The command receives the object as `options`. Its `schema` is still the name of a file.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        chosen = [one for one in OPTIONS.values() if wanted(one.text)]

        def run(**given: Any) -> None:
            values = {one.name: _value(one, given) for one in chosen}
            command(**given, options=options_from(values))

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        own = [one for one in signature(command).parameters.values() if one.name != "options"]
        added = [parameter for one in chosen for parameter in _parameters(one)]
        keywords = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in (*own, *added)]
        run.__signature__ = Signature(keywords)  # type: ignore[attr-defined]
        return run

    return decorate


def _parameters(option: Option) -> Iterator[Parameter]:
    """Iterate over the parameters of an option: its own, and a hidden one for former names."""
    text, kind, default = option.text, _type(option), _default(option)
    flags = text.flags or (f"--{option.name.replace('_', '-')}",)
    described = typer.Option(
        *flags,
        metavar=text.metavar,
        help=text.help.format(choices=", ".join(CHOICES.get(option.name, ()))),
        rich_help_panel=text.group.value,
    )
    yield Parameter(
        option.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, described]
    )
    if text.former:
        hidden = typer.Option(*text.former, hidden=True)
        yield Parameter(
            FORMER + option.name,
            Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[kind | None, hidden],
        )


def _type(option: Option) -> Any:
    """Return the type with which typer reads an option."""
    if option.text.choices:
        names = {name: name for name in option.text.choices}
        choice = Enum(option.name, names, type=str)  # type: ignore[misc]
        return choice if option.default is not None else choice | None
    return list[str] | None if option.type == tuple[str, ...] else option.type


def _default(option: Option) -> Any:
    """Return the default as the command line writes it."""
    if isinstance(option.default, Severity):
        return option.default.label
    if option.text.negates:
        return not option.default
    return None if option.default == () else option.default


def _value(option: Option, given: dict[str, Any]) -> Any:
    """Return the value of an option from the parameters that typer read."""
    value, former = given.pop(option.name), given.pop(FORMER + option.name, None)
    value = value if former is None else former
    if isinstance(value, Enum):
        value = value.value
    if option.type is Severity:
        return Severity[value.upper()]
    if option.name in ("select", "ignore"):
        return codes_of(value)
    if option.type == tuple[str, ...]:
        return tuple(value or ())
    return not value if option.text.negates else value


def codes_of(given: list[str] | None) -> tuple[str, ...]:
    """Return the codes, separated by commas."""
    return tuple(code.strip() for text in given or () for code in text.split(",") if code.strip())
