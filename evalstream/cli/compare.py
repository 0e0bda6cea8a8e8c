"""The command `compare`."""

# The annotations are objects, not text, as they are read when the module is imported.

import os
import sys
from collections import Counter
from typing import Annotated, Final

from evalstream.cli.command import command
from evalstream.cli.options import WORK_LIMITS, ArgumentText, Color, ForceReport, ShowProgress
from evalstream.cli.terminal import announce_terminal, comparison_style, guard_output
from evalstream.io.names import printable
from evalstream.io.output import Output
from evalstream.io.overwriting import STDOUT, OutputKind, refuse_overwriting
from evalstream.model.option_fields import Group, OptionText
from evalstream.model.options import Options
from evalstream.model.text import on_one_line, split_codes
from evalstream.reporters import (
    COMPARISON_REPORTERS,
    REPORT_OPTIONS,
    comparison_type,
    is_comparison,
)

_OWN: Final = Group.COMPARISON


@command(
    lambda option: option in WORK_LIMITS,
    examples=(
        "evalstream compare a.json b.json",
        "evalstream compare a.json b.json --fail-if regression --format markdown",
        "evalstream compare results/ --leaderboard",
    ),
)
def compare(
    *,
    options: Options,
    inputs: Annotated[
        list[str],
        ArgumentText("RUNS", "Rows files, aggregates, folders with one run each, URLs, or -."),
    ],
    reference: Annotated[
        str | None,
        OptionText(
            "The run that others are compared with: A, B, … (default: A).",
            _OWN,
            metavar="RUN",
            former=("--baseline",),
        ),
    ] = None,
    metric: Annotated[
        str | None, OptionText("Compare this result or metric alone.", _OWN, metavar="NAME")
    ] = None,
    by: Annotated[
        str,
        OptionText(
            "What identifies a sample across runs.",
            _OWN,
            choices=("input", "sample_hash", "sample_id"),
        ),
    ] = "input",
    cluster: Annotated[
        str | None,
        OptionText(
            "The value in rows by which samples are clustered, such as /metadata/passage.",
            _OWN,
            metavar="POINTER",
        ),
    ] = None,
    level: Annotated[
        float, OptionText("The level of intervals and verdicts.", _OWN, metavar="SHARE")
    ] = 0.95,
    resamples: Annotated[
        int,
        OptionText(
            "How many resamples bootstraps, random signs and ranks have.", _OWN, metavar="N"
        ),
    ] = 10_000,
    min_delta: Annotated[
        float,
        OptionText(
            "The smallest difference that matters, as a share of the metric's range.",
            _OWN,
            metavar="SHARE",
        ),
    ] = 0.005,
    effect: Annotated[
        float | None,
        OptionText(
            "Give the power for a true difference of this size, on the scale of the scores.",
            _OWN,
            metavar="SCORE",
        ),
    ] = None,
    min_overlap: Annotated[
        float,
        OptionText(
            "The share of samples that both runs must have for a verdict.",
            _OWN,
            metavar="SHARE",
            former=("--overlap",),
        ),
    ] = 0.95,
    fail_if: Annotated[
        tuple[str, ...],
        OptionText(
            "Exit with 1 if there is a regression, drift or too small an overlap.",
            _OWN,
            metavar="regression,drift,overlap",
            former=("--fail-on",),
        ),
    ] = (),
    no_verify: Annotated[
        bool,
        OptionText("Compare runs that do not pass their check, too; the report says so.", _OWN),
    ] = False,
    allow_different: Annotated[
        tuple[str, ...],
        OptionText(
            "Compare scores although these settings of their metric differ; the report says so.",
            _OWN,
            metavar="SETTINGS",
        ),
    ] = (),
    same_result: Annotated[
        tuple[str, ...],
        OptionText(
            "The result (or result / metric) named A in some runs is B in others; repeatable.",
            _OWN,
            metavar="A=B",
        ),
    ] = (),
    pairs: Annotated[
        str,
        OptionText(
            "Compare each run with the reference, or each two.",
            _OWN,
            choices=("reference", "all"),
            former_choices={"baseline": "reference"},
        ),
    ] = "reference",
    leaderboard: Annotated[
        bool,
        OptionText(
            "Rank all runs in the inputs; ranks that the data do not separate share a group.", _OWN
        ),
    ] = False,
    matrix: Annotated[
        bool, OptionText("Compare the samples of all runs in the inputs, not their scores.", _OWN)
    ] = False,
    flips: Annotated[
        int,
        OptionText(
            "How many samples are shown that two runs judge differently; 0 for all.",
            _OWN,
            metavar="N",
        ),
    ] = 20,
    form: Annotated[
        str,
        OptionText(
            "Report format.",
            Group.REPORT,
            flags=("--format", "-f"),
            choices=tuple(COMPARISON_REPORTERS),
        ),
    ] = "text",
    output: Annotated[str | None, REPORT_OPTIONS["output"].text] = None,
    color: Color = "auto",
    force: ForceReport = False,
    progress: ShowProgress = None,
) -> None:
    """Compare runs sample by sample, after their check.

    Samples are matched by their input, whatever recipe hashed them; the first run is the reference.
    Exit codes: 0 compared, 1 a condition of --fail-if holds, 2 wrong usage, 3 not comparable,
    which comes before 1: a run does not pass its check, or too few samples match.
    """
    # The threads of numpy's linear algebra, which comparisons do not use, wait busily.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from evalstream.api.compare import compare as run_comparison

    announce_terminal("rows", *inputs)
    written = [STDOUT if output is None else output]
    refuse_overwriting(written, inputs)
    kind = None if force else OutputKind("a comparison of evalstream", is_comparison)
    style = comparison_style(color, output)
    with guard_output(), Output(output, kind=kind) as target:
        report = run_comparison(
            inputs,
            reference=reference,
            metric=metric,
            by=by,
            cluster=cluster,
            level=level,
            resamples=resamples,
            min_delta=min_delta,
            effect=effect,
            min_overlap=min_overlap,
            fail_if=split_codes(fail_if),
            flips=flips,
            verify=not no_verify,
            allow_different=split_codes(allow_different),
            same_result=same_result,
            pairs=pairs,
            leaderboard=leaderboard,
            matrix=matrix,
            outputs=[] if output is None else [output],
            options=options,
            reporter=comparison_type(form)(target, style),
            progress=sys.stderr.isatty() if progress is None else progress,
        )
    if output is not None:
        verdicts = Counter(one.verdict.value for one in report.comparisons)
        said = [report.first_line, *(f"{times:,} {verdict}" for verdict, times in verdicts.items())]
        said += [f"--fail-if {name} holds" for name in report.failed_on]
        line = on_one_line(f"{'; '.join(said)}; the report is in {printable(output)}")
        sys.stderr.write(f"evalstream: {line}\n")
    sys.exit(report.exit_code)
