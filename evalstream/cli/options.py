"""The arguments and options that commands share, beside those of the options object."""

from collections.abc import Iterable
from itertools import chain
from typing import Annotated

from evalstream.cli.command import ArgumentText
from evalstream.model.options import OPTIONS, Group, OptionText
from evalstream.reporters.options import REPORT_OPTIONS
from evalstream.settings.options import CHECKS_LESS

Inputs = Annotated[
    list[str] | None,
    ArgumentText(
        "INPUTS",
        "Rows files (.jsonl, .ndjson, .jsonlines, compressed or not), aggregates (.json), "
        "folders, patterns, URLs, or - for stdin.",
    ),
]
FilesFrom = Annotated[
    str | None,
    OptionText(
        "A file, or - for stdin, that lists inputs, separated by newlines or NUL bytes.",
        Group.INPUT,
        "LIST",
    ),
]
PairedAggregate = Annotated[
    str | None, OptionText("The aggregate of the one rows file named.", Group.INPUT, "FILE")
]
Rows = Annotated[
    str, ArgumentText("ROWS", "A rows file, compressed or not, a URL, or - for stdin.")
]
ForceReport = Annotated[
    bool, OptionText("Replace an output file that evalstream did not write.", Group.REPORT)
]
ShowProgress = Annotated[
    bool | None, OptionText("Show a progress bar on stderr (default: on a terminal).", Group.REPORT)
]
Color = Annotated[str, REPORT_OPTIONS["color"].text]


WORK_LIMITS = [
    OPTIONS[name].text
    for name in ("jobs", "exclude", "max_line_bytes", "memory_limit", "show_values")
]
"""The options of a check that other commands which check runs take, too."""

WHOLE_CHECK = [one.text for name, one in OPTIONS.items() if name not in CHECKS_LESS]
"""The options of a check that leave nothing out."""


def named_inputs(inputs: list[str], files_from: str | None) -> Iterable[str]:
    """Return the inputs that are named on the command line or in a list."""
    if files_from is None:
        return inputs
    from evalstream.discovery.input_list import inputs_from

    return chain(inputs, inputs_from(files_from, missing_ok=False))
