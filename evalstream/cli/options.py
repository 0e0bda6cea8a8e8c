"""Arguments and options that commands share, and where those about settings files hold."""

import sys
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Annotated, Any, Final

from evalstream.cli.terminal import write_text
from evalstream.io.names import printable
from evalstream.model.data_class import NamedTuple
from evalstream.model.errors import UsageError
from evalstream.model.exit_codes import ExitCode
from evalstream.model.option_fields import Group, Option, OptionText
from evalstream.model.options import OPTIONS
from evalstream.reporters import REPORT_OPTIONS
from evalstream.settings.options import CHECKS_LESS
from evalstream.settings.resolve import (
    NO_SETTINGS,
    Chosen,
    may_have_settings,
    resolve_settings,
    settings_key,
    settings_lines,
)


class ArgumentText(NamedTuple):
    """The help of an argument; `choices` are the allowed values, if it has some."""

    metavar: str
    help: str
    choices: tuple[str, ...] = ()


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
    bool | None,
    OptionText(
        "Show a progress bar on stderr (default: on a terminal, and with check --follow).",
        Group.REPORT,
    ),
]
Color = Annotated[str, REPORT_OPTIONS["color"].text]


WORK_LIMITS = [
    OPTIONS[name].text
    for name in ("jobs", "exclude", "max_line_bytes", "memory_limit", "show_values")
]
"""The options of a check that other commands which check runs take, too."""

WHOLE_CHECK = [one.text for name, one in OPTIONS.items() if name not in CHECKS_LESS]
"""The options of a check that leave nothing out."""


def named_inputs(inputs: list[str] | None, files_from: str | None, missing: str) -> Iterable[str]:
    """Return the inputs of the command line or a list. Raises UsageError for what is `missing`."""
    if files_from is None:
        if not inputs:
            raise UsageError(missing)
        return inputs
    from evalstream.discovery.input_list import inputs_from

    return chain(inputs or [], inputs_from(files_from, missing_ok=False))


CONFIG: Final = Option(
    "config",
    str | None,
    None,
    OptionText(
        "Read settings from this file (default: the nearest evalstream.toml or pyproject.toml).",
        Group.SETTINGS,
        "FILE",
    ),
)
ISOLATED: Final = Option(
    "isolated",
    bool,
    False,
    OptionText("Search no settings file, and read one only with --config.", Group.SETTINGS),
)
SHOW_SETTINGS: Final = Option(
    "show_settings",
    bool,
    False,
    OptionText("Show the settings and where each comes from, and check nothing.", Group.SETTINGS),
)
SETTINGS_OPTIONS: Final = (CONFIG, ISOLATED, SHOW_SETTINGS)
"""The options of all commands that read settings."""


def resolved_values(
    options: Iterable[Option], line: Mapping[str, Any], *, reads_settings: bool
) -> dict[str, Any]:
    """Return the value of each option by name, from the command line, a file or its default.

    Shows the settings and ends the program if the command line asks for that. Raises UsageError
    for settings that are not valid.
    """
    options = list(options)
    settings = NO_SETTINGS
    file, isolated = line.get(CONFIG.name), line.get(ISOLATED.name, False)
    if reads_settings and may_have_settings(file, isolated=isolated):
        # Most calls have no settings file.
        from evalstream.settings.load import find_settings

        settings = find_settings(file, isolated=isolated)
    chosen = resolve_settings(options, line, settings)
    if line.get(SHOW_SETTINGS.name):
        _show(options, chosen, settings.file)
    # A found file may set `quiet`, but not hide itself by that.
    if settings.file is not None and not line.get("quiet"):
        _announce(settings.file, options, chosen)
    return {name: one.value for name, one in chosen.items()}


def _announce(file: str, options: Iterable[Option], chosen: Mapping[str, Chosen]) -> None:
    """Say on stderr which settings of the file hold: they decide the verdict."""
    keys = [settings_key(one) for one in options if chosen[one.name].source == file]
    name = printable(file)
    held = f"settings from {name}: {', '.join(keys)}" if keys else f"no setting of {name} holds"
    sys.stderr.write(f"evalstream: {held}\n")


def _show(options: Iterable[Option], chosen: Mapping[str, Chosen], file: str | None) -> None:
    write_text("".join(f"{line}\n" for line in settings_lines(options, chosen, file)))
    sys.exit(ExitCode.PASSED)
