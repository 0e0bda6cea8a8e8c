"""Help that lists options under headings, in plain text."""

from typing import Any, Final

from typer.core import TyperCommand

from evalstream.model.options import Group

ARGUMENTS: Final = "Arguments"
OPTIONS: Final = "Options"
"""The heading of options that have no other."""

HEADINGS: Final = (ARGUMENTS, *(group.value for group in Group), OPTIONS)


class GroupedCommand(TyperCommand):
    """A command whose help lists each option under the heading of its group.

    Without rich typer lists all options together, though it knows their panels.
    """

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options, heading by heading."""
        listed: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                listed[_heading(parameter)].append(record)
        for heading, records in listed.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def _heading(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return ARGUMENTS
    heading: str = getattr(parameter, "rich_help_panel", None) or OPTIONS
    return heading
