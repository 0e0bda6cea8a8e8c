"""The command `thresholds`."""

# The annotations are objects, not text, as they are read when the module is imported.

import json
import sys
from typing import Annotated, Any, Final

from evalstream.cli.command import command
from evalstream.cli.options import ArgumentText, ForceReport, ShowProgress
from evalstream.cli.terminal import guard_output
from evalstream.io.output import Output
from evalstream.io.overwriting import STDOUT, UNMARKED, refuse_overwriting
from evalstream.model.option_fields import Group, OptionText
from evalstream.model.options import OPTIONS, Options

FORMATS: Final = ("json", "yaml")


@command(
    lambda option: option is OPTIONS["exclude"].text,
    examples=(
        "evalstream thresholds config/ --task sums",
        "evalstream thresholds config/ --task sums --task advice --metric accuracy --format yaml",
    ),
)
def thresholds(
    *,
    options: Options,
    inputs: Annotated[
        list[str], ArgumentText("FOLDERS", "The folders of one configuration of EvalGuard.")
    ],
    task: Annotated[
        tuple[str, ...], OptionText("The id of a task (repeatable).", Group.INPUT, metavar="ID")
    ] = (),
    metric: Annotated[
        tuple[str, ...], OptionText("Only this metric (repeatable).", Group.INPUT, metavar="ID")
    ] = (),
    policy: Annotated[
        str | None,
        OptionText("The policy, where several have thresholds of a task.", Group.INPUT, "ID"),
    ] = None,
    no_verify: Annotated[
        bool, OptionText("Answer from a folder that does not pass its check, too.", Group.INPUT)
    ] = False,
    form: Annotated[
        str, OptionText("Format of the answer.", Group.REPORT, flags=("--format",), choices=FORMATS)
    ] = "json",
    output: Annotated[
        str | None,
        OptionText(
            "Write the answer to this file, complete or not at all.",
            Group.REPORT,
            "FILE",
            flags=("--output", "-o"),
        ),
    ] = None,
    force: ForceReport = False,
    progress: ShowProgress = None,
) -> None:
    """Print the thresholds of tasks from an EvalGuard folder that passes its check.

    The answer has the shape of the response to `GET /thresholds` of EvalGuard's API. Exit codes: 0
    answered, 2 wrong usage, such as a task that the folder does not have, 3 the folder does not
    pass its check.
    """
    from evalstream.api.thresholds import find_documents
    from evalstream.api.thresholds import thresholds as asked

    refuse_overwriting([STDOUT if output is None else output], find_documents(inputs))
    kind = None if force else UNMARKED
    if output is not None and kind is not None:
        kind.refuse_foreign(output)
    answer = asked(
        inputs,
        task,
        metrics=metric,
        policy=policy,
        verify=not no_verify,
        options=options,
        progress=sys.stderr.isatty() if progress is None else progress,
    )
    with guard_output(), Output(output, kind=kind) as target:
        target.write(_text(answer, form).encode())


def _text(answer: dict[str, Any], form: str) -> str:
    """Return an answer as text."""
    if form == "json":
        return json.dumps(answer, indent=2) + "\n"
    import yaml

    text: str = yaml.safe_dump(answer, sort_keys=False, allow_unicode=True)
    return text
