"""The command `export`."""

# The annotations are objects, not text, as they are read when the module is imported.

import sys
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

from evalstream.cli.command import command
from evalstream.cli.options import (
    WHOLE_CHECK,
    FilesFrom,
    ForceReport,
    Inputs,
    PairedAggregate,
    ShowProgress,
    named_inputs,
)
from evalstream.cli.output import Target, report_outcome
from evalstream.io.names import printable
from evalstream.model.option_fields import OptionText
from evalstream.model.options import Options
from evalstream.model.text import count_noun
from evalstream.reporters import VERDICT_OPTIONS, ReportOptions


@command(
    lambda option: option in WHOLE_CHECK,
    reports=True,
    without=VERDICT_OPTIONS,
    examples=("evalstream export results/ --to tables/",),
)
def export(
    *,
    options: Options,
    reporting: ReportOptions,
    inputs: Inputs = None,
    to: Annotated[str, OptionText("Write the files below this new folder.", metavar="FOLDER")],
    aggregate: PairedAggregate = None,
    files_from: FilesFrom = None,
    force: ForceReport = False,
    progress: ShowProgress = None,
) -> None:
    """Check runs in full, and write the rows of each passed run to a Parquet file.

    Each row has the id of its run, the verdict, the name and SHA-256 of its file, and its line.
    Runs that do not pass are left out and counted. Exit codes are those of check; 1 also where a
    run is left out.
    """
    from evalstream.api.export import export as run_export

    missing = "no input given; for example: evalstream export results/ --to tables/"
    target = Target(reporting, force=force)
    call = partial(
        run_export,
        list(named_inputs(inputs, files_from, missing)),
        to,
        aggregate=aggregate,
        outputs=target.outputs(options.routing),
        options=target.complete(options),
        progress=sys.stderr.isatty() if progress is None else progress,
    )
    read = (*(inputs or []), aggregate, files_from)
    report_outcome(call, partial(_describe, to), options, target, read)


def _describe(to: str, found: Any) -> Iterator[str]:
    if found.files:
        rows, runs = count_noun(found.rows, "row"), count_noun(found.files, "run")
        yield f"wrote {rows} of {runs} to {printable(to)}"
    else:
        yield f"{printable(to)} was not written"
    if found.left_out:
        runs = count_noun(found.left_out, "run")
        yield f"left out {runs}: only those of Every Eval Ever that pass are written"
