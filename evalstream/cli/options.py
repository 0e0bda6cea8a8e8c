"""The arguments and options that commands share, beside those of the options object."""

from typing import Annotated

from evalstream.cli.command import ArgumentText
from evalstream.model.options import Group, OptionText
from evalstream.reporters.options import REPORT_OPTIONS

Inputs = Annotated[
    list[str] | None,
    ArgumentText(
        "INPUTS",
        "Rows files (.jsonl, .ndjson, .jsonlines, compressed or not), aggregates (.json), "
        "folders, patterns, URLs, or - for stdin.",
    ),
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
