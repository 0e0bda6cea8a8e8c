"""The command `salvage`."""

import sys
from typing import Annotated

from evalstream.cli.command import command
from evalstream.cli.options import ForceReport, Rows
from evalstream.cli.terminal import announce_terminal, guard_output
from evalstream.engine.salvage import REST, salvage_lines
from evalstream.engine.salvage import salvage as salvage_rows
from evalstream.io.overwriting import STDOUT, refuse_overwriting
from evalstream.model.data_class import replace
from evalstream.model.option_fields import OptionText
from evalstream.model.options import OPTIONS, Options
from evalstream.model.text import on_one_line
from evalstream.reporters.lines import show_path


@command(
    lambda option: option is OPTIONS["max_line_bytes"].text,
    examples=("evalstream salvage torn.jsonl --to whole.jsonl",),
)
def salvage(
    *,
    options: Options,
    rows: Rows,
    to: Annotated[str, OptionText("Write the whole rows to this file.", metavar="FILE")],
    rest: Annotated[
        str | None,
        OptionText(
            "Write all other bytes to this file, with their offsets "
            f"(default: the name of --to and {REST}).",
            metavar="FILE",
        ),
    ] = None,
    force: ForceReport = False,
) -> None:
    """Copy the intact rows of a damaged file, byte for byte, and the rest to a second file.

    The input is never changed. Exit codes: 0 nothing was lost, 1 something was lost, 3 the file
    could not be read to its end.
    """
    announce_terminal("rows", rows)
    refuse_overwriting([STDOUT], [rows])
    with guard_output():
        sys.stdout.write("")  # a closed stdout raises before anything is written
        saved = salvage_rows(rows, to, rest, overwrite=force, max_line_bytes=options.max_line_bytes)
        named = replace(saved, file=show_path(saved.file))
        for line in salvage_lines(named, to, rest or to + REST):
            sys.stdout.write(f"{on_one_line(line)}\n")
        sys.stdout.flush()
    sys.exit(saved.exit_code)
