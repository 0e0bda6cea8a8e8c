"""The command `fix`."""

# The annotations are objects, not text, as they are read when the module is imported.

import sys
from functools import partial
from typing import Annotated

from evalstream.cli.command import command
from evalstream.cli.options import (
    WORK_LIMITS,
    FilesFrom,
    ForceReport,
    Inputs,
    PairedAggregate,
    ShowProgress,
    named_inputs,
)
from evalstream.cli.terminal import announce_terminal
from evalstream.io.overwriting import STDOUT, refuse_overwriting
from evalstream.model.exit_codes import ExitCode
from evalstream.model.option_fields import Group, OptionText
from evalstream.model.options import Options
from evalstream.model.text import split_codes


@command(
    lambda option: option in WORK_LIMITS,
    examples=(
        "evalstream fix results/",
        "evalstream fix results/ --write",
        "evalstream fix run.jsonl --aggregate aggregate.json --select ES204 --to fixed/",
    ),
)
def fix(
    *,
    options: Options,
    inputs: Inputs = None,
    aggregate: PairedAggregate = None,
    files_from: FilesFrom = None,
    write: Annotated[bool, OptionText("Replace the files by the repaired ones.")] = False,
    to: Annotated[
        str | None, OptionText("Write the repaired files below this folder.", metavar="DIR")
    ] = None,
    select: Annotated[
        tuple[str, ...],
        OptionText("Only repairs for these rules, by code, prefix or name.", metavar="CODES"),
    ] = (),
    unsafe: Annotated[
        bool,
        OptionText(
            "Also repairs that replace what the data says: evaluation_id of rows by that of the "
            "aggregate."
        ),
    ] = False,
    diff: Annotated[
        bool | None,
        OptionText(
            "Show one example of each kind of repair (default: where nothing is written).",
            Group.REPORT,
        ),
    ] = None,
    report: Annotated[
        str | None,
        OptionText("Write what became of each run to this file in JSON.", Group.REPORT, "FILE"),
    ] = None,
    force: ForceReport = False,
    progress: ShowProgress = None,
) -> None:
    """Preview safe repairs; apply them with --write.

    fix repairs byte order marks and line ends, null in optional members, values in maps of strings,
    the spelling of digests and versions, and file_path; then it seals the rows again. The version
    and all other bytes stay. It refuses torn rows: see evalstream salvage. Exit codes: 0 nothing to
    repair, or repaired, and all runs pass; 1 there is something to repair, or a run fails for
    another reason; 2 wrong usage; 3 something could not be read.
    """
    from evalstream.api.changes import fix as run_fix
    from evalstream.batch.rewriting.change_report import FIXED, ChangeReport
    from evalstream.cli.change_output import run_changes

    announce_terminal("rows", *(inputs or []))
    written = [STDOUT] if report is None else [STDOUT, report]
    refuse_overwriting(written, [name for name in (*(inputs or []), files_from) if name])
    is_dry = not write and to is None
    shows = is_dry if diff is None else diff
    summary = ChangeReport(FIXED, is_dry=is_dry, diff=shows, show_values=options.show_values)
    missing = "no input given; evalstream fix results/ shows what would be repaired"
    call = partial(
        run_fix,
        named_inputs(inputs, files_from, missing),
        aggregate=aggregate,
        write=write,
        to=to,
        select=split_codes(select),
        unsafe=unsafe,
    )
    run_changes(call, summary, report, options, force=force, progress=progress)
    code = max(summary.exit_code, ExitCode.FAILED if summary.would_change else ExitCode.PASSED)
    sys.exit(int(code))
